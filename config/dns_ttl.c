/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Walks over the records of an answer (RFC 1035 4.1); names are passed over,
 * not followed.
 */

#include "config/dns_ttl.h"

#define HEADER 12
#define RECORD 10 /* what follows a record's name, up to its data */

/* Where a name that begins at `at` ends; 0: it does not. */
static apr_size_t after_name(const unsigned char *message, apr_size_t len,
                             apr_size_t at)
{
    while (at < len) {
        unsigned int label = message[at];

        if (label == 0) {
            return at + 1;
        }
        if (label >= 0xc0) { /* the rest stands elsewhere */
            return len - at >= 2 ? at + 2 : 0;
        }
        if (label > 63) {
            return 0;
        }
        at += 1 + label;
    }
    return 0;
}

static apr_size_t number(const unsigned char *at)
{
    return (apr_size_t)at[0] << 8 | at[1];
}

int up_dnsttl_of(const unsigned char *message, apr_size_t len)
{
    apr_size_t at = HEADER;
    apr_size_t questions, records;
    apr_uint32_t shortest = 0x7fffffff;

    if (len < HEADER || number(message + 6) == 0) {
        return 0;
    }
    records = number(message + 6);
    for (questions = number(message + 4); questions > 0; questions--) {
        at = after_name(message, len, at);
        if (!at || len - at < 4) {
            return 0;
        }
        at += 4;
    }
    for (; records > 0; records--) {
        apr_uint32_t ttl;

        at = after_name(message, len, at);
        if (!at || len - at < RECORD
            || len - at - RECORD < number(message + at + 8)) {
            return 0;
        }
        ttl = (apr_uint32_t)number(message + at + 4) << 16
              | (apr_uint32_t)number(message + at + 6);
        if (ttl > 0x7fffffff) {
            return 0; /* RFC 2181 8: it means 0 */
        }
        shortest = ttl < shortest ? ttl : shortest;
        at += RECORD + number(message + at + 8);
    }
    return (int)shortest;
}
