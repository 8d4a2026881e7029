/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about names and their addresses.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_NAMES_H
#define UP_ROWS_NAMES_H

#include "config/resolver.h"

#define PARSE_RESOLVER NULL
#define SET_RESOLVER(name, row, help)                                         \
    AP_INIT_TAKE_ARGV(name, up_resolver_set, row, WHERE, help)

#define PARSE_LOOKUP up_setters_parse_time
#define SET_LOOKUP(name, row, help)                                           \
    ONE(name, up_resolver_set_timeout, row, help)

#define UP_ROWS_NAMES(ROW)                                                    \
    ROW(RESOLVER, Resolver, resolver, resolver, 0, NULL,                      \
        "addresses of name servers and valid=, ipv4=off, ipv6=off; or off")   \
    ROW(LOOKUP, ResolverTimeout, resolver_timeout, resolver_timeout, 1,       \
        "30s", "a time such as 30s")

#endif
