/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* X-Accel-Redirect; see jump.h. */

#include "exchange/jump.h"

#include "apr_strings.h"
#include "config/log.h"
#include "exchange/accel.h"
#include "exchange/note.h"
#include "exchange/request_body.h"
#include "exchange/request_target.h"
#include "exchange/response_head.h"
#include "exchange/wishes.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "util_filter.h"

struct up_jump_t {
    const char *uri;     /* escaped */
    int same;            /* method and body stay what they are */
    apr_table_t *fields; /* for the new response */
    up_wishes_t wishes;
};

static ap_filter_rec_t *ranges_filter;

/* ------------------------------------------------------------------------ */
/* where to */

static int refuse(request_rec *r, int status, const char *value,
                  const char *why)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0620)
                  "upstream sent an X-Accel-Redirect to \"%s\", which %s: "
                  "answering %d", ap_escape_logitem(r->pool, value), why,
                  status);
    return status;
}

static int to_path(request_rec *r, up_jump_t *jump, const char *value)
{
    const char *args;
    const char *path = up_accel_path(r->pool, value, &args);

    if (!path) {
        return refuse(r, HTTP_NOT_FOUND, value, "is no path of this server");
    }
    /* httpd decodes it again. */
    jump->uri = ap_os_escape_path(r->pool, path, 1);
    if (args && *args) {
        jump->uri = apr_pstrcat(r->pool, jump->uri, "?", args, NULL);
    }
    return OK;
}

static int to_name(request_rec *r, up_jump_t *jump, const char *value)
{
    const up_note_t *note = up_note_get(r);

    if (!up_accel_named(value)) {
        return refuse(r, HTTP_NOT_FOUND, value, "is no name of a location");
    }
    if (!up_reqbody_keeps(note->body)) {
        return refuse(r, HTTP_INTERNAL_SERVER_ERROR, value,
                      "wants the request's body, of which parts have been "
                      "sent and not been kept (UpstreamRequestBuffering)");
    }
    jump->same = 1;
    jump->uri = apr_pstrcat(r->pool, "/", value,
                            up_target_own(r, note->target_baton), NULL);
    return OK;
}

int up_jump_prepare(request_rec *r, const up_settings_t *settings,
                    const up_head_t *head, const char *value)
{
    up_jump_t *jump = apr_pcalloc(r->pool, sizeof(*jump));
    int status = *value == '@' ? to_name(r, jump, value)
                               : to_path(r, jump, value);

    if (status != OK) {
        return status;
    }
    jump->fields = apr_table_make(r->pool, 5);
    up_reshead_carry(r, settings, head, jump->fields);
    up_wishes_read(settings, head, &jump->wishes);
    up_note_make(r)->jump = jump;
    return OK;
}

/* ------------------------------------------------------------------------ */
/* the way */

int up_jump_pending(const request_rec *r)
{
    const up_note_t *note = up_note_get(r);

    return note && note->jump;
}

/* Without the body that the first location has got: as for CGI's local
 * redirects, but the log still finds the client's fields in r. */
static void redirect_as_get(const up_jump_t *jump, request_rec *r)
{
    apr_table_t *fields = r->headers_in;
    const char *method = r->method;
    int number = r->method_number;

    r->headers_in = apr_table_copy(r->pool, fields);
    apr_table_unset(r->headers_in, "Content-Length");
    apr_table_unset(r->headers_in, "Transfer-Encoding");
    r->method = r->header_only ? "HEAD" : "GET";
    r->method_number = M_GET;
    ap_internal_redirect(jump->uri, r);
    r->method = method;
    r->method_number = number;
    r->headers_in = fields;
}

int up_jump_run(request_rec *r, int status)
{
    const up_jump_t *jump = up_jump_pending(r) ? up_note_get(r)->jump : NULL;

    if (status != OK || !jump) {
        return status;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, UPLOGNO(0621)
                  "X-Accel-Redirect to %s", jump->uri);
    r->status = HTTP_OK;
    r->status_line = NULL;
    if (jump->same) {
        ap_internal_redirect(jump->uri, r);
    }
    else {
        redirect_as_get(jump, r);
    }
    return OK;
}

/* ------------------------------------------------------------------------ */
/* the arrival */

/* Handlers of files say what they like about ranges: the backend's word
 * comes after theirs. */
static apr_status_t set_ranges(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    const char *value = f->ctx;

    apr_table_setn(r->headers_out, "Accept-Ranges", value);
    if (strcasecmp(value, "none") == 0) {
        up_reshead_no_ranges(r); /* may be f->next */
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

/* What other handlers send is limited by mod_ratelimit, which thinks in
 * KiB. */
static void limit(request_rec *r, apr_off_t rate)
{
    ap_filter_rec_t *filter = ap_get_output_filter_handle("RATE_LIMIT");

    if (!filter) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r, UPLOGNO(0622)
                      "X-Accel-Limit-Rate together with X-Accel-Redirect "
                      "wants mod_ratelimit, which is not loaded: no limit");
        return;
    }
    apr_table_setn(r->subprocess_env, "rate-limit",
                   apr_psprintf(r->pool, "%" APR_OFF_T_FMT,
                                rate < 1024 ? 1 : rate / 1024));
    ap_add_output_filter_handle(filter, NULL, r, r->connection);
}

static int set_field(void *baton, const char *name, const char *value)
{
    request_rec *r = baton;

    if (strcasecmp(name, "Content-Type") == 0) {
        up_reshead_set_type(r, value);
    }
    else {
        apr_table_addn(r->headers_out, name, value);
    }
    return 1;
}

static const up_jump_t *arrived_by(const request_rec *r)
{
    const up_note_t *from = r->prev ? up_note_get(r->prev) : NULL;

    return from ? from->jump : NULL;
}

void up_jump_arrive(request_rec *r, int ours)
{
    const up_jump_t *jump = arrived_by(r);
    const char *ranges;

    if (!jump) {
        return;
    }
    apr_table_do(set_field, r, jump->fields, NULL);
    up_wishes_grant(r, &jump->wishes);
    if (ours) {
        return; /* the answer to come has the last word, and its own pace */
    }
    ranges = apr_table_get(jump->fields, "Accept-Ranges");
    if (ranges) {
        ap_add_output_filter_handle(ranges_filter, (void *)ranges, r,
                                    r->connection);
    }
    if (jump->wishes.rate) {
        limit(r, jump->wishes.rate);
    }
}

apr_off_t up_jump_rate(const request_rec *r)
{
    const up_jump_t *jump = arrived_by(r);

    return jump ? jump->wishes.rate : 0;
}

void up_jump_bring_body(const request_rec *r, up_reqbody_t *body)
{
    const up_jump_t *jump = arrived_by(r);

    if (jump && jump->same) {
        up_reqbody_inherit(body, up_note_get(r->prev)->body);
    }
}

void up_jump_register(void)
{
    ranges_filter = ap_register_output_filter("UPSTREAM_RANGES", set_ranges,
                                              NULL, AP_FTYPE_CONTENT_SET);
}
