/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about what a backend's answer may ask for, and what becomes of
 * it then.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_ANSWER_H
#define UP_ROWS_ANSWER_H

#include "config/setters_answer.h"

#define PARSE_CODES NULL
#define SET_CODES(name, row, help)                                            \
    AP_INIT_TAKE_ARGV(name, up_setters_codes, row, WHERE, help)

#define PARSE_IGNORED NULL
#define SET_IGNORED(name, row, help)                                          \
    AP_INIT_ITERATE(name, up_setters_ignored, row, WHERE, help)

#define PARSE_TYPES NULL
#define SET_TYPES(name, row, help)                                            \
    AP_INIT_ITERATE(name, up_setters_types, row, WHERE, help)

#define UP_ROWS_ANSWER(ROW)                                                   \
    ROW(CODES, InterceptErrors, intercept_errors, intercept_errors, 0, NULL,  \
        "on, off, or statuses such as 404 502-504")                           \
    ROW(IGNORED, IgnoreHeaders, ignored, ignored, 0, NULL,                    \
        "names of header fields such as X-Accel-Redirect")                    \
    ROW(TYPES, StreamTypes, stream_types, stream_types, 0, NULL,              \
        "media types such as text/event-stream, or none")                     \
    ROW(TEXT, EarlyHints, early_hints, early_hints, 0, NULL,                  \
        "on, off or an expression")                                           \
    ROW(FLAG, ProxyStatus, proxy_status, proxy_status, 0, "off",              \
        "on or off")                                                          \
    ROW(FLAG, LenientFraming, lenient_framing, lenient_framing, 0, "off",     \
        "on or off")

#endif
