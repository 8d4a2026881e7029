/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The request's bytes: reading, keeping, framing, sending. */

#include "exchange/request_body.h"

#include "apr_strings.h"
#include "config/log.h"
#include "exchange/trailers.h"
#include "http_protocol.h"
#include "transport/last_chunk.h"
#include "util_filter.h"

#define VECTOR 16              /* buckets a writev */
#define READ_BYTES 65536       /* wanted of the client at once */

up_reqbody_t *up_reqbody_make(request_rec *r, const up_settings_t *settings,
                              up_client_t *client)
{
    up_reqbody_t *body = apr_pcalloc(r->pool, sizeof(*body));
    const char *te = apr_table_get(r->headers_in, "Transfer-Encoding");

    body->r = r;
    body->settings = settings;
    body->client = client;
    body->bytes = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    body->fresh = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    body->at = APR_BRIGADE_SENTINEL(body->bytes);
    body->length = -1;
    body->announced = te || apr_table_get(r->headers_in, "Content-Length");
    body->whole = !body->announced || r->main != NULL;
    body->dropped = settings->set_body || !settings->pass_request_body;
    /* Chunks are not for HTTP/1.0 backends: their length must be known. */
    body->streamed = !settings->request_buffering && !body->dropped
                     && !(te && settings->http_version < 11);
    if (te && client->net) {
        up_last_chunk_hold(r);
    }
    return body;
}

int up_reqbody_keeps(const up_reqbody_t *body)
{
    return !body->announced
           || (body->whole && !body->consumed && !body->chunked);
}

void up_reqbody_inherit(up_reqbody_t *body, up_reqbody_t *from)
{
    apr_bucket *head = APR_BRIGADE_FIRST(from->bytes);

    body->whole = 1;
    if (!from->announced || from->dropped) {
        return;
    }
    body->spool = from->spool;
    body->in_memory = from->in_memory;
    apr_bucket_delete(head); /* that of the other request */
    if (body->spool) {
        apr_brigade_cleanup(from->bytes); /* begin makes buckets anew */
    }
    APR_BRIGADE_CONCAT(body->bytes, from->bytes);
    from->at = APR_BRIGADE_SENTINEL(from->bytes);
}

/* ------------------------------------------------------------------------ */
/* reading */

static apr_status_t read_failed(up_reqbody_t *body, apr_status_t rv)
{
    if (APR_STATUS_IS_TIMEUP(rv)) {
        body->status = HTTP_REQUEST_TIME_OUT;
    }
    else {
        body->status = ap_map_http_request_error(rv, HTTP_BAD_REQUEST);
    }
    return rv;
}

static apr_status_t store_failed(up_reqbody_t *body, apr_status_t rv)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, body->r, UPLOGNO(0401)
                  "cannot keep the client's request body in a temporary file "
                  "below %s (UpstreamTempPath)", body->settings->temp_path);
    body->status = HTTP_INTERNAL_SERVER_ERROR;
    return rv;
}

/* Writes the buckets of `bb` to the file and deletes them. */
static apr_status_t to_file(up_reqbody_t *body, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !APR_BRIGADE_EMPTY(bb)) {
        apr_bucket *e = APR_BRIGADE_FIRST(bb);
        const char *data;
        apr_size_t len;

        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS && len) {
            rv = up_spool_write(body->spool, data, len);
        }
        apr_bucket_delete(e);
    }
    return rv == APR_SUCCESS ? rv : store_failed(body, rv);
}

/* The body outgrows memory: what was kept goes to a file first. */
static apr_status_t open_file(up_reqbody_t *body)
{
    apr_status_t rv = up_spool_begin(body->r, body->settings, APLOG_INFO,
                                     "a client request body", &body->spool);

    if (rv != APR_SUCCESS) {
        return store_failed(body, rv);
    }
    body->in_memory = 0;
    return to_file(body, body->bytes);
}

/* Keeps one brigade of body data. */
static apr_status_t store(up_reqbody_t *body, apr_bucket_brigade *bb,
                          apr_off_t len)
{
    apr_status_t rv;

    if (body->dropped) {
        apr_brigade_cleanup(bb);
        return APR_SUCCESS;
    }
    if (!body->streamed && !body->spool
        && body->in_memory + len > body->settings->request_buffer_size) {
        rv = open_file(body);
        if (rv != APR_SUCCESS) {
            return rv;
        }
    }
    if (body->spool) {
        return to_file(body, bb);
    }
    rv = ap_save_brigade(body->r->input_filters, &body->bytes, &bb,
                         body->r->pool);
    if (rv != APR_SUCCESS) {
        return store_failed(body, rv);
    }
    body->in_memory += len;
    return APR_SUCCESS;
}

