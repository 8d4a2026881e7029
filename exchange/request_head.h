/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The request head, in two passes: one emitter run over a sink that counts,
 * one allocation, the same emitter run over a sink that copies. The result
 * is one heap bucket. Host comes first, then UpstreamSetHeader's fields, then
 * the client's others, as nginx does.
 */

#ifndef UP_REQUEST_HEAD_H
#define UP_REQUEST_HEAD_H

#include "apr_buckets.h"
#include "config/settings.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"

typedef struct up_reqhead_t {
    const up_pass_t *pass;
    const char *target;  /* up_target_of */
    apr_off_t body_length; /* Content-Length to send, -1: none */
    int chunked;           /* Transfer-Encoding: chunked */
    const char *upgrade;   /* set by up_reqhead_build: the protocols that are
                              offered and allowed, NULL: none */
    int kept;              /* for up_reqhead_rewrite */
    const void *plan;      /* set by up_reqhead_build, if kept */
} up_reqhead_t;

/**
 * Evaluates every expression once, then builds. The method sent is found by
 * up_reqhead_method. What a client asks for in Upgrade goes on as far as
 * UpstreamUpgrade allows it, unless UpstreamSetHeader sets that field itself.
 * @return APR_SUCCESS, APR_EGENERAL when an expression failed (logged)
 */
apr_status_t up_reqhead_build(request_rec *r, const up_settings_t *settings,
                              up_reqhead_t *what,
                              apr_bucket_alloc_t *alloc,
                              apr_bucket **pbucket);

/** The fields of a kept head that may be changed, as a table in pool p: not
 * those of framing, connection and upgrade. */
apr_table_t *up_reqhead_fields(apr_pool_t *p, const up_reqhead_t *what);

/**
 * The same head with these fields in the place of up_reqhead_fields'; a Host
 * that is missing stays.
 * @return APR_EGENERAL: a name or value that would break the head (logged)
 */
apr_status_t up_reqhead_rewrite(request_rec *r, const up_reqhead_t *what,
                                const apr_table_t *fields,
                                apr_bucket_alloc_t *alloc,
                                apr_bucket **pbucket);

/** The method that is sent: UpstreamMethod or the client's. NULL: failed. */
const char *up_reqhead_method(request_rec *r, const up_settings_t *settings);

#endif
