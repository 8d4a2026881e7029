/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about the request: what is sent, and how it is read.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_REQUEST_H
#define UP_ROWS_REQUEST_H

#include "config/setters_request.h"

#define PARSE_FORWARDED up_setters_parse_forwarded
#define SET_FORWARDED(name, row, help)                                        \
    ONE(name, up_setters_plain, row, help)

#define PARSE_URIFORM up_setters_parse_uri
#define SET_URIFORM(name, row, help)  ONE(name, up_setters_plain, row, help)

#define PARSE_VERSION up_setters_parse_version
#define SET_VERSION(name, row, help)  ONE(name, up_setters_plain, row, help)

#define PARSE_TEXT NULL
#define SET_TEXT(name, row, help)     RAW(name, up_setters_text, row, help)

#define PARSE_METHOD NULL
#define SET_METHOD(name, row, help)   ONE(name, up_setters_method, row, help)

#define PARSE_HEADER NULL
#define SET_HEADER(name, row, help)   RAW(name, up_setters_header, row, help)


#define UP_ROWS_REQUEST(ROW)                                                  \
    ROW(METHOD, Method, method, method, 0, NULL,                              \
        "a method or an expression")                                          \
    ROW(VERSION, HTTPVersion, http_version, http_version, 0, "1.1",           \
        "1.0 or 1.1")                                                         \
    ROW(HEADER, SetHeader, set_headers, set_headers, 0, NULL,                 \
        "the name of a header field and its value")                           \
    ROW(TEXT, SetBody, set_body, set_body, 0, NULL,                           \
        "a text")                                                             \
    ROW(FLAG, PassRequestHeaders, pass_request_headers,                       \
        pass_request_headers, 0, "on", "on or off")                           \
    ROW(FORWARDED, Forwarded, forwarded, forwarded, 0, "off",                 \
        "off, on, legacy or rfc7239")                                         \
    ROW(URIFORM, URI, normalized_uri, normalized_uri, 0, "raw",               \
        "raw or normalized")                                                  \
    ROW(FLAG, Destination, destination, destination, 0, "off", "on or off")   \
    ROW(FLAG, FixDeflateETag, fix_deflate_etag, fix_deflate_etag, 0, "off",   \
        "on or off")                                                          \
    ROW(FLAG, PassRequestBody, pass_request_body, pass_request_body, 0,       \
        "on", "on or off")                                                    \
    ROW(FLAG, RequestBuffering, request_buffering, request_buffering, 0,      \
        "on", "on or off")                                                    \
    ROW(SIZE, RequestBufferSize, request_buffer_size, request_buffer_size,    \
        1, "16k", "a size such as 16k")                                       \
    ROW(NUM, HeadersHashMaxSize, headers_hash_max_size,                       \
        headers_hash_max_size, 1, "512", "a number such as 512")              \
    ROW(NUM, HeadersHashBucketSize, headers_hash_bucket_size,                 \
        headers_hash_bucket_size, 1, "64", "a number such as 64")             \
    ROW(FLAG, IgnoreClientAbort, ignore_client_abort, ignore_client_abort,    \
        0, "off", "on or off")                                                \
    ROW(FLAG, Async, async, async, 0, "on", "on or off")

#endif
