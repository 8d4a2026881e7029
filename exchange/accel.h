/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The values of X-Accel-* fields, and what they make of other values.
 *
 * Pure: APR only, no httpd.h; fuzzed. What a value does not say in the form
 * that nginx takes is as if it were not there.
 */

#ifndef UP_ACCEL_H
#define UP_ACCEL_H

#include "apr_pools.h"
#include "apr_tables.h"
#include "apr_time.h"

/** X-Accel-Buffering: 1 yes, 0 no, -1 anything else or NULL. */
int up_accel_buffering(const char *value);

/** X-Accel-Limit-Rate: bytes a second, 0 without a limit; -1: no number. */
apr_off_t up_accel_rate(const char *value);

/**
 * X-Accel-Expires: seconds, or @ and a moment in seconds since 1970.
 * @return for how long, 0: not at all; -1: unreadable
 */
apr_int64_t up_accel_expires(const char *value, apr_time_t now);

/**
 * X-Accel-Charset: `type` with that charset in the place of its own, in pool
 * p; NULL when the charset is no token (then nothing is to be changed).
 */
const char *up_accel_charset(apr_pool_t *p, const char *type,
                             const char *charset);

/**
 * Cache-Control with `s-maxage` as its only such directive.
 * @param value all Cache-Control fields joined, NULL: none
 */
const char *up_accel_cache_control(apr_pool_t *p, const char *value,
                                   apr_int64_t seconds);

/**
 * Is this Content-Type one of `types` (media types without parameters, a * at
 * the end stands for any rest)?
 */
int up_accel_streams(const apr_array_header_t *types, const char *type);

/**
 * The path of an X-Accel-Redirect: decoded (%XX; a percent sign that no two
 * digits follow is itself), in pool p.
 * @param pargs what follows the ?, NULL: no ?
 * @return NULL when it does not begin with /, or holds a NUL, another control
 *         character, or a segment that is ..
 */
const char *up_accel_path(apr_pool_t *p, const char *value,
                          const char **pargs);

/** Is `value` @ and a name of letters, digits, - _ and . (not .. at once)? */
int up_accel_named(const char *value);

#endif
