/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the table of location-level directives, and how settings are made
 * and merged. httpd merges sections for every request: that is a copy and a
 * loop over the rows that the inner section has set.
 */

#include "config/settings.h"

#include <stddef.h>

#include "apr_strings.h"
#include "config/derived.h"
#include "config/log.h"
#include "config/pass.h"
#include "config/setters.h"

/*
 * type, name, first field, last field, least value, default, usage.
 * WSIZE is a SIZE that others are derived from; the names of the other types
 * are those of their setters.
 */
#define UP_SETTINGS(ROW)                                                      \
    ROW(METHOD, Method, method, method, 0, NULL,                              \
        "a method or an expression")                                          \
    ROW(VERSION, HTTPVersion, http_version, http_version, 0, "1.1",           \
        "1.0 or 1.1")                                                         \
    ROW(HEADER, SetHeader, set_headers, set_headers, 0, NULL,                 \
        "the name of a header field and its value")             \
    ROW(TEXT, SetBody, set_body, set_body, 0, NULL,                           \
        "a text")                                            \
    ROW(FLAG, PassRequestHeaders, pass_request_headers,                       \
        pass_request_headers, 0, "on", "on or off")                           \
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
    ROW(FLAG, IgnoreClientAbort, ignore_client_abort, ignore_client_abort,    \
        0, "off", "on or off")                                                \
    ROW(FLAG, Async, async, async, 0, "on", "on or off")                      \
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
    ROW(FLAG, InterceptErrors, intercept_errors, intercept_errors, 0, "off",  \
        "on or off")                                                          \
    ROW(FLAG, Buffering, buffering, buffering, 0, "on", "on or off")          \
    ROW(WSIZE, BufferSize, written.buffer_size, written.buffer_size, 1, NULL, \
        "a size such as 16k")                                                 \
    ROW(WSIZE, MaxHeaderSize, written.max_header_size,                        \
        written.max_header_size, 1, NULL, "a size such as 64k")               \
    ROW(BUFFERS, Buffers, written.buffers_num, written.buffers_size, 1, NULL, \
        "a number and a size, as in 8 16k")                                   \
    ROW(WSIZE, BusyBuffersSize, written.busy_buffers_size,                    \
        written.busy_buffers_size, 1, NULL, "a size such as 32k")             \
    ROW(WSIZE, MaxTempFileSize, written.max_temp_file_size,                   \
        written.max_temp_file_size, 0, NULL,                                  \
        "a size such as 1024m, 0 for no file")                                \
    ROW(WSIZE, TempFileWriteSize, written.temp_file_write_size,               \
        written.temp_file_write_size, 1, NULL, "a size such as 32k")          \
    ROW(PATH, TempPath, temp_path, temp_levels, 0, NULL,                      \
        "a directory and at most three levels")                               \
    ROW(NAMES, PassHeader, pass_headers, pass_headers, 0, NULL,               \
        "the name of a header field")                                         \
    ROW(NAMES, HideHeader, hide_headers, hide_headers, 0, NULL,               \
        "the name of a header field")

typedef enum row_e {
#define NUMBER(type, name, first, last, least, usual, help) ROW_##name,
    UP_SETTINGS(NUMBER)
#undef NUMBER
    ROW_COUNT
} row_e;

_Static_assert(ROW_COUNT <= 64, "up_settings_t.set has no bit for every row");

#define BIT(number) (APR_UINT64_C(1) << (number))

/* --- types: the parser of a plain one, the setter and its arguments ------ */

#define PARSE_FLAG     up_setters_parse_flag
#define PARSE_TIME     up_setters_parse_time
#define PARSE_SIZE     up_setters_parse_size
#define PARSE_WSIZE    up_setters_parse_size
#define PARSE_LOWAT    up_setters_parse_size
#define PARSE_NUM      up_setters_parse_num
#define PARSE_VERSION  up_setters_parse_version
#define PARSE_TEXT     NULL
#define PARSE_METHOD   NULL
#define PARSE_HEADER   NULL
#define PARSE_NAMES    NULL
#define PARSE_FAILURES NULL
#define PARSE_BUFFERS  NULL
#define PARSE_BIND     NULL
#define PARSE_PATH     NULL

#define WHERE (RSRC_CONF | ACCESS_CONF)

#define ONE(name, setter, row, help)                                          \
    AP_INIT_TAKE1(name, setter, row, WHERE, help)
#define TWO(name, setter, row, help)                                          \
    AP_INIT_TAKE2(name, setter, row, WHERE, help)
#define RAW(name, setter, row, help)                                          \
    AP_INIT_RAW_ARGS(name, setter, row, WHERE, help)

#define SET_FLAG(name, row, help)     ONE(name, up_setters_plain, row, help)
#define SET_TIME(name, row, help)     ONE(name, up_setters_plain, row, help)
#define SET_SIZE(name, row, help)     ONE(name, up_setters_plain, row, help)
#define SET_WSIZE(name, row, help)    ONE(name, up_setters_plain, row, help)
#define SET_NUM(name, row, help)      ONE(name, up_setters_plain, row, help)
#define SET_VERSION(name, row, help)  ONE(name, up_setters_plain, row, help)
#define SET_LOWAT(name, row, help)    ONE(name, up_setters_lowat, row, help)
#define SET_TEXT(name, row, help)     RAW(name, up_setters_text, row, help)
#define SET_METHOD(name, row, help)   ONE(name, up_setters_method, row, help)
#define SET_NAMES(name, row, help)    ONE(name, up_setters_name, row, help)
#define SET_HEADER(name, row, help)   RAW(name, up_setters_header, row, help)
#define SET_BUFFERS(name, row, help)  TWO(name, up_setters_buffers, row, help)
#define SET_BIND(name, row, help)                                             \
    AP_INIT_TAKE12(name, up_setters_bind, row, WHERE, help)
