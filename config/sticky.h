/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamSticky: how requests that belong together find the same server.
 *
 * In the configuration's pool, read-only after post_config.
 */

#ifndef UP_CONFIG_STICKY_H
#define UP_CONFIG_STICKY_H

#include "ap_socache.h"
#include "apr_tables.h"
#include "apr_time.h"
#include "config/expressions.h"
#include "httpd.h"
#include "http_config.h"

typedef enum up_stickykind_e {
    UP_STICKY_COOKIE, /* a cookie of ours names the server */
    UP_STICKY_ROUTE,  /* an expression does */
    UP_STICKY_LEARN   /* a table of sessions does */
} up_stickykind_e;

typedef struct up_sticky_t {
    up_stickykind_e kind;
    const char *where;           /* file:line */
    const char *group;           /* its name */
    apr_array_header_t *lookup;  /* of const up_text_t *: the first one that
                                    is not empty names server or session */

    const char *cookie;          /* its name */
    const up_text_t *domain;     /* NULL: none, as for the rest */
    const up_text_t *samesite;
    const char *path;
    int expires_set;
    int expires_max;
    apr_interval_time_t expires;
    int httponly;
    int secure;

    apr_array_header_t *create;  /* as lookup: of a session that begins */
    apr_interval_time_t timeout; /* without a request a session ends */
    int header;                  /* learn with the head, not at the end */
    const char *zone;            /* name of zone=, NULL: not written */
    const char *store;           /* name of the provider */
    int tables;                  /* that were written: zone=, provider= */
    int blocks;                  /* it asks other machines, or disks */
    const ap_socache_provider_t *provider;
    ap_socache_instance_t *instance;
} up_sticky_t;

/** The setter, inside <Upstream>. */
const char *up_sticky_set(cmd_parms *cmd, void *dconf, int argc,
                          char *const argv[]);

#endif
