/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what becomes of each response field on its way to the client.
 */

#include "exchange/response_head.h"

#include <string.h>

#include "ap_config.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "config/log.h"
#include "exchange/fields.h"
#include "exchange/rewrite.h"
#include "exchange/trailers.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"

/* One head on its way, and what it turned out to hold. */
typedef struct passage_t {
    request_rec *r;
    const up_settings_t *settings;
    const up_head_t *head;
    up_nominated_t nominated;
    int trailers;  /* may follow, and go to the client */
    char *relayed; /* a byte a field: 1 goes to the client */
} passage_t;

/* A value of which a message has one; nginx keeps the first. */
static int is_single(const char *name)
{
    switch (*name | 0x20) { /* lower case, of a letter */
    case 'c':
        return up_field_is(name, "Content-Type");
    case 'd':
        return up_field_is(name, "Date");
    case 'e':
        return up_field_is(name, "ETag") || up_field_is(name, "Expires");
    case 'l':
        return up_field_is(name, "Last-Modified")
               || up_field_is(name, "Location");
    case 'r':
        return up_field_is(name, "Refresh");
    case 's':
        return up_field_is(name, "Server") || up_field_is(name, "Status");
    case 'x':
        return up_field_is(name, "X-Accel-Redirect")
               || up_field_is(name, "X-Accel-Expires")
               || up_field_is(name, "X-Accel-Limit-Rate");
    default:
        return 0;
    }
}

int up_reshead_repeats(const up_head_t *head, int index)
{
    const char *name = head->fields[index].name;
    int i;

    if (!is_single(name)) {
        return 0;
    }
    for (i = 0; i < index; i++) {
        if (up_field_is(head->fields[i].name, name)) {
            return 1;
        }
    }
    return 0;
}

int up_reshead_hides(const request_rec *r, const up_settings_t *settings,
                     const up_field_t *field)
{
    char room[64];
    char *name = room;

    if (settings->hidden == NULL) {
        return 0;
    }
    if (field->name_len >= sizeof(room)) {
        name = apr_palloc(r->pool, field->name_len + 1);
    }
    memcpy(name, field->name, field->name_len + 1);
    ap_str_tolower(name);
    return apr_hash_get(settings->hidden, name, field->name_len) != NULL;
}

/* httpd answers 500 when a name is no token. nginx relays such a field; the
 * next best is the response without it. */
static int is_sendable(const passage_t *passage, const up_field_t *field)
{
    if (up_field_name_ok(field->name)) {
        return 1;
    }
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, passage->r, UPLOGNO(0301)
                  "upstream sent a field with an odd name, not relayed: "
                  "\"%s\"", ap_escape_logitem(passage->r->pool, field->name));
    return 0;
}

/* What announces trailers goes with them. */
static int ends_here(const passage_t *passage, const char *name)
{
    return up_field_is_hop(name)
           && !(passage->trailers && up_field_is(name, "Trailer"));
}

static int is_relayed(const passage_t *passage, int index)
{
    const up_field_t *field = &passage->head->fields[index];

    if (ends_here(passage, field->name)
        || up_field_is(field->name, "Content-Length")
        || up_nominated_has(&passage->nominated, field->name)
        || up_reshead_hides(passage->r, passage->settings, field)
        || !is_sendable(passage, field)) {
        return 0;
    }
    if (up_reshead_repeats(passage->head, index)) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, passage->r,
                      UPLOGNO(0302)
                      "upstream sent duplicate header line \"%s\", ignored",
                      field->name);
        return 0;
    }
    return 1;
}

/* Byte for byte, also under AddDefaultCharset: it is not ours to say how a
 * backend's text is encoded. */
void up_reshead_set_type(request_rec *r, const char *value)
{
    core_request_config *core = ap_get_core_module_config(r->request_config);

    ap_set_content_type(r, value);
    core->suppress_charset = 1;
}

/*
 * The header filter writes its own Date and Server unless r->proxyreq says
 * that the response comes from elsewhere. PROXYREQ_REVERSE is what
 * mod_proxy sets. So late it means, besides: mod_filter leaves alone what
 * Cache-Control: no-transform protects and filters registered as unfit for
 * proxies, and a part of the request body that nobody has read yet is thrown
 * away without LimitRequestBody. PROXYREQ_RESPONSE would be wrong: the input
 * filter would then read a request without a length until its end of file.
 */
static void keep_origin_fields(request_rec *r)
{
    if (r->proxyreq == PROXYREQ_NONE) {
        r->proxyreq = PROXYREQ_REVERSE;
    }
}

static void relay_field(const passage_t *passage, const up_field_t *field)
{
    request_rec *r = passage->r;

    if (up_field_is(field->name, "Content-Type")) {
        up_reshead_set_type(r, field->value);
        return;
    }
    if (up_field_is(field->name, "Date")
        || up_field_is(field->name, "Server")) {
        keep_origin_fields(r);
    }
    apr_table_addn(r->headers_out, field->name,
                   up_rewrite_value(r, passage->settings, field));
}

/* Two rounds: what earlier phases had set gives way before the first of
 * several fields of the same name is added. */
static void relay_fields(passage_t *passage)
{
    const up_head_t *head = passage->head;
    apr_table_t *out = passage->r->headers_out;
    int i;

    for (i = 0; i < head->nfields; i++) {
        passage->relayed[i] = is_relayed(passage, i);
        if (passage->relayed[i] && !apr_is_empty_table(out)) {
            apr_table_unset(out, head->fields[i].name);
        }
    }
    for (i = 0; i < head->nfields; i++) {
        if (passage->relayed[i]) {
            relay_field(passage, &head->fields[i]);
        }
    }
}

