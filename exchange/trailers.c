/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Which trailers go on, and the filter that sends them; see trailers.h. */

#include "exchange/trailers.h"

#include <string.h>

#include "apr_buckets.h"
#include "apr_strings.h"
#include "config/log.h"
#include "exchange/fields.h"
#include "exchange/response_head.h"
#include "http_protocol.h"
#include "util_filter.h"

#define LAST_CHUNK "0\r\n\r\n"

static ap_filter_rec_t *trailer_filter;

/* One field as a line; what would break it never gets here from a parser, but
 * r->trailers_out is open to every module. */
static int add_line(void *baton, const char *name, const char *value)
{
    apr_array_header_t *lines = baton;

    if (up_field_name_ok(name) && !strpbrk(value, "\r\n")) {
        APR_ARRAY_PUSH(lines, const char *) =
            apr_pstrcat(lines->pool, name, ": ", value, "\r\n", NULL);
    }
    return 1;
}

static const char *lines_of(request_rec *r, const apr_table_t *trailers)
{
    apr_array_header_t *lines = apr_array_make(r->pool, 4,
                                               sizeof(const char *));

    apr_table_do(add_line, lines, trailers, NULL);
    return apr_array_pstrcat(r->pool, lines, 0);
}

/* ------------------------------------------------------------------------ */
/* to the client */

/* The chunk filter's end of the body, when that is what `e` is. */
static int is_last_chunk(apr_bucket *e)
{
    const char *data;
    apr_size_t len;

    return !APR_BUCKET_IS_METADATA(e) && e->length == strlen(LAST_CHUNK)
           && apr_bucket_read(e, &data, &len, APR_BLOCK_READ) == APR_SUCCESS
           && len == strlen(LAST_CHUNK)
           && memcmp(data, LAST_CHUNK, len) == 0;
}

/* The trailer section stands between the size of the last chunk and the empty
 * line (RFC 9112 7.1.2). */
static void insert_trailers(request_rec *r, apr_bucket *last)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    const char *text = lines_of(r, r->trailers_out);

    if (*text) {
        text = apr_pstrcat(r->pool, "0\r\n", text, "\r\n", NULL);
        APR_BUCKET_INSERT_BEFORE(
            last, apr_bucket_heap_create(text, strlen(text), NULL, alloc));
        apr_bucket_delete(last);
    }
}

/* Behind the chunk filter, which ends a body with its last chunk and EOS, and
 * a body that was cut with EOS alone. */
static apr_status_t trailers_out(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_bucket *eos = APR_BRIGADE_LAST(bb);
    ap_filter_t *next = f->next;
    apr_bucket *last;

    if (!APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_EOS(eos)) {
        last = APR_BUCKET_PREV(eos);
        if (last != APR_BRIGADE_SENTINEL(bb) && is_last_chunk(last)) {
            insert_trailers(f->r, last);
        }
        ap_remove_output_filter(f);
    }
    return ap_pass_brigade(next, bb);
}

void up_trailers_register(void)
{
    trailer_filter = ap_register_output_filter("UPSTREAM_TRAILERS",
                                               trailers_out, NULL,
                                               AP_FTYPE_TRANSCODE + 1);
}

int up_trailers_wanted(const request_rec *r, const up_settings_t *settings)
{
    return settings->pass_trailers && r->proto_num >= HTTP_VERSION(1, 1)
           && !r->header_only;
}

void up_trailers_expect(request_rec *r)
{
    ap_add_output_filter_handle(trailer_filter, NULL, r, r->connection);
}

void up_trailers_respond(request_rec *r, const up_settings_t *settings,
                         const up_head_t *trailers)
{
    int i;

    for (i = 0; i < trailers->nfields; i++) {
        const up_field_t *field = &trailers->fields[i];

        if (up_reshead_hides(r, settings, field)
            || !up_field_fits_trailer(field->name)) {
            ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, UPLOGNO(0641)
                          "trailer \"%s\" of the upstream response is not "
                          "passed on",
                          ap_escape_logitem(r->pool, field->name));
            continue;
        }
        apr_table_addn(r->trailers_out, field->name, field->value);
    }
}

/* ------------------------------------------------------------------------ */
/* to the backend */

static int is_set(const up_settings_t *settings, const char *name)
{
    int i;

    for (i = 0; settings->set_headers && i < settings->set_headers->nelts;
         i++) {
        if (up_field_is(APR_ARRAY_IDX(settings->set_headers, i,
                                      up_header_t).name, name)) {
            return 1;
        }
    }
    return 0;
}

const char *up_trailers_of_request(request_rec *r,
                                   const up_settings_t *settings)
{
    const apr_array_header_t *fields;
    apr_table_t *passed;
    int i;

    if (!settings->pass_trailers || settings->http_version < 11
        || !settings->pass_request_headers
        || apr_is_empty_table(r->trailers_in)) {
        return "";
    }
    passed = apr_table_make(r->pool, 4);
    fields = apr_table_elts(r->trailers_in);
    for (i = 0; i < fields->nelts; i++) {
        const apr_table_entry_t *field =
            &APR_ARRAY_IDX(fields, i, apr_table_entry_t);

        if (up_field_fits_trailer(field->key)
            && !is_set(settings, field->key)) {
            apr_table_addn(passed, field->key, field->val);
        }
    }
    return lines_of(r, passed);
}
