/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Setters of the directives about upgrades: rows_tunnel.h.
 *
 * Only while the configuration is read.
 */

#ifndef UP_SETTERS_TUNNEL_H
#define UP_SETTERS_TUNNEL_H

#include "config/setters.h"

/** UpstreamUpgrade: any, off, protocols; const up_protocols_t *. */
const char *up_setters_upgrade(cmd_parms *cmd, void *dconf, int argc,
                               char *const argv[]);

#endif
