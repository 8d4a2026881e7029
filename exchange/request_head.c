/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the order and the choice of the fields that a backend gets, and the
 * two passes that write them.
 */

#include "exchange/request_head.h"

#include <string.h>

#include "apr_strings.h"
#include "config/log.h"
#include "config/pass.h"
#include "exchange/fields.h"
#include "exchange/forwarded.h"
#include "exchange/mapped_fields.h"
#include "exchange/upgrade.h"

#define MOST_OF_UPGRADE 3 /* lines */

typedef struct line_t {
    const char *name;
    const char *value;
    apr_size_t name_len;
    apr_size_t value_len;
} line_t;

/* A head that is decided on; emit() only writes it down. */
typedef struct plan_t {
    const char *method;
    const char *target;
    const char *version;
    line_t *lines;
    int nlines;
    const char *upgrade;    /* UpstreamSetHeader's, NULL: not set */
    const char *connection; /* the same */
    int connection_line;    /* the only Connection field, 0: none yet */
} plan_t;

/* Pass one has no `at` and counts; pass two copies. */
typedef struct sink_t {
    char *at;
    apr_size_t len;
} sink_t;

static void put(sink_t *sink, const char *text, apr_size_t len)
{
    if (sink->at) {
        memcpy(sink->at + sink->len, text, len);
    }
    sink->len += len;
}

/* The only description of a request head. */
static void emit(sink_t *sink, const plan_t *plan)
{
    int i;

    put(sink, plan->method, strlen(plan->method));
    put(sink, " ", 1);
    put(sink, plan->target, strlen(plan->target));
    put(sink, plan->version, strlen(plan->version));
    put(sink, "\r\n", 2);
    for (i = 0; i < plan->nlines; i++) {
        const line_t *line = &plan->lines[i];

        put(sink, line->name, line->name_len);
        put(sink, ": ", 2);
        put(sink, line->value, line->value_len);
        put(sink, "\r\n", 2);
    }
    put(sink, "\r\n", 2);
}

static apr_bucket *write_twice(const plan_t *plan, apr_bucket_alloc_t *alloc)
{
    sink_t sink = { 0 };
    apr_size_t room;

    emit(&sink, plan);
    room = sink.len;
    sink.at = apr_bucket_alloc(room, alloc);
    sink.len = 0;
    emit(&sink, plan);
    ap_assert(sink.len == room);
    return apr_bucket_heap_create(sink.at, room, apr_bucket_free, alloc);
}

static void add(plan_t *plan, const char *name, const char *value)
{
    line_t *line = &plan->lines[plan->nlines++];

    line->name = name;
    line->name_len = strlen(name);
    line->value = value;
    line->value_len = strlen(value);
}

/* One more word for the only Connection field. */
static void add_connection(request_rec *r, plan_t *plan, const char *words)
{
    line_t *line;

    if (!plan->connection_line) {
        add(plan, "Connection", words);
        plan->connection_line = plan->nlines;
        return;
    }
    line = &plan->lines[plan->connection_line - 1];
    line->value = apr_pstrcat(r->pool, line->value, ", ", words, NULL);
    line->value_len = strlen(line->value);
}

static const up_header_t *set_header(const up_settings_t *settings, int i)
{
    return &APR_ARRAY_IDX(settings->set_headers, i, up_header_t);
}

static int count_set(const up_settings_t *settings)
{
    return settings->set_headers ? settings->set_headers->nelts : 0;
}

/* The Host line's value: the last UpstreamSetHeader Host, or where the request
 * goes. NULL: an expression failed; "": no line. */
static const char *host_of(request_rec *r, const up_settings_t *settings,
                           const up_pass_t *pass)
{
    const char *value = NULL;
    int i;

    for (i = count_set(settings) - 1; i >= 0; i--) {
        if (up_field_is(set_header(settings, i)->name, "Host")) {
            value = up_text_value(r, set_header(settings, i)->value);
            if (value == NULL || *value || settings->http_version < 11) {
                return value;
            }
            break;
        }
    }
    return pass->host_value;
}

