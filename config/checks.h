/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamHealthCheck: how the servers of a group are asked, apart from
 * requests, whether they are well. nginx's health_check, in the group.
 *
 * In the configuration's pool, read-only after the start.
 */

#ifndef UP_CHECKS_H
#define UP_CHECKS_H

#include "config/match.h"
#include "mod_upstream_proxy.h"

typedef struct up_check_t {
    int http;                   /* 0: a connection will do */
    const char *uri;
    const char *host;           /* of the Host field */
    apr_interval_time_t interval;
    apr_interval_time_t jitter; /* at most so much is added to interval */
    apr_interval_time_t timeout; /* for the whole check */
    int fails;                  /* in a row make a server unhealthy */
    int passes;                 /* in a row make it healthy again */
    int port;                   /* 0: the server's */
    const char *match_name;
    const up_match_t *match;    /* NULL: 200 to 399 */
    int mandatory;              /* no request before the first pass */
    int persistent;             /* but after a restart, if it was healthy */
    int reuse;                  /* the connection, for the next check */
    int drain;                  /* this status drains, 0: none does */
    const char *where;          /* file:line */
} up_check_t;

/** The setter, inside <Upstream>. */
const char *up_checks_set(cmd_parms *cmd, void *dconf, int argc,
                          char *const argv[]);

/** check_config, when all is read: finds the <UpstreamMatch> of each.
 * @return OK, or HTTP_INTERNAL_SERVER_ERROR after a message */
int up_checks_resolve(server_rec *s);

#endif
