/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What is known of field names: which belong to one hop only, which ones a
 * Connection field nominates, what a name may consist of.
 *
 * Pure: APR only.
 */

#ifndef UP_FIELDS_H
#define UP_FIELDS_H

#include "apr_pools.h"
#include "apr_tables.h"

/** Two field names, any case; see up_field_is. */
int up_field_same(const char *name, const char *other);

/** The same; most names differ in their first letter. */
static inline int up_field_is(const char *name, const char *other)
{
    return ((*name ^ *other) & 0x5f) == 0 && up_field_same(name, other);
}

/** A token (RFC 9110 5.6.2), not empty. */
int up_field_name_ok(const char *name);

/**
 * Is it one that ends at every hop (RFC 9110 7.6.1), Trailer included?
 * With UpstreamPassTrailers its callers let that one pass.
 */
int up_field_is_hop(const char *name);

/**
 * May it stand in a trailer section that is passed on? What frames, routes,
 * authenticates, or says how a message is to be taken (RFC 9110 6.5.1) has
 * been decided on before it could be seen there.
 */
int up_field_fits_trailer(const char *name);

/** up_field_is_hop, or a request field that only the module itself writes:
 * Host, Content-Length, Expect, HTTP2-Settings. */
int up_field_is_ours(const char *name);

/**
 * The names listed in the Connection fields of one message. Some names never
 * get onto the list: fields meant for the far end, that a client could
 * otherwise have removed behind an access rule or a log (CVE-2022-31813).
 */
typedef struct up_nominated_t {
    apr_pool_t *p;
    apr_array_header_t *names; /* of const char *, NULL: none */
} up_nominated_t;

void up_nominated_init(up_nominated_t *nominated, apr_pool_t *p);

/** Adds the tokens of one Connection field. */
void up_nominated_add(up_nominated_t *nominated, const char *value);

int up_nominated_has(const up_nominated_t *nominated, const char *name);

#endif