/* Takes the metadata out of `bb`; EOS means the body is whole. */
static apr_off_t only_data(up_reqbody_t *body, apr_bucket_brigade *bb)
{
    apr_off_t len = 0;
    apr_bucket *e = APR_BRIGADE_FIRST(bb);

    while (e != APR_BRIGADE_SENTINEL(bb)) {
        apr_bucket *next = APR_BUCKET_NEXT(e);

        if (APR_BUCKET_IS_EOS(e)) {
            body->whole = 1;
        }
        if (APR_BUCKET_IS_METADATA(e) || e->length == 0) {
            apr_bucket_delete(e);
        }
        else {
            len += (apr_off_t)e->length;
        }
        e = next;
    }
    return len;
}

/* One non-blocking read of the client. *plen: data bytes read into bb. */
static apr_status_t read_once(up_reqbody_t *body, apr_bucket_brigade *bb,
                              apr_off_t *plen)
{
    apr_status_t rv = up_client_read(body->client, bb, READ_BYTES);

    *plen = 0;
    if (rv == APR_EAGAIN) {
        return rv;
    }
    if (rv != APR_SUCCESS) {
        return read_failed(body, rv);
    }
    body->reads++;
    *plen = only_data(body, bb);
    return APR_SUCCESS;
}

apr_status_t up_reqbody_gather(up_reqbody_t *body)
{
    apr_status_t rv = APR_SUCCESS;

    while (!body->whole && rv == APR_SUCCESS) {
        apr_off_t len;

        if (body->streamed
            && body->in_memory >= body->settings->request_buffer_size) {
            break;
        }
        rv = read_once(body, body->fresh, &len);
        if (rv == APR_SUCCESS) {
            rv = store(body, body->fresh, len);
        }
    }
    if (rv == APR_EAGAIN && body->streamed) {
        rv = APR_SUCCESS; /* the rest comes while it is sent */
    }
    return rv;
}

/* ------------------------------------------------------------------------ */
/* framing */

/* The Content-Length that the client announced, -1: none. httpd has checked
 * its grammar when the body was first read. */
static apr_off_t announced_length(const up_reqbody_t *body)
{
    const char *text = apr_table_get(body->r->headers_in, "Content-Length");
    apr_off_t length;
    char *end;

    if (!text || apr_table_get(body->r->headers_in, "Transfer-Encoding")
        || apr_strtoff(&length, text, &end, 10) != APR_SUCCESS
        || *end || length < 0) {
        return -1;
    }
    return length;
}

/* What has been gathered, in bytes. */
static apr_off_t gathered(const up_reqbody_t *body)
{
    return body->spool ? body->spool->written : body->in_memory;
}

apr_status_t up_reqbody_frame(up_reqbody_t *body)
{
    if (body->settings->set_body) {
        body->replacement = up_text_value(body->r, body->settings->set_body);
        if (!body->replacement) {
            return APR_EGENERAL;
        }
        body->length = (apr_off_t)strlen(body->replacement);
    }
    else if (body->dropped || !body->announced) {
        body->length = -1;
    }
    else if (body->whole) {
        /* Only chunks have trailers behind them. */
        body->streamed = 0;
        body->chunked = *up_trailers_of_request(body->r, body->settings) != 0;
        body->length = body->chunked ? -1 : gathered(body);
    }
    else {
        body->length = announced_length(body);
        body->chunked = body->length < 0;
    }
    return APR_SUCCESS;
}

/* `<size>CRLF` in front of the `len` bytes of bb, CRLF behind them; behind
 * the last bytes of the body, its end (RFC 9112 7.1). */
static void wrap_chunk(up_reqbody_t *body, apr_bucket_brigade *bb,
                       apr_off_t len)
{
    apr_bucket_alloc_t *alloc = bb->bucket_alloc;
    char size[24];
    int n = apr_snprintf(size, sizeof(size), "%" APR_UINT64_T_HEX_FMT "\r\n",
                         (apr_uint64_t)len);

    if (len > 0) {
        APR_BRIGADE_INSERT_HEAD(
            bb, apr_bucket_heap_create(size, (apr_size_t)n, NULL, alloc));
        APR_BRIGADE_INSERT_TAIL(bb,
                                apr_bucket_immortal_create("\r\n", 2, alloc));
    }
    if (body->whole) {
        const char *end = apr_pstrcat(
            body->r->pool, "0\r\n",
            up_trailers_of_request(body->r, body->settings), "\r\n", NULL);

        APR_BRIGADE_INSERT_TAIL(
            bb, apr_bucket_pool_create(end, strlen(end), body->r->pool,
                                       alloc));
    }
}

