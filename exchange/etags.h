/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Lists of entity tags (RFC 9110 8.8.3).
 *
 * Pure: APR only, no httpd.h.
 */

#ifndef UP_ETAGS_H
#define UP_ETAGS_H

#include "apr_pools.h"

/**
 * The list without `suffix` at the end of each tag, before its last quote:
 * "a-gzip" becomes "a". In p; the same text when no tag has it.
 */
const char *up_etags_strip(apr_pool_t *p, const char *list,
                           const char *suffix);

#endif
