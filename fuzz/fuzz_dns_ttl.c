/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes config/dns_ttl.c: the input is an answer of a name server. A prefix
 * of it never has a shorter life than nothing, and bytes behind the answer
 * change nothing.
 */

#include "config/dns_ttl.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *longer = malloc(size + 8);
    int ttl = up_dnsttl_of(data, size);

    require(ttl >= 0);
    memcpy(longer, data, size);
    memset(longer + size, 0xff, 8);
    require(!ttl || up_dnsttl_of(longer, size + 8) == ttl);
    free(longer);
    return 0;
}
