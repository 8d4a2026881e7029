/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* HTTP/1 towards a backend. */

#include "exchange/wire.h"

#include <string.h>

#include "exchange/upgrade.h"

void up_leg_begin(up_leg_t *leg, up_conn_t *conn)
{
    leg->conn = conn;
    leg->interim = 0;
    leg->rest_used = 0;
    leg->sent = 0;
    leg->received = 0;
    leg->body_received = 0;
    leg->broken = 0;
    leg->surplus = 0;
    leg->error = NULL;
    leg->trailers = NULL;
    up_parser_reset(leg->parser);
    up_reqbody_rewind(leg->body);
}

static apr_status_t h1_write(up_leg_t *leg)
{
    return up_reqbody_send(leg->body, leg->conn, &leg->sent);
}

static int is_interim(const up_head_t *head)
{
    return head->status < 200 && head->status != 101;
}

/* A 101: only to a protocol that was offered (RFC 9110 7.8, 15.2.2). */
static apr_status_t switching(up_leg_t *leg, const up_head_t *head)
{
    if (!leg->upgrade) {
        leg->error = "101 without having been asked to switch protocols";
    }
    else if (head->major != 1 || head->minor < 1) {
        leg->error = "101 in HTTP/1.0";
    }
    else if (!up_upgrade_offered(leg->upgrade, up_head_get(head, "Upgrade"))) {
        leg->error = "101 for a protocol that it was not offered "
                     "(UpstreamUpgrade)";
    }
    else {
        leg->framing.kind = UP_FRAMING_NONE;
        leg->framing.close = 1;
        return APR_SUCCESS;
    }
    return APR_EINVAL;
}

/* The final head is there: what follows it? */
static apr_status_t settle(up_leg_t *leg, const up_head_t *head)
{
    if (head->status == 101) {
        return switching(leg, head);
    }
    leg->error = leg->lenient
                     ? up_head_framing_lenient(head, leg->head_request,
                                               &leg->framing)
                     : up_head_framing(head, leg->head_request,
                                       &leg->framing);
    if (leg->error) {
        return APR_EINVAL;
    }
    up_decoder_init(&leg->decoder, &leg->framing, leg->max_trailer);
    up_decoder_keep(&leg->decoder, leg->trailer_pool);
    return APR_SUCCESS;
}

/* What the parser says of what was received; passes over interim heads. */
static apr_status_t parse(up_leg_t *leg, apr_status_t rv)
{
    while (rv == APR_SUCCESS) {
        const up_head_t *head = up_parser_head(leg->parser);

        if (!is_interim(head)) {
            return settle(leg, head);
        }
        leg->interim += head->size;
        if (leg->interim > leg->max_head) {
            leg->error = "too many interim responses";
            return APR_ENOSPC;
        }
        if (leg->on_interim) {
            leg->on_interim(leg->interim_baton, head);
        }
        up_parser_next(leg->parser);
        rv = up_parser_added(leg->parser, 0);
    }
    if (rv != APR_INCOMPLETE) {
        leg->error = up_parser_error(leg->parser);
    }
    return rv;
}

/* The first bytes come by way of the stack: thousands of legs may wait for
 * them, and most responses are smaller than a buffer. */
static apr_status_t read_first(up_leg_t *leg)
{
    char bytes[16384];
    apr_size_t len = up_parser_first(leg->parser);
    apr_status_t rv;

    len = len < sizeof(bytes) ? len : sizeof(bytes);
    rv = up_conn_recv(leg->conn, bytes, &len);
    if (rv == APR_SUCCESS) {
        leg->received += (apr_off_t)len;
        rv = parse(leg, up_parser_put(leg->parser, bytes, len));
    }
    return rv;
}

static apr_status_t read_more(up_leg_t *leg)
{
    char *buf;
    apr_size_t len;
    apr_status_t rv;

    up_parser_space(leg->parser, &buf, &len);
    rv = up_conn_recv(leg->conn, buf, &len);
    if (rv == APR_SUCCESS) {
        leg->received += (apr_off_t)len;
        rv = parse(leg, up_parser_added(leg->parser, len));
    }
    return rv;
}

