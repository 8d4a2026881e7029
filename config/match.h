/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * <UpstreamMatch name>: what the answer to a health check must be, as
 * nginx's match block. All conditions must hold.
 *
 * In the configuration's pool, read-only after the start.
 */

#ifndef UP_MATCH_H
#define UP_MATCH_H

#include "httpd.h"
#include "ap_regex.h"
#include "apr_tables.h"
#include "http_config.h"
#include "status_parser.h"

/** How much of a body is looked at, as in nginx. */
#define UP_MATCH_BODY (256 * 1024)

typedef struct up_match_t {
    const char *name;
    const char *where;            /* file:line */
    apr_array_header_t *statuses; /* of ranges; empty: 200 to 399 */
    int not_statuses;             /* they must not be */
    apr_array_header_t *headers;  /* of conditions on a field */
    ap_regex_t *body;             /* NULL: the body is not read */
    int not_body;
} up_match_t;

/** pre_config: forgets those of the last configuration. */
void up_match_reset(apr_pool_t *pconf);

/** NULL: there is none of that name. */
const up_match_t *up_match_find(const char *name);

/**
 * Do status and fields match? 200 to 399 when match is NULL.
 * @return NULL: yes; else what does not, in words, in p
 */
const char *up_match_head(apr_pool_t *p, const up_match_t *match,
                          const up_head_t *head);

/** Does the body? @return as up_match_head */
const char *up_match_body(const up_match_t *match, const char *body,
                          apr_size_t len);

/** <UpstreamMatch> and what stands inside it, for the module record. */
extern const command_rec up_match_commands[];

#endif
