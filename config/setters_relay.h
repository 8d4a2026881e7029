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

#endif
