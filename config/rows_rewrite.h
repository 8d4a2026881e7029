/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives that rewrite what an answer says about places and cookies.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_REWRITE_H
#define UP_ROWS_REWRITE_H

#include "config/setters_rewrite.h"

#define PARSE_REDIRECT NULL
#define SET_REDIRECT(name, row, help) RAW(name, up_setters_redirect, row, help)

#define PARSE_DOMAIN NULL
#define SET_DOMAIN(name, row, help)   RAW(name, up_setters_domain, row, help)

#define PARSE_CPATH NULL
#define SET_CPATH(name, row, help)                                            \
    RAW(name, up_setters_cookie_path, row, help)

#define PARSE_CFLAGS NULL
#define SET_CFLAGS(name, row, help)   RAW(name, up_setters_flags, row, help)

#define UP_ROWS_REWRITE(ROW)                                                  \
    ROW(REDIRECT, Redirect, redirects, redirects, 0, NULL,                    \
        "default, off, or what is to be replaced and its replacement")        \
    ROW(DOMAIN, CookieDomain, cookie_domains, cookie_domains, 0, NULL,        \
        "off, or a domain and its replacement")                               \
    ROW(CPATH, CookiePath, cookie_paths, cookie_paths, 0, NULL,               \
        "off, or a path and its replacement")                                 \
    ROW(CFLAGS, CookieFlags, cookie_flags, cookie_flags, 0, NULL,             \
        "off, or a cookie's name and one to three flags")

#endif
