/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * host[:port], [v6][:port] and unix:/path, as UpstreamServer, UpstreamPass
 * and UpstreamBind write them.
 */

#ifndef UP_ADDRESS_H
#define UP_ADDRESS_H

#include <netinet/in.h>

#include "apr_network_io.h"
#include "apr_pools.h"

/** The port of http:// */
#define UP_ADDRESS_PORT 80

/** The port of https:// */
#define UP_ADDRESS_TLS_PORT 443

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

/** A local address, as bind() takes it. */
typedef struct up_local_t {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } sa;
    socklen_t len;
} up_local_t;

/**
 * Reads a numeric address with or without a port: 127.0.0.1, 127.0.0.1:80,
 * ::1, [::1], [::1]:80. Port 0 when there is none.
 * @return 0: it is none of them
 */
int up_address_local(const char *text, up_local_t *local);

#endif
