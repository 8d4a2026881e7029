/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Setters of the directives about a backend's answer: rows_answer.h.
 *
 * Only while the configuration is read.
 */

#ifndef UP_SETTERS_ANSWER_H
#define UP_SETTERS_ANSWER_H

#include "config/setters.h"

/** UpstreamInterceptErrors: on, off, or codes; const up_codes_t *. */
const char *up_setters_codes(cmd_parms *cmd, void *dconf, int argc,
                             char *const argv[]);

/** UpstreamIgnoreHeaders: names of fields; mask of UP_IGNORE_*. */
const char *up_setters_ignored(cmd_parms *cmd, void *dconf, const char *word);

/** UpstreamStreamTypes: media types, or none; list of const char *. */
const char *up_setters_types(cmd_parms *cmd, void *dconf, const char *word);

/** The types before anybody says UpstreamStreamTypes. */
apr_array_header_t *up_setters_usual_types(apr_pool_t *p);

#endif