static void set_connection(request_rec *r, plan_t *plan, const char *value)
{
    if (!plan->connection || !*plan->connection) {
        plan->connection = value;
    }
    else if (*value) {
        plan->connection = apr_pstrcat(r->pool, plan->connection, ", ", value,
                                       NULL);
    }
    if (*value) {
        add_connection(r, plan, value);
    }
}

/* UpstreamSetHeader, all but Host. Framing is never set by hand: what stands
 * there of it is empty. */
static apr_status_t add_set(request_rec *r, const up_settings_t *settings,
                            plan_t *plan, int *plength)
{
    int i;

    for (i = 0; i < count_set(settings); i++) {
        const up_header_t *header = set_header(settings, i);
        const char *value;

        if (up_field_is(header->name, "Host")
            || up_field_is(header->name, "Transfer-Encoding")) {
            continue;
        }
        if (up_field_is(header->name, "Content-Length")) {
            *plength = 1;
            continue;
        }
        value = up_text_value(r, header->value);
        if (value == NULL) {
            return APR_EGENERAL;
        }
        if (up_field_is(header->name, "Upgrade")) {
            plan->upgrade = value;
        }
        if (up_field_is(header->name, "Connection")) {
            set_connection(r, plan, value);
        }
        else if (*value) {
            add(plan, header->name, value);
        }
    }
    return APR_SUCCESS;
}

/* The default table. A Content-Length of 0 gives way to UpstreamSetHeader
 * Content-Length "". */
static void add_framing(request_rec *r, const up_reqhead_t *what,
                        plan_t *plan, int length_set)
{
    if (what->chunked) {
        add(plan, "Transfer-Encoding", "chunked");
    }
    else if (what->body_length > 0
             || (what->body_length == 0 && !length_set)) {
        add(plan, "Content-Length",
            apr_off_t_toa(r->pool, what->body_length));
    }
}

static int is_set(const up_settings_t *settings, const char *name)
{
    int i;

    for (i = 0; i < count_set(settings); i++) {
        if (up_field_is(set_header(settings, i)->name, name)) {
            return 1;
        }
    }
    return 0;
}

/* Trailers are passed on, or at least taken (RFC 9110 10.1.4). */
static void add_te(request_rec *r, const up_settings_t *settings,
                   plan_t *plan)
{
    if (settings->pass_trailers && settings->http_version >= 11
        && !is_set(settings, "TE")) {
        if (!plan->connection || !up_upgrade_lists(plan->connection, "te")) {
            add_connection(r, plan, "TE");
        }
        add(plan, "TE", "trailers");
    }
}

/* The client's Connection fields in one, NULL: there is none. */
static const char *connection_of(request_rec *r)
{
    return apr_table_getm(r->pool, r->headers_in, "Connection");
}

/* The protocols that the client asks for and may have: not in HTTP/1.0
 * (RFC 9110 7.8), not for a part of a page, nor for an error's page. */
static const char *wanted_upgrade(request_rec *r,
                                  const up_settings_t *settings)
{
    const char *connection = connection_of(r);

    if (!settings->upgrade || !connection || r->main
        || r->proto_num < HTTP_VERSION(1, 1) || settings->http_version < 11
        || (r->prev && ap_is_HTTP_ERROR(r->status))
        || !up_upgrade_lists(connection, "upgrade")) {
        return NULL;
    }
    return up_upgrade_allowed(
        r->pool, settings->upgrade,
        apr_table_getm(r->pool, r->headers_in, "Upgrade"));
}

/* HTTP2-Settings goes with h2c alone (RFC 7540 3.2.1). */
static void add_h2c(request_rec *r, plan_t *plan, const char *upgrade)
{
    const char *h2 = apr_table_get(r->headers_in, "HTTP2-Settings");

    if (h2 && up_upgrade_lists(upgrade, "h2c")) {
        add_connection(r, plan, "Upgrade, HTTP2-Settings");
        add(plan, "HTTP2-Settings", h2);
    }
    else {
        add_connection(r, plan, "Upgrade");
    }
}

