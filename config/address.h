/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * host[:port], [v6][:port] and unix:/path, as UpstreamServer, UpstreamPass
 * and UpstreamBind write them.
 */

#ifndef UP_ADDRESS_H
#define UP_ADDRESS_H

#include "apr_network_io.h"
#include "apr_pools.h"

typedef struct up_address_t {
    const char *host;      /* without brackets; NULL for unix: */
    const char *unix_path; /* absolute */
    apr_port_t port;       /* as written, 0: none */
    int v6;                /* was written in brackets */
} up_address_t;

/**
 * Takes `text` apart; nothing is looked up.
 * @return NULL, or what is wrong with it: a sentence that begins with a verb
 */
const char *up_address_parse(apr_pool_t *p, const char *text,
                             up_address_t *paddress);

/** Is it a numeric IPv4 or IPv6 address (no brackets, no port)? */
int up_address_numeric(const char *host);

#endif
