/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The string work behind the request target: comparing the client's bytes
 * with the decoded path, escaping, and telling what must not be sent.
 *
 * Pure: APR only; fuzzed. "Raw" is text as it stands on a request line,
 * "decoded" the path httpd works with, which may still hold %2F: httpd keeps
 * an encoded slash encoded unless it is told to decode it.
 */

#ifndef UP_URI_MAP_H
#define UP_URI_MAP_H

#include "apr_pools.h"

/**
 * Does the path of `raw` (up to ? or #) decode byte for byte to `decoded`,
 * that is, did normalising change nothing but escapes?
 * @param prefix bytes of `decoded` that are the location's name
 * @param prest  where in `raw` the rest begins
 * @return 1, or 0 when it does not, or when the prefix ends inside an escape
 */
int up_urimap_match(const char *raw, const char *decoded, apr_size_t prefix,
                    const char **prest);

/**
 * Escapes a decoded path (nginx's set: blanks, controls, 8-bit and
 * "#%<>?\^`{|}; upper case digits).
 * @param keep_slash a %2F in it is an encoded slash, not a percent sign
 */
const char *up_urimap_escape(apr_pool_t *p, const char *decoded,
                             int keep_slash);

/**
 * The first `len` bytes of a raw path: existing escapes stay as they are, and
 * what needs an escape gets one.
 */
const char *up_urimap_protect(apr_pool_t *p, const char *raw,
                              apr_size_t len);

/**
 * The same of a whole target: what stands behind the first ? may hold others.
 */
const char *up_urimap_protect_target(apr_pool_t *p, const char *target);

/** No blank and no control: fit for a request line? */
int up_urimap_clean(const char *target);

/**
 * Does the path hold an encoded slash and, decoded, a ".." segment
 * ("/a/..%2Fb", "/a%2Fb/../c")? A backend that decodes before it resolves
 * the dots gets another path than the one that httpd's rules looked at.
 */
int up_urimap_climbs(const char *target);

/** Has the path a ".." segment, in whatever escapes? */
int up_urimap_has_parent(const char *target);

/** Does a doubly escaped slash (%252F) stand in it? */
int up_urimap_has_double(const char *raw);

#endif