/*
 * Offers the backend what the client wants. UpstreamSetHeader Upgrade, as
 * users of nginx write it, has sent the field already: then a 101 counts for
 * what is allowed of that. So does one without Connection: "" is what they
 * write for kept connections, other words without `upgrade` say no.
 */
static void add_upgrade(request_rec *r, const up_settings_t *settings,
                        up_reqhead_t *what, plan_t *plan)
{
    const char *wanted = wanted_upgrade(r, settings);
    const char *connection = plan->connection;

    what->upgrade = NULL;
    if (!wanted || (connection && *connection
                    && !up_upgrade_lists(connection, "upgrade"))) {
        return;
    }
    if (plan->upgrade) {
        what->upgrade = up_upgrade_allowed(r->pool, settings->upgrade,
                                           plan->upgrade);
        return;
    }
    if (!settings->pass_request_headers) {
        return;
    }
    what->upgrade = wanted;
    if (!connection || !*connection) {
        add_h2c(r, plan, wanted);
    }
    add(plan, "Upgrade", wanted);
}

/* UpstreamSetHeader has the last word. */
static void add_forwarded(request_rec *r, const up_settings_t *settings,
                          plan_t *plan)
{
    up_forwarded_t fields[UP_FORWARDED_MOST];
    int n = up_forwarded_make(r, settings, fields);
    int i;

    for (i = 0; i < n; i++) {
        if (!is_set(settings, fields[i].name)) {
            add(plan, fields[i].name, fields[i].value);
        }
    }
}

/* Does it end here, whatever the client wants? */
static int ends_here(const up_settings_t *settings, const up_reqhead_t *what,
                     const char *name)
{
    int trailers = what->chunked && settings->pass_trailers;

    return (up_field_is_ours(name)
            && !(trailers && up_field_is(name, "Trailer")))
           || (settings->forwarded && up_forwarded_is(name));
}

static void add_client(request_rec *r, const up_settings_t *settings,
                       const up_reqhead_t *what, plan_t *plan,
                       const char *host)
{
    const apr_array_header_t *fields = apr_table_elts(r->headers_in);
    up_nominated_t nominated;
    int i;

    up_nominated_init(&nominated, r->pool);
    for (i = 0; i < fields->nelts; i++) {
        const apr_table_entry_t *field =
            &APR_ARRAY_IDX(fields, i, apr_table_entry_t);

        if (up_field_is(field->key, "Connection")) {
            up_nominated_add(&nominated, field->val);
        }
    }
    for (i = 0; i < fields->nelts; i++) {
        const apr_table_entry_t *field =
            &APR_ARRAY_IDX(fields, i, apr_table_entry_t);

        if (ends_here(settings, what, field->key)
            || up_nominated_has(&nominated, field->key)
            || is_set(settings, field->key)
            || !up_field_name_ok(field->key)
            || strpbrk(field->val, "\r\n")) {
            continue;
        }
        add(plan, field->key,
            up_mapped_value(r, settings, what->pass,
                            *host ? host : what->pass->host_value,
                            field->key, field->val));
    }
}

const char *up_reqhead_method(request_rec *r, const up_settings_t *settings)
{
    const char *method = r->method;

    if (settings->method) {
        method = up_text_value(r, settings->method);
        if (method && *method == '\0') {
            method = r->method;
        }
    }
    if (method && !up_field_name_ok(method)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0300)
                      "method \"%s\" is not a token",
                      ap_escape_logitem(r->pool, method));
        return NULL;
    }
    return method;
}

