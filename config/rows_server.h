/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about the way to a server: sockets, timeouts, other tries.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_SERVER_H
#define UP_ROWS_SERVER_H

#include "config/setters_request.h"

#define PARSE_LOWAT up_setters_parse_size
#define SET_LOWAT(name, row, help)    ONE(name, up_setters_lowat, row, help)

#define PARSE_BIND NULL
#define SET_BIND(name, row, help)                                             \
    AP_INIT_TAKE12(name, up_setters_bind, row, WHERE, help)

#define PARSE_FAILURES NULL
#define SET_FAILURES(name, row, help)                                         \
    AP_INIT_ITERATE(name, up_setters_failures, row, WHERE, help)

#define PARSE_KEY NULL
#define SET_KEY(name, row, help)      ONE(name, up_setters_key, row, help)

#define UP_ROWS_SERVER(ROW)                                                   \
    ROW(BIND, Bind, bind, bind_transparent, 0, NULL,                          \
        "a local address and, if need be, transparent; or off")               \
    ROW(FLAG, SocketKeepalive, socket_keepalive, socket_keepalive, 0, "off",  \
        "on or off")                                                          \
    ROW(SIZE, SocketRcvbuf, socket_rcvbuf, socket_rcvbuf, 0, "0",             \
        "a size such as 64k")                                                 \
    ROW(SIZE, SocketSndbuf, socket_sndbuf, socket_sndbuf, 0, "0",             \
        "a size such as 64k")                                                 \
    ROW(LOWAT, SendLowat, send_lowat, send_lowat, 0, "0",                     \
        "a size such as 1k")                                                  \
    ROW(TIME, ConnectTimeout, connect_timeout, connect_timeout, 1, "60s",     \
        "a time such as 60s")                                                 \
    ROW(TIME, SendTimeout, send_timeout, send_timeout, 1, "60s",              \
        "a time such as 60s")                                                 \
    ROW(TIME, ReadTimeout, read_timeout, read_timeout, 1, "60s",              \
        "a time such as 60s")                                                 \
    ROW(FAILURES, NextUpstream, next_upstream, next_upstream, 0, NULL,        \
        "words such as error timeout http_502, or off")                       \
    ROW(NUM, NextUpstreamTries, next_upstream_tries, next_upstream_tries, 0,  \
        "0", "a number such as 3, 0 for no limit")                            \
    ROW(TIME, NextUpstreamTimeout, next_upstream_timeout,                     \
        next_upstream_timeout, 0, "0", "a time such as 10s, 0 for no limit")  \
    ROW(TIME, NextUpstreamTryTimeout, try_timeout, try_timeout, 0, "0",       \
        "a time such as 5s, 0 for no limit")                                  \
    ROW(KEY, RetryKey, retry_key, retry_key, 0, NULL,                         \
        "the name of a header field, or off")

#endif
