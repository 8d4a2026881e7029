/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * How long an answer of a name server is good for.
 *
 * Pure; fuzzed: the bytes come from the network.
 */

#ifndef UP_DNS_TTL_H
#define UP_DNS_TTL_H

#include "apr.h"

/**
 * The shortest time to live in the answer section, in seconds.
 * @return 0 for an answer without records, or one that is broken
 */
int up_dnsttl_of(const unsigned char *message, apr_size_t len);

#endif