void up_reqbody_begin(up_reqbody_t *body, apr_bucket *head)
{
    if (body->spool) {
        up_spool_insert(body->spool, body->bytes, 0, body->spool->written,
                        body->r->pool);
    }
    if (body->chunked) {
        wrap_chunk(body, body->bytes, gathered(body));
    }
    if (body->replacement && *body->replacement) {
        APR_BRIGADE_INSERT_TAIL(
            body->bytes,
            apr_bucket_pool_create(body->replacement,
                                   (apr_size_t)body->length, body->r->pool,
                                   body->bytes->bucket_alloc));
    }
    APR_BRIGADE_INSERT_HEAD(body->bytes, head);
    up_reqbody_rewind(body);
}

void up_reqbody_exchange_head(up_reqbody_t *body, apr_bucket *head)
{
    ap_assert(!body->consumed && !body->moving);
    apr_bucket_delete(APR_BRIGADE_FIRST(body->bytes));
    APR_BRIGADE_INSERT_HEAD(body->bytes, head);
    up_reqbody_rewind(body);
}

void up_reqbody_rewind(up_reqbody_t *body)
{
    body->at = APR_BRIGADE_FIRST(body->bytes);
    body->at_sent = 0;
    body->moving = 0;
}

int up_reqbody_replayable(const up_reqbody_t *body)
{
    return !body->consumed;
}

static int at_end(const up_reqbody_t *body)
{
    return body->at == APR_BRIGADE_SENTINEL(body->bytes);
}

int up_reqbody_sent(const up_reqbody_t *body)
{
    return at_end(body) && (body->whole || !body->streamed);
}

void up_reqbody_forget(up_reqbody_t *body)
{
    apr_brigade_cleanup(body->bytes);
    body->at = APR_BRIGADE_SENTINEL(body->bytes);
    body->consumed = 1;
}

int up_reqbody_starved(const up_reqbody_t *body)
{
    return at_end(body) && body->streamed && !body->whole;
}

/* ------------------------------------------------------------------------ */
/* sending */

/* Reads on from the client when all that was read has been sent. What was
 * sent is thrown away: this body cannot be replayed any more. */
static apr_status_t refill(up_reqbody_t *body)
{
    apr_status_t rv;
    apr_off_t len;

    rv = read_once(body, body->fresh, &len);
    if (rv == APR_SUCCESS) {
        if (body->chunked) {
            wrap_chunk(body, body->fresh, len);
        }
        body->consumed = 1;
        apr_brigade_cleanup(body->bytes);
        APR_BRIGADE_CONCAT(body->bytes, body->fresh);
        body->at = APR_BRIGADE_FIRST(body->bytes);
        body->at_sent = 0;
    }
    return rv;
}

/* The cursor moves on by `sent` bytes. */
static void advance(up_reqbody_t *body, apr_size_t sent)
{
    body->moving = 1;
    while (!at_end(body)) {
        apr_size_t left = body->at->length - body->at_sent;

        if (sent < left) {
            body->at_sent += sent;
            return;
        }
        sent -= left;
        body->at = APR_BUCKET_NEXT(body->at);
        body->at_sent = 0;
    }
}

static apr_status_t send_file(up_reqbody_t *body, up_conn_t *conn,
                              apr_size_t *psent)
{
    apr_bucket_file *file = body->at->data;

    return up_conn_sendfile(conn, file->fd,
                            body->at->start + (apr_off_t)body->at_sent,
                            body->at->length - body->at_sent, psent);
}

/* Sends the memory buckets from the cursor to the next file or the end. */
static apr_status_t send_memory(up_reqbody_t *body, up_conn_t *conn,
                                apr_size_t *psent)
{
    struct iovec vec[VECTOR];
    apr_size_t skip = body->at_sent;
    apr_bucket *e;
    int n = 0;

    for (e = body->at; e != APR_BRIGADE_SENTINEL(body->bytes) && n < VECTOR
                       && !APR_BUCKET_IS_FILE(e);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;
        apr_status_t rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);

        if (rv != APR_SUCCESS) {
            return rv;
        }
        vec[n].iov_base = (char *)data + skip;
        vec[n].iov_len = len - skip;
        skip = 0;
        n++;
    }
    return up_conn_send(conn, vec, n, psent);
}

apr_status_t up_reqbody_send(up_reqbody_t *body, up_conn_t *conn,
                             apr_off_t *psent)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && !up_reqbody_sent(body)) {
        apr_size_t sent = 0;

        if (at_end(body)) {
            rv = refill(body);
            continue;
        }
        rv = APR_BUCKET_IS_FILE(body->at) ? send_file(body, conn, &sent)
                                          : send_memory(body, conn, &sent);
        if (rv == APR_SUCCESS) {
            *psent += (apr_off_t)sent;
            advance(body, sent);
        }
    }
    return rv;
}