/* What mod_mime and friends guessed from the name of a file that does not
 * exist here, and framing that somebody else had in mind. */
static void forget_guesses(request_rec *r)
{
    ap_set_content_type(r, NULL);
    r->content_encoding = NULL;
    r->content_languages = NULL;
    r->clength = 0;
    apr_table_unset(r->headers_out, "Content-Type");
    apr_table_unset(r->headers_out, "Content-Length");
    apr_table_unset(r->headers_out, "Transfer-Encoding");
}

/* The status line keeps the backend's number and reason: httpd takes it when
 * it is "NNN text" and agrees with r->status, also for numbers that it does
 * not know. A page that is fetched for an ErrorDocument does not turn the
 * error into a success. */
static void set_status(request_rec *r, const up_head_t *head)
{
    if (r->prev && ap_is_HTTP_ERROR(r->status)
        && ap_is_HTTP_SUCCESS(head->status)) {
        return;
    }
    r->status = head->status;
    r->status_line =
        apr_psprintf(r->pool, "%d %s", head->status, head->reason);
}

/* A length that no body follows is for HEAD alone; 204 and 304 are stripped
 * of it by httpd. UpstreamMethod HEAD must not announce to the client of a
 * GET what will not come. */
static void set_length(request_rec *r, const up_framing_t *framing)
{
    if (framing->announced >= 0
        && (framing->kind == UP_FRAMING_LENGTH || r->header_only)) {
        ap_set_content_length(r, framing->announced);
    }
}

/* httpd would cut ranges out of a 200 that arrives whole in one brigade, and
 * not out of a longer one. Ranges are the backend's business. */
void up_reshead_no_ranges(request_rec *r)
{
    ap_filter_t *filter = r->output_filters;

    while (filter) {
        ap_filter_t *next = filter->next;

        if (filter->r == r && filter->frec->ftype == AP_FTYPE_PROTOCOL
            && ap_cstr_casecmp(filter->frec->name, "byterange") == 0) {
            ap_remove_output_filter(filter);
        }
        filter = next;
    }
}

/* Keep-Alive: timeout=N, in seconds; at most a day. */
static apr_interval_time_t keep_alive_of(const char *value)
{
    const char *at = value ? ap_strcasestr(value, "timeout=") : NULL;
    int seconds = 0;

    if (at == NULL || !apr_isdigit(at[strlen("timeout=")])) {
        return -1;
    }
    for (at += strlen("timeout="); apr_isdigit(*at); at++) {
        if (seconds < 86400) {
            seconds = seconds * 10 + (*at - '0');
        }
    }
    return apr_time_from_sec(seconds < 86400 ? seconds : 86400);
}

static void find_nominated(passage_t *passage)
{
    const up_head_t *head = passage->head;
    int i;

    up_nominated_init(&passage->nominated, passage->r->pool);
    for (i = 0; i < head->nfields; i++) {
        if (up_field_is(head->fields[i].name, "Connection")) {
            up_nominated_add(&passage->nominated, head->fields[i].value);
        }
    }
}

void up_reshead_apply(request_rec *r, const up_settings_t *settings,
                      const up_head_t *head, const up_framing_t *framing,
                      up_relay_t *relay)
{
    passage_t passage = { .r = r, .settings = settings, .head = head };

    find_nominated(&passage);
    passage.trailers = framing->kind == UP_FRAMING_CHUNKED
                       && up_trailers_wanted(r, settings);
    passage.relayed = apr_pcalloc(r->pool, head->nfields + 1);
    relay->keep_alive = keep_alive_of(up_head_get(head, "Keep-Alive"));
    set_status(r, head);
    forget_guesses(r);
    relay_fields(&passage);
    set_length(r, framing);
    up_reshead_no_ranges(r);
}

/* Copies the fields of these names that would be relayed. The list ends with
 * NULL. */
static void copy_named(passage_t *passage, const char *const *names,
                       apr_table_t *to)
{
    const up_head_t *head = passage->head;
    int i;

    for (i = 0; i < head->nfields; i++) {
        const char *const *name = names;

        while (*name && !up_field_is(head->fields[i].name, *name)) {
            name++;
        }
        if (*name && is_relayed(passage, i)) {
            apr_table_add(to, *name,
                          up_rewrite_value(passage->r, passage->settings,
                                           &head->fields[i]));
        }
    }
}

void up_reshead_keep(request_rec *r, const up_settings_t *settings,
                     const up_head_t *head)
{
    static const char *const names[] = { "WWW-Authenticate", "Set-Cookie",
                                         "Retry-After", NULL };
    passage_t passage = { .r = r, .settings = settings, .head = head };

    find_nominated(&passage);
    copy_named(&passage, names, r->err_headers_out);
}

void up_reshead_carry(request_rec *r, const up_settings_t *settings,
                      const up_head_t *head, apr_table_t *fields)
{
    static const char *const cookies[] = { "Set-Cookie", NULL };
    static const char *const names[] = { "Content-Type",
                                         "Content-Disposition",
                                         "Cache-Control", "Expires",
                                         "Accept-Ranges", NULL };
    passage_t passage = { .r = r, .settings = settings, .head = head };

    find_nominated(&passage);
    copy_named(&passage, cookies, r->err_headers_out);
    copy_named(&passage, names, fields);
}

void up_reshead_hints(request_rec *r, const up_settings_t *settings,
                      const up_head_t *head, apr_table_t *fields)
{
    passage_t passage = { .r = r, .settings = settings, .head = head };
    int i;

    find_nominated(&passage);
    for (i = 0; i < head->nfields; i++) {
        if (is_relayed(&passage, i)) {
            apr_table_add(fields, head->fields[i].name,
                          up_rewrite_value(r, settings, &head->fields[i]));
        }
    }
}
