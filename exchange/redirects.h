/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What is done to the text of a field that names another place.
 *
 * Pure: APR only, no httpd.h; fuzzed.
 */

#ifndef UP_REDIRECTS_H
#define UP_REDIRECTS_H

#include "apr_pools.h"

/** Where a captured piece of the subject begins and ends, -1: nowhere. */
typedef struct up_capture_t {
    apr_ssize_t from;
    apr_ssize_t to;
} up_capture_t;

/**
 * The URL in the value of a Refresh field: what follows the first "url=", in
 * any case and without the quote in front of it that some write.
 * @return NULL: there is none
 */
const char *up_redirect_refresh(const char *value);

/**
 * `value` with `prefix` replaced, in p.
 * @return NULL: it does not begin with the prefix, or that is empty
 */
const char *up_redirect_swap(apr_pool_t *p, const char *value,
                             const char *prefix, const char *replacement);

/**
 * `text` with $0 to $9 replaced by pieces of the subject, in p. A $ that no
 * digit follows is itself; what was not captured is empty.
 */
const char *up_redirect_expand(apr_pool_t *p, const char *text,
                               const char *subject,
                               const up_capture_t *captures, int count);

#endif