apr_status_t up_reqhead_build(request_rec *r, const up_settings_t *settings,
                              up_reqhead_t *what,
                              apr_bucket_alloc_t *alloc,
                              apr_bucket **pbucket)
{
    plan_t plan = { 0 };
    const char *host;
    int length_set = 0;
    int most = count_set(settings) + 4
               + apr_table_elts(r->headers_in)->nelts + MOST_OF_UPGRADE
               + UP_FORWARDED_MOST;

    plan.lines = apr_palloc(r->pool, most * sizeof(*plan.lines));
    plan.target = what->target;
    plan.version = settings->http_version < 11 ? " HTTP/1.0" : " HTTP/1.1";
    plan.method = up_reqhead_method(r, settings);
    host = host_of(r, settings, what->pass);
    if (plan.method == NULL || host == NULL) {
        return APR_EGENERAL;
    }
    if (*host) {
        add(&plan, "Host", host);
    }
    if (add_set(r, settings, &plan, &length_set) != APR_SUCCESS) {
        return APR_EGENERAL;
    }
    add_framing(r, what, &plan, length_set);
    add_upgrade(r, settings, what, &plan);
    if (!what->upgrade) { /* some servers want `Upgrade` there and no more */
        add_te(r, settings, &plan);
    }
    add_forwarded(r, settings, &plan);
    if (settings->pass_request_headers) {
        add_client(r, settings, what, &plan, host);
    }
    *pbucket = write_twice(&plan, alloc);
    if (what->kept) {
        what->plan = apr_pmemdup(r->pool, &plan, sizeof(plan));
    }
    return APR_SUCCESS;
}

/* What the exchange itself answers for. */
static int is_guarded(const char *name)
{
    static const char *const names[] = {
        "Content-Length", "Transfer-Encoding", "Connection", "TE", "Trailer",
        "Upgrade", "HTTP2-Settings", "Keep-Alive", NULL
    };
    int i;

    for (i = 0; names[i] && !up_field_is(names[i], name); i++) {
    }
    return names[i] != NULL;
}

apr_table_t *up_reqhead_fields(apr_pool_t *p, const up_reqhead_t *what)
{
    const plan_t *plan = what->plan;
    apr_table_t *fields = apr_table_make(p, plan->nlines + 4);
    int i;

    for (i = 0; i < plan->nlines; i++) {
        if (!is_guarded(plan->lines[i].name)) {
            apr_table_addn(fields, plan->lines[i].name, plan->lines[i].value);
        }
    }
    return fields;
}

/* Those that may not be changed; of the fields, whether `host` is one. */
static void add_guarded(plan_t *plan, const plan_t *from, int host)
{
    int i;

    for (i = 0; i < from->nlines; i++) {
        const line_t *line = &from->lines[i];

        if (is_guarded(line->name)
            || (!host && up_field_is(line->name, "Host"))) {
            add(plan, line->name, line->value);
        }
    }
}

apr_status_t up_reqhead_rewrite(request_rec *r, const up_reqhead_t *what,
                                const apr_table_t *fields,
                                apr_bucket_alloc_t *alloc,
                                apr_bucket **pbucket)
{
    const apr_array_header_t *entries = apr_table_elts(fields);
    const plan_t *from = what->plan;
    plan_t plan = *from;
    int i;

    plan.lines = apr_palloc(r->pool, (apr_size_t)(from->nlines
                                                  + entries->nelts)
                                         * sizeof(*plan.lines));
    plan.nlines = 0;
    for (i = 0; i < entries->nelts; i++) {
        const apr_table_entry_t *field =
            &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        if (!up_field_name_ok(field->key) || strpbrk(field->val, "\r\n")) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0880)
                          "a module has set a field that cannot be sent: "
                          "\"%s\"", ap_escape_logitem(r->pool, field->key));
            return APR_EGENERAL;
        }
        if (!is_guarded(field->key)) {
            add(&plan, field->key, field->val);
        }
    }
    add_guarded(&plan, from, apr_table_get(fields, "Host") != NULL);
    *pbucket = write_twice(&plan, alloc);
    return APR_SUCCESS;
}
