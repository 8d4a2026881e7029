/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Setters of the directives in rows_relay.h. Only while the configuration is
 * read.
 */

#ifndef UP_SETTERS_RELAY_H
#define UP_SETTERS_RELAY_H

#include "config/setters.h"

/** UpstreamLimitRate: a size, checked here, or an expression. */
const char *up_setters_rate(cmd_parms *cmd, void *dconf, const char *args);

/** UpstreamStore: on, off, a path or an expression that gives one. */
const char *up_setters_store(cmd_parms *cmd, void *dconf, const char *args);

/** UpstreamStoreAccess; its parser takes one word and makes it all there
 * is. */
const char *up_setters_access(cmd_parms *cmd, void *dconf, int argc,
                              char *const argv[]);
const char *up_setters_parse_access(const up_row_t *row, const char *text,
                                    void *field); /* int, a mode */

#endif