#define SET_FAILURES(name, row, help)                                         \
    AP_INIT_ITERATE(name, up_setters_failures, row, WHERE, help)
#define SET_PATH(name, row, help)                                             \
    AP_INIT_TAKE_ARGV(name, up_setters_path, row, WHERE, help)

/* --- the table, twice expanded ------------------------------------------- */

#define SPAN(first, last)                                                     \
    (offsetof(up_settings_t, last) - offsetof(up_settings_t, first)           \
     + sizeof(((up_settings_t *)0)->last))

static const up_row_t rows[ROW_COUNT] = {
#define DESCRIBE(type, name, first, last, least, usual, help)                 \
    [ROW_##name] = {"Upstream" #name, PARSE_##type, BIT(ROW_##name),          \
                    offsetof(up_settings_t, first), SPAN(first, last), least, \
                    usual},
    UP_SETTINGS(DESCRIBE)
#undef DESCRIBE
};

const command_rec up_settings_commands[] = {
#define COMMAND(type, name, first, last, least, usual, help)                  \
    SET_##type("Upstream" #name, (void *)&rows[ROW_##name], help),
    UP_SETTINGS(COMMAND)
#undef COMMAND
    AP_INIT_TAKE12("UpstreamPass", up_pass_set, NULL, WHERE,
                   "an http:// URL or off, behind a path when it does not "
                   "stand inside <Location>"),
    {.name = NULL}
};

/* Rows whose change makes the sizes, or the hidden fields, change. */
#define SIZES                                                                 \
    (BIT(ROW_BufferSize) | BIT(ROW_MaxHeaderSize) | BIT(ROW_Buffers)          \
     | BIT(ROW_BusyBuffersSize) | BIT(ROW_MaxTempFileSize)                    \
     | BIT(ROW_TempFileWriteSize))
#define HIDDEN (BIT(ROW_PassHeader) | BIT(ROW_HideHeader))

/* --- making -------------------------------------------------------------- */

/* Every settings object begins as a copy of this one, and all of them share
 * its hash of hidden fields. It lives as long as the configuration. */
static up_settings_t *defaults;

static apr_status_t forget_defaults(void *unused)
{
    (void)unused;
    defaults = NULL;
    return APR_SUCCESS;
}

static up_settings_t *make_defaults(apr_pool_t *p)
{
    up_settings_t *settings = apr_pcalloc(p, sizeof(*settings));
    const char *temp_dir = NULL;
    const up_row_t *row;

    for (row = rows; row < rows + ROW_COUNT; row++) {
        if (row->usual != NULL) {
            const char *error = row->parse(row, row->usual,
                                           (char *)settings + row->offset);

            ap_assert(error == NULL);
        }
    }
    settings->next_upstream = UP_FAIL_ERROR | UP_FAIL_TIMEOUT;
    /* Files there are nameless, so that no directories are needed. */
    settings->temp_path = apr_temp_dir_get(&temp_dir, p) == APR_SUCCESS
                              ? temp_dir : "/tmp";
    up_derived_begin(&settings->written);
    up_derived_sizes(settings);
    settings->hidden = up_derived_builtin_hidden(p);
    return settings;
}

/* The first call is httpd's for the main server, in the pool of the whole
 * configuration and before there are threads. */
void *up_settings_create(apr_pool_t *p, char *path)
{
    (void)path;
    if (defaults == NULL) {
        defaults = make_defaults(p);
        apr_pool_cleanup_register(p, NULL, forget_defaults,
                                  apr_pool_cleanup_null);
    }
    return apr_pmemdup(p, defaults, sizeof(*defaults));
}

/* --- merging ------------------------------------------------------------- */

/* The set that the inner section has made from its own lists is the right
 * one when no list of the outer section has a part in it. */
static void merge_hidden(apr_pool_t *p, up_settings_t *merged,
                         const up_settings_t *inner)
{
    if (merged->hide_headers == inner->hide_headers
        && merged->pass_headers == inner->pass_headers) {
        merged->hidden = inner->hidden;
    }
    else {
        up_derived_hidden(p, merged, defaults->hidden);
    }
}

void *up_settings_merge(apr_pool_t *p, void *base, void *add)
{
    const up_settings_t *inner = add;
    up_settings_t *merged = apr_pmemdup(p, base, sizeof(*merged));
    apr_uint64_t left;

    for (left = inner->set; left != 0; left &= left - 1) {
        const up_row_t *row = &rows[__builtin_ctzll(left)];

        memcpy((char *)merged + row->offset,
               (const char *)inner + row->offset, row->length);
    }
    merged->set |= inner->set;
    if (inner->pass != NULL) {
        merged->pass = inner->pass;
    }
    if ((inner->set & SIZES) != 0) {
        up_derived_sizes(merged);
    }
    if ((inner->set & HIDDEN) != 0) {
        merge_hidden(p, merged, inner);
    }
    return merged;
}

const up_settings_t *up_settings_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &upstream_proxy_module);
}
