/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Nobody waits for trailers in httpd's filter; see last_chunk.h. */

#include "transport/last_chunk.h"

#include "http_protocol.h"
#include "util_filter.h"

/* Trailers may have so many bytes, with the last chunk's line. */
#define MOST_BYTES 65536

typedef enum { SIZE, EXTENSION } part_e;

typedef struct {
    apr_bucket_brigade *kept;  /* from the last chunk on; given out when whole
                                  is set */
    apr_bucket_brigade *fresh; /* just read; empty between calls */
    apr_off_t bytes;           /* in kept */
    part_e part;               /* of the line that HTTP_IN reads */
    unsigned int zero : 1;     /* its size has a digit, */
    unsigned int more : 1;     /* and one that is not 0 */
    unsigned int last : 1;     /* it was the last chunk's */
    unsigned int blank : 1;    /* of the trailers' line nothing but CR came */
    unsigned int whole : 1;    /* they have arrived */
} last_chunk_t;

static ap_filter_rec_t *last_chunk_filter;

/* One byte of the line with a chunk's size, or of the one that ends its
 * data. */
static void look_at_size(last_chunk_t *ctx, char byte)
{
    if (byte == '\n') {
        ctx->last = ctx->zero && !ctx->more;
        ctx->part = SIZE;
        ctx->zero = ctx->more = 0;
        ctx->blank = 1;
    }
    else if (byte == ';') {
        ctx->part = EXTENSION;
    }
    else if (ctx->part == SIZE && byte != '\r' && byte != ' '
             && byte != '\t') {
        ctx->zero = 1;
        ctx->more |= byte != '0';
    }
}

static void look_at_trailer(last_chunk_t *ctx, char byte)
{
    if (byte == '\n') {
        ctx->whole |= ctx->blank;
        ctx->blank = 1;
    }
    else if (byte != '\r') {
        ctx->blank = 0;
    }
}

/* What a line, or a piece of one, says. */
static apr_status_t look(last_chunk_t *ctx, apr_bucket_brigade *bb,
                         apr_off_t *plen)
{
    apr_bucket *e;

    *plen = 0;
    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;
        apr_size_t i;
        apr_status_t rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);

        if (rv != APR_SUCCESS) {
            return rv;
        }
        for (i = 0; i < len; i++) {
            if (ctx->last) {
                look_at_trailer(ctx, data[i]);
            }
            else {
                look_at_size(ctx, data[i]);
            }
        }
        *plen += (apr_off_t)len;
    }
    return APR_SUCCESS;
}

/* mod_ssl's bytes lie in a buffer that it uses again for the next read. */
static apr_status_t keep(last_chunk_t *ctx, ap_filter_t *f, apr_off_t len)
{
    ctx->bytes += len;
    if (ctx->bytes > MOST_BYTES) {
        return APR_ENOSPC;
    }
    return ap_save_brigade(f, &ctx->kept, &ctx->fresh, f->r->pool);
}

/* Reads lines until the trailers are whole. At an end in the middle of them
 * HTTP_IN gets what there is, and meets the end itself. */
static apr_status_t read_trailers(last_chunk_t *ctx, ap_filter_t *f)
{
    apr_status_t rv;
    apr_off_t len;

    while (!ctx->whole) {
        rv = ap_get_brigade(f->next, ctx->fresh, AP_MODE_GETLINE,
                            APR_NONBLOCK_READ, 0);
        if (rv == APR_SUCCESS) {
            rv = look(ctx, ctx->fresh, &len);
        }
        if (rv == APR_SUCCESS && len == 0) {
            rv = APR_EAGAIN;
        }
        if (APR_STATUS_IS_EOF(rv)) {
            ctx->whole = 1;
            return APR_SUCCESS;
        }
        if (rv == APR_SUCCESS) {
            rv = keep(ctx, f, len);
        }
        if (rv != APR_SUCCESS) {
            apr_brigade_cleanup(ctx->fresh);
            return rv;
        }
    }
    return APR_SUCCESS;
}

/* One line for HTTP_IN, which does not wait for it. */
static apr_status_t read_line(last_chunk_t *ctx, ap_filter_t *f,
                              apr_bucket_brigade *bb)
{
    apr_status_t rv;
    apr_off_t len;

    if (!ctx->last) {
        rv = ap_get_brigade(f->next, bb, AP_MODE_GETLINE, APR_NONBLOCK_READ,
                            0);
        if (rv == APR_SUCCESS) {
            rv = look(ctx, bb, &len);
        }
        if (rv != APR_SUCCESS || !ctx->last) {
            return rv;
        }
        APR_BRIGADE_CONCAT(ctx->fresh, bb);
        rv = keep(ctx, f, len);
        if (rv != APR_SUCCESS) {
            return rv;
        }
    }
    return read_trailers(ctx, f);
}

static apr_status_t last_chunk_in(ap_filter_t *f, apr_bucket_brigade *bb,
                                  ap_input_mode_t mode, apr_read_type_e block,
                                  apr_off_t readbytes)
{
    last_chunk_t *ctx = f->ctx;
    apr_status_t rv;

    if (mode == AP_MODE_GETLINE && block == APR_NONBLOCK_READ
        && !ctx->whole) {
        rv = read_line(ctx, f, bb);
        if (rv != APR_SUCCESS || !ctx->last) {
            return rv;
        }
    }
    if (mode == AP_MODE_GETLINE && !APR_BRIGADE_EMPTY(ctx->kept)) {
        return apr_brigade_split_line(bb, ctx->kept, block, HUGE_STRING_LEN);
    }
    return ap_get_brigade(f->next, bb, mode, block, readbytes);
}

void up_last_chunk_register(void)
{
    /* HTTP_IN is AP_FTYPE_PROTOCOL. */
    last_chunk_filter =
        ap_register_input_filter("UPSTREAM_LAST_CHUNK", last_chunk_in, NULL,
                                 AP_FTYPE_PROTOCOL + 1);
}

void up_last_chunk_hold(request_rec *r)
{
    last_chunk_t *ctx;
    ap_filter_t *f;

    for (f = r->proto_input_filters; f; f = f->next) {
        if (f->frec == last_chunk_filter) {
            return; /* another place had this request first */
        }
    }
    ctx = apr_pcalloc(r->pool, sizeof(*ctx));
    ctx->kept = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    ctx->fresh = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    ap_add_input_filter_handle(last_chunk_filter, ctx, r, r->connection);
}
