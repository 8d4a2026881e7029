/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about requests that leave HTTP: upgrades and the tunnels that
 * come of them.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_TUNNEL_H
#define UP_ROWS_TUNNEL_H

#include "config/setters_tunnel.h"

#define PARSE_UPGRADE NULL
#define SET_UPGRADE(name, row, help)                                          \
    AP_INIT_TAKE_ARGV(name, up_setters_upgrade, row, WHERE, help)

#define UP_ROWS_TUNNEL(ROW)                                                   \
    ROW(UPGRADE, Upgrade, upgrade, upgrade, 0, NULL,                          \
        "websocket, any, off, or protocols such as websocket tls/1.2")        \
    ROW(TIME, TunnelTimeout, tunnel_timeout, tunnel_timeout, 1, NULL,         \
        "a time such as 60s")

#endif