static apr_status_t h1_read_head(up_leg_t *leg)
{
    apr_status_t rv;

    do {
        rv = up_parser_started(leg->parser) ? read_more(leg)
                                            : read_first(leg);
    } while (rv == APR_INCOMPLETE);
    return rv;
}

/* Body bytes that came with the head and have not been read yet. */
static apr_size_t rest_of(const up_leg_t *leg, const char **prest)
{
    char *rest;
    apr_size_t n;

    up_parser_rest(leg->parser, &rest, &n);
    *prest = rest + leg->rest_used;
    return n - leg->rest_used;
}

/* Raw bytes: first what came with the head, then from the socket. */
static apr_status_t raw(up_leg_t *leg, char *buf, apr_size_t *plen)
{
    const char *rest;
    apr_size_t n = rest_of(leg, &rest);
    apr_status_t rv;

    if (n) {
        n = n < *plen ? n : *plen;
        memcpy(buf, rest, n);
        leg->rest_used += n;
        *plen = n;
        return APR_SUCCESS;
    }
    rv = up_conn_recv(leg->conn, buf, plen);
    if (rv == APR_SUCCESS) {
        leg->received += (apr_off_t)*plen;
    }
    else {
        *plen = 0;
    }
    return rv;
}

/* The body is finished: what stands behind it? */
static apr_status_t read_trailers(up_leg_t *leg)
{
    const up_decoder_t *decoder = &leg->decoder;

    if (decoder->kept) {
        leg->trailers = up_parser_trailers(leg->trailer_pool, decoder->kept,
                                           decoder->trailer, &leg->error);
        if (!leg->trailers) {
            return APR_EINVAL;
        }
    }
    return APR_EOF;
}

/* The body is finished: did more arrive than it should have? */
static apr_status_t finished(up_leg_t *leg)
{
    const char *rest;

    if (rest_of(leg, &rest)) {
        leg->surplus = 1;
    }
    return APR_EOF;
}

static apr_status_t h1_read_body(up_leg_t *leg, char *buf, apr_size_t *plen)
{
    apr_size_t len = *plen;
    apr_size_t used;
    apr_status_t rv;

    *plen = 0;
    if (up_decoder_finished(&leg->decoder)) {
        return finished(leg);
    }
    rv = raw(leg, buf, &len);
    if (rv == APR_EOF) {
        leg->broken = 1;
        if (leg->framing.kind == UP_FRAMING_CLOSE
            && up_conn_truncated(leg->conn)) {
            leg->error = "closed its TLS connection without close_notify, "
                         "so that its response may have been cut";
            return APR_INCOMPLETE;
        }
        return up_decoder_closed(&leg->decoder);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    leg->body_received += (apr_off_t)len;
    rv = up_decoder_feed(&leg->decoder, buf, len, plen, &used);
    if (rv == APR_EINVAL) {
        leg->error = leg->decoder.error;
    }
    if (rv == APR_EOF) {
        leg->surplus = used < len;
        rv = read_trailers(leg);
    }
    return rv == APR_EOF ? finished(leg) : rv;
}

/* Both messages are whole, nothing came behind the response, and neither side
 * closes; the pool adds its own limits. */
static int h1_reusable(const up_leg_t *leg)
{
    return !leg->broken && !leg->surplus && !leg->error
           && !leg->framing.close && leg->framing.kind != UP_FRAMING_CLOSE
           && up_decoder_finished(&leg->decoder)
           && up_reqbody_sent(leg->body);
}

const up_wire_t up_wire_h1 = {
    .name = "HTTP/1",
    .write = h1_write,
    .read_head = h1_read_head,
    .read_body = h1_read_body,
    .read_raw = raw,
    .reusable = h1_reusable,
};
