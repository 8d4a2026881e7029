/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes exchange/request_head.c with config/expressions.c: the input is, with
 * NULs between, a byte of options, what six expressions come out as, and
 * fields of a client. Whatever they are, a head that is built is one request:
 * no line more than was set, no CR or LF but at the ends of lines, one Host
 * and one framing field at most. httpd itself is stood in for.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strcasestr */
#endif
#define FUZZ_REAL_POOLS
#include "fuzz/fuzz.h"
#include "config/expressions.h"
#include "exchange/fields.h"
#include "exchange/request_head.h"

#include "apr_strings.h"
#include "config/group.h"
#include "config/pass.h"
#include "exchange/upgrade.h"
#include "http_log.h"

#define EXPRESSIONS 6

/* --- httpd's part -------------------------------------------------------- */

module upstream_proxy_module;

/* The value of an expression is what its "compiled form" points to. */
const char *ap_expr_str_exec_re(request_rec *r, const ap_expr_info_t *expr,
                                apr_size_t count, ap_regmatch_t *match,
                                const char **source, const char **error)
{
    (void)r, (void)count, (void)match, (void)source;
    *error = NULL;
    return (const char *)expr;
}

const char *ap_get_server_name_for_url(request_rec *r)
{
    (void)r;
    return "server.example";
}

const char *ap_run_http_scheme(const request_rec *r)
{
    (void)r;
    return "http";
}

module *ap_find_linked_module(const char *name)
{
    (void)name;
    return NULL;
}

char *ap_strcasestr(const char *text, const char *part)
{
    return strcasestr(text, part);
}

ap_expr_info_t *ap_expr_parse_cmd_mi(const cmd_parms *cmd, const char *text,
                                     unsigned int flags, const char **error,
                                     ap_expr_lookup_fn_t *lookup, int module)
{
    (void)cmd, (void)text, (void)flags, (void)lookup, (void)module;
    *error = "none here";
    return NULL;
}

char *ap_escape_logitem(apr_pool_t *p, const char *text)
{
    return apr_pstrdup(p, text);
}

void ap_log_rerror_(const char *file, int line, int module, int level,
                    apr_status_t status, const request_rec *r,
                    const char *format, ...)
{
    (void)file, (void)line, (void)module, (void)level, (void)status;
    (void)r, (void)format;
}

void ap_log_assert(const char *what, const char *file, int line)
{
    (void)what, (void)file, (void)line;
    abort();
}

/* --- the input ----------------------------------------------------------- */

static const char *next_text(char **pat, const char *end)
{
    const char *text = *pat;

    *pat += strlen(text);
    if (*pat < end) {
        ++*pat;
    }
    return text;
}

static up_text_t *text_of(apr_pool_t *p, const char *value)
{
    up_text_t *text = apr_pcalloc(p, sizeof(*text));

    text->source = "%{fuzzed}";
    text->expr = (ap_expr_info_t *)value;
    return text;
}

static void set(up_settings_t *settings, const char *name,
                const up_text_t *text)
{
    up_header_t *header = apr_array_push(settings->set_headers);

    header->name = name;
    header->value = text;
}

/* --- what must hold ------------------------------------------------------ */

static int starts(const char *line, const char *name)
{
    return strncasecmp(line, name, strlen(name)) == 0;
}

static void check_head(const char *head, size_t len, int most)
{
    int lines = 0, hosts = 0, lengths = 0, codings = 0;
    const char *end = head + len;

    require(memchr(head, '\0', len) == NULL);
    for (;;) {
        const char *line = head;
        const char *stop = memchr(line, '\n', (size_t)(end - line));

        require(stop != NULL && stop > line && stop[-1] == '\r');
        require(memchr(line, '\r', (size_t)(stop - line)) == stop - 1);
        head = stop + 1;
        if (stop - 1 == line) {
            break;
        }
        lines++;
        hosts += starts(line, "Host:");
        lengths += starts(line, "Content-Length:");
        codings += starts(line, "Transfer-Encoding:");
        require(lines == 1
                || memchr(line, ':', (size_t)(stop - line)) != NULL);
        require(!starts(line, "Keep-Alive:"));
    }
    require(head == end); /* one empty line, and it is the last */
    require(lines <= most);
    require(hosts <= 1 && lengths + codings <= 1);
}

static void build(apr_pool_t *p, request_rec *r, const up_settings_t *settings,
                  up_reqhead_t *what)
{
    int most = 8 + settings->set_headers->nelts
               + apr_table_elts(r->headers_in)->nelts;
    apr_bucket_alloc_t *alloc = apr_bucket_alloc_create(p);
    apr_bucket *bucket = NULL;
    const char *head;
    apr_size_t len;

    if (up_reqhead_build(r, settings, what, alloc, &bucket) == APR_SUCCESS) {
        require(apr_bucket_read(bucket, &head, &len, APR_BLOCK_READ)
                == APR_SUCCESS);
        check_head(apr_pstrmemdup(p, head, len), len, most);
        apr_bucket_destroy(bucket);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        "Host", "X-Set", "Connection", "Upgrade", "Content-Length"
    };
    up_settings_t settings = { .pass_request_headers = 1 };
    up_pass_t pass = { .host_value = "backend" };
    up_reqhead_t what = { .pass = &pass, .target = "/t" };
    request_rec r = { .method = "GET", .proto_num = 1001 };
    apr_pool_t *p;
    char *at, *end;
    int i, options;

    if (size < 2) {
        return 0;
    }
    apr_pool_create(&p, NULL);
    options = data[0];
    at = apr_pstrmemdup(p, (const char *)data + 1, size - 1);
    end = at + size - 1;
    r.pool = p;
    r.headers_in = apr_table_make(p, 8);
    settings.http_version = options & 1 ? 11 : 10;
    settings.pass_trailers = options >> 1 & 1;
    settings.upgrade = options & 4 ? &up_upgrade_usual : NULL;
    settings.set_headers = apr_array_make(p, 8, sizeof(up_header_t));
    settings.method = text_of(p, next_text(&at, end));
    for (i = 0; i < EXPRESSIONS - 1; i++) {
        const char *value = next_text(&at, end);

        if (*value != '-') { /* not set at all */
            set(&settings, names[i], text_of(p, value));
        }
    }
    while (at < end) {
        const char *name = next_text(&at, end);

        apr_table_addn(r.headers_in, name, next_text(&at, end));
    }
    what.chunked = options >> 3 & 1;
    what.body_length = what.chunked ? -1 : options >> 4;
    build(p, &r, &settings, &what);
    apr_pool_destroy(p);
    return 0;
}
