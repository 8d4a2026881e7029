/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Settings that follow from others: buffer sizes from the sizes as written,
 * and the set of header fields that are not relayed.
 */

#ifndef UP_DERIVED_H
#define UP_DERIVED_H

#include "config/settings.h"

/** "Nothing written" as settings begin. */
void up_derived_begin(up_sizes_t *written);

/**
 * Computes every size from settings->written. Whatever does not fit together
 * because it comes from different sections, or from a default, is clamped:
 * UpstreamMaxHeaderSize is a hard limit where it was written.
 */
void up_derived_sizes(up_settings_t *settings);

/**
 * Do the sizes that were written in one section contradict each other?
 * @return NULL, or a message that names the directives
 */
const char *up_derived_conflict(apr_pool_t *p, const up_sizes_t *written);

/** The fields that are never relayed unless UpstreamPassHeader says so. */
apr_hash_t *up_derived_builtin_hidden(apr_pool_t *p);

/**
 * settings->hidden from the built-in set and the two lists.
 * @param builtin shared by everybody who hides and passes nothing
 */
void up_derived_hidden(apr_pool_t *p, up_settings_t *settings,
                       apr_hash_t *builtin);

#endif
