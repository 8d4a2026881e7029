/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about the way of a response to its client: how fast, how long,
 * which part of it, and what is kept of it.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_RELAY_H
#define UP_ROWS_RELAY_H

#include "config/setters_relay.h"

#define PARSE_RATE NULL
#define SET_RATE(name, row, help)     RAW(name, up_setters_rate, row, help)

#define PARSE_STORE NULL
#define SET_STORE(name, row, help)    RAW(name, up_setters_store, row, help)

#define PARSE_ACCESS up_setters_parse_access
#define SET_ACCESS(name, row, help)                                           \
    AP_INIT_TAKE_ARGV(name, up_setters_access, row, WHERE, help)

#define UP_ROWS_RELAY(ROW)                                                    \
    ROW(TIME, TotalTimeout, total_timeout, total_timeout, 0, "0",             \
        "a time such as 30s, 0 for no limit")                                 \
    ROW(FLAG, PassTrailers, pass_trailers, pass_trailers, 0, "off",           \
        "on or off")                                                          \
    ROW(FLAG, ForceRanges, force_ranges, force_ranges, 0, "off",              \
        "on or off")                                                          \
    ROW(STORE, Store, store, store_path, 0, NULL,                             \
        "on, off or a path")                                                  \
    ROW(ACCESS, StoreAccess, store_mode, store_mode, 0, "user:rw",            \
        "permissions such as user:rw group:r all:r")                          \
    ROW(RATE, LimitRate, limit_rate, limit_rate, 0, NULL,                     \
        "bytes a second such as 500k, 0 for no limit, or an expression")

#endif
