/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Parsers of the directives about what the request says: rows_request.h.
 *
 * Only while the configuration is read.
 */

#ifndef UP_SETTERS_REQUEST_H
#define UP_SETTERS_REQUEST_H

#include "config/setters.h"

/** UpstreamForwarded: off, on, legacy, rfc7239; int, mask of UP_FORWARDED_*. */
const char *up_setters_parse_forwarded(const up_row_t *row, const char *text,
                                       void *field);

/** UpstreamURI: raw or normalized; int, 1 for the second. */
const char *up_setters_parse_uri(const up_row_t *row, const char *text,
                                 void *field);

/** UpstreamRetryKey: the name of a field, or off; const char *. */
const char *up_setters_key(cmd_parms *cmd, void *dconf, const char *word);

#endif
