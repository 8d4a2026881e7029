/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Owns a tunnel's two directions and how they end; see tunnel.h. */

#include "exchange/tunnel.h"

#include <stdlib.h>
#include <string.h>

#include "apr_strings.h"
#include "config/clock.h"
#include "exchange/request_body.h"
#include "exchange/response_head.h"
#include "exchange/upgrade.h"
#include "exchange/wsframes.h"

#define ROOM 16384 /* most bytes of one read, on the stack */

struct up_tunnel_t {
    request_rec *r;
    const up_settings_t *settings;
    up_leg_t *leg;
    up_client_t *client;
    apr_size_t most;              /* bytes of one read, and so all that a
                                     direction holds */
    apr_time_t idle_by;
    apr_bucket_brigade *bb;       /* empty between calls */

    char *left;                   /* of the client's, not yet sent; malloc'ed,
                                     NULL: nothing is */
    apr_size_t left_from;
    apr_size_t left_len;

    unsigned int client_ended : 1;  /* no more comes from it, */
    unsigned int backend_ended : 1; /* or from the backend */
    unsigned int upward_over : 1;   /* and the other side knows, or cannot be */
    unsigned int downward_over : 1; /* told */
    unsigned int websocket : 1;
    up_wsframes_t upward;         /* what of it is a WebSocket's, each way */
    up_wsframes_t downward;

    apr_off_t from_client;
    apr_off_t to_client;
    int trims;                    /* 0, 1, 2: done */
    const char *why;
};

up_tunnel_t *up_tunnel_make(request_rec *r, const up_settings_t *settings,
                            up_leg_t *leg, up_client_t *client)
{
    up_tunnel_t *tunnel = apr_pcalloc(r->pool, sizeof(*tunnel));

    tunnel->r = r;
    tunnel->settings = settings;
    tunnel->leg = leg;
    tunnel->client = client;
    tunnel->most = (apr_size_t)settings->buffer_size;
    if (tunnel->most > ROOM) {
        tunnel->most = ROOM;
    }
    tunnel->bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    tunnel->why = "by the client";
    return tunnel;
}

static void rearm(up_tunnel_t *tunnel)
{
    const up_settings_t *settings = tunnel->settings;

    tunnel->idle_by = up_clock_now() + (settings->tunnel_timeout
                                            ? settings->tunnel_timeout
                                            : settings->read_timeout);
}

static apr_status_t free_left(void *data)
{
    up_tunnel_t *tunnel = data;

    free(tunnel->left);
    tunnel->left = NULL;
    return APR_SUCCESS;
}

apr_status_t up_tunnel_open(up_tunnel_t *tunnel, const up_head_t *head,
                            const apr_table_t *more)
{
    request_rec *r = tunnel->r;
    apr_table_t *fields = apr_table_make(r->pool, 8);
    const char *upgrade = up_head_get(head, "Upgrade");
    const char *line = apr_psprintf(r->pool, "%d %s", head->status,
                                    head->reason);
    apr_status_t rv;

    if (!upgrade) {
        upgrade = tunnel->leg->upgrade; /* it must not be missing */
    }
    apr_table_setn(fields, "Upgrade", upgrade);
    apr_table_setn(fields, "Connection", "Upgrade");
    up_reshead_hints(r, tunnel->settings, head, fields);
    fields = apr_table_overlay(r->pool, fields, more);
    tunnel->websocket = up_upgrade_lists(upgrade, "websocket");
    rv = up_client_interim(tunnel->client, head->status, line, fields);
    tunnel->client->header_out = 1;
    r->status = head->status;
    r->status_line = line;
    r->sent_bodyct = 1; /* %B counts what follows */
    up_client_switch(tunnel->client);
    apr_pool_cleanup_register(r->pool, tunnel, free_left,
                              apr_pool_cleanup_null);
    rearm(tunnel);
    return rv;
}

/* ------------------------------------------------------------------------ */
/* client -> backend */

/* The backend takes no more. What it has sent is passed on all the same. */
static void backend_is_deaf(up_tunnel_t *tunnel)
{
    free_left(tunnel);
    tunnel->upward_over = 1;
    tunnel->why = "by the backend";
}

/* @return bytes sent; 0: wait, or the way is over */
static apr_size_t send_some(up_tunnel_t *tunnel, const char *data,
                            apr_size_t len, up_want_t *want)
{
    struct iovec vec = { .iov_base = (char *)data, .iov_len = len };
    up_leg_t *leg = tunnel->leg;
    apr_size_t sent = 0;
    apr_status_t rv = up_conn_send(leg->conn, &vec, 1, &sent);

    if (rv == APR_EAGAIN) {
        want->backend |= leg->conn->want;
        return 0;
    }
    if (rv != APR_SUCCESS) {
        backend_is_deaf(tunnel);
        return 0;
    }
    leg->sent += (apr_off_t)sent;
    return sent;
}

/* Bytes that the client has sent. What the backend does not take at once is
 * kept: a copy, for buckets may be much larger than what they hold. */
static void send_bytes(up_tunnel_t *tunnel, const char *data, apr_size_t len,
                       up_want_t *want)
{
    apr_size_t sent;

    tunnel->from_client += (apr_off_t)len;
    if (tunnel->websocket) {
        up_wsframes_feed(&tunnel->upward, data, len);
    }
    sent = send_some(tunnel, data, len, want);
    if (sent < len && !tunnel->upward_over) {
        tunnel->left_from = 0;
        tunnel->left_len = len - sent;
        tunnel->left = malloc(tunnel->left_len);
        ap_assert(tunnel->left);
        memcpy(tunnel->left, data + sent, tunnel->left_len);
    }
}

static void send_left(up_tunnel_t *tunnel, up_want_t *want, int *pmoved)
{
    apr_size_t sent = send_some(tunnel, tunnel->left + tunnel->left_from,
                                tunnel->left_len - tunnel->left_from, want);

    if (sent) {
        *pmoved = 1;
        tunnel->left_from += sent;
    }
    if (tunnel->left && tunnel->left_from == tunnel->left_len) {
        free_left(tunnel);
    }
}

/* Does a bucket end the client's stream? Not the one that ends its request,
 * in front of all bytes. */
static int ends_stream(up_tunnel_t *tunnel)
{
    apr_bucket *e;
    int ends = 0;

    for (e = APR_BRIGADE_FIRST(tunnel->bb);
         e != APR_BRIGADE_SENTINEL(tunnel->bb); e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e)) {
            ends |= !tunnel->client->skip_eos;
        }
        if (APR_BUCKET_IS_EOS(e) || e->length) {
            tunnel->client->skip_eos = 0;
        }
    }
    return ends;
}

static void take_bytes(up_tunnel_t *tunnel, up_want_t *want)
{
    char data[ROOM];
    apr_size_t len = sizeof(data);
    int ends = ends_stream(tunnel);

    if (apr_brigade_flatten(tunnel->bb, data, &len) != APR_SUCCESS) {
        len = 0;
        ends = 1;
    }
    if (len) {
        send_bytes(tunnel, data, len, want);
    }
    tunnel->client_ended |= ends;
}

/* One read of the client. */
static void read_client(up_tunnel_t *tunnel, up_want_t *want, int *pmoved)
{
    apr_status_t rv = up_client_read(tunnel->client, tunnel->bb,
                                     (apr_off_t)tunnel->most);

    if (rv == APR_EAGAIN) {
        want->client |= APR_POLLIN;
    }
    else if (rv == APR_SUCCESS) {
        *pmoved = 1;
        take_bytes(tunnel, want);
    }
    else {
        tunnel->client_ended = 1;
    }
    apr_brigade_cleanup(tunnel->bb);
}

static void move_upward(up_tunnel_t *tunnel, up_want_t *want, int *pmoved)
{
    if (tunnel->upward_over) {
        return;
    }
    if (tunnel->left) {
        send_left(tunnel, want, pmoved);
    }
    else if (!tunnel->client_ended) {
        read_client(tunnel, want, pmoved);
    }
    if (tunnel->client_ended && !tunnel->left && !tunnel->upward_over) {
        up_conn_shut(tunnel->leg->conn);
        tunnel->upward_over = 1;
    }
}

/* ------------------------------------------------------------------------ */
/* backend -> client */

/* Nobody listens any more; what the client has sent before is delivered. */
static void client_is_gone(up_tunnel_t *tunnel)
{
    tunnel->downward_over = 1;
    tunnel->client->half_closed = 1;
}

/* Everything has been passed on. */
static void end_downward(up_tunnel_t *tunnel)
{
    tunnel->downward_over = 1;
    if (!tunnel->upward_over) {
        tunnel->why = "by the backend";
        tunnel->upward_over = !up_client_shut(tunnel->client);
    }
}

static void pass_bytes(up_tunnel_t *tunnel, const char *data, apr_size_t len)
{
    apr_bucket_alloc_t *alloc = tunnel->bb->bucket_alloc;
    char *copy = malloc(len); /* no more than there is, as long as it waits */

    ap_assert(copy);
    memcpy(copy, data, len);
    APR_BRIGADE_INSERT_TAIL(tunnel->bb,
                            apr_bucket_heap_create(copy, len, free, alloc));
    APR_BRIGADE_INSERT_TAIL(tunnel->bb, apr_bucket_flush_create(alloc));
    if (tunnel->websocket) {
        up_wsframes_feed(&tunnel->downward, data, len);
    }
    tunnel->to_client += (apr_off_t)len;
    tunnel->r->bytes_sent += (apr_off_t)len;
    if (up_client_pass(tunnel->client, tunnel->bb) != APR_SUCCESS) {
        client_is_gone(tunnel);
    }
}

static void read_backend(up_tunnel_t *tunnel, up_want_t *want, int *pmoved)
{
    up_leg_t *leg = tunnel->leg;
    char data[ROOM];
    apr_size_t len = tunnel->most;
    apr_status_t rv = leg->wire->read_raw(leg, data, &len);

    if (rv == APR_SUCCESS) {
        *pmoved = 1;
        pass_bytes(tunnel, data, len);
    }
    else if (rv == APR_EAGAIN) {
        want->backend |= leg->conn->want;
    }
    else {
        tunnel->backend_ended = 1;
        if (rv != APR_EOF) {
            backend_is_deaf(tunnel); /* it is gone both ways */
        }
    }
}

static void move_downward(up_tunnel_t *tunnel, up_want_t *want, int *pmoved)
{
    apr_off_t before = up_client_pending(tunnel->client);
    apr_status_t rv;

    if (tunnel->downward_over) {
        return;
    }
    rv = up_client_write(tunnel->client);
    if (rv == APR_EAGAIN) {
        want->client |= APR_POLLOUT;
        if (up_client_pending(tunnel->client) < before) {
            rearm(tunnel);
        }
        return;
    }
    if (rv != APR_SUCCESS) {
        client_is_gone(tunnel);
        return;
    }
    if (!tunnel->backend_ended) {
        read_backend(tunnel, want, pmoved);
    }
    if (tunnel->backend_ended && !up_client_pending(tunnel->client)) {
        end_downward(tunnel);
    }
}

/* ------------------------------------------------------------------------ */

/* Thousands may wait: what both heads and the first read have left goes. Later
 * reads leave nothing (source.h), and a system call a frame would be felt. */
static void trim(up_tunnel_t *tunnel)
{
    if (!tunnel->trims) {
        up_reqbody_forget(tunnel->leg->body);
    }
    else if (tunnel->trims > 1 || !tunnel->from_client) {
        return;
    }
    up_client_trim(tunnel->client, 4);
    tunnel->trims += tunnel->from_client ? 2 : 1;
}

apr_status_t up_tunnel_step(up_tunnel_t *tunnel, int half, up_want_t *want)
{
    up_want_t now;
    int any = 0;
    int moved;

    if (!half && !tunnel->client->raw) {
        up_client_switch_input(tunnel->client);
    }
    do {
        moved = 0;
        memset(&now, 0, sizeof(now));
        if (!half) {
            move_upward(tunnel, &now, &moved);
        }
        move_downward(tunnel, &now, &moved);
        any |= moved;
        if (tunnel->upward_over && tunnel->downward_over) {
            return APR_SUCCESS;
        }
    } while (moved);
    if (any) {
        rearm(tunnel);
    }
    if (!half) {
        trim(tunnel);
    }
    want->backend |= now.backend;
    want->client |= now.client;
    want->until = tunnel->idle_by;
    return APR_EAGAIN;
}

void up_tunnel_client_end(up_tunnel_t *tunnel, int hangup)
{
    tunnel->client->half_closed = 1;
    if (hangup && !tunnel->downward_over) {
        client_is_gone(tunnel);
    }
    if (hangup) {
        tunnel->client->fd = -1; /* poll would report it for ever */
    }
}

int up_tunnel_idle(const up_tunnel_t *tunnel, apr_time_t now)
{
    return now >= tunnel->idle_by;
}

static void close_upward(up_tunnel_t *tunnel)
{
    unsigned char mask[4];
    char frame[UP_WSFRAMES_FAREWELL];
    struct iovec vec = { .iov_base = frame };
    apr_size_t sent;

    if (!tunnel->upward_over && !tunnel->left
        && up_wsframes_between(&tunnel->upward)) {
        ap_random_insecure_bytes(mask, sizeof(mask));
        vec.iov_len = up_wsframes_farewell(frame, mask);
        if (up_conn_send(tunnel->leg->conn, &vec, 1, &sent) == APR_SUCCESS) {
            tunnel->leg->sent += (apr_off_t)sent;
        }
    }
}

static void close_downward(up_tunnel_t *tunnel)
{
    char frame[UP_WSFRAMES_FAREWELL];
    apr_size_t len = up_wsframes_farewell(frame, NULL);

    if (!tunnel->downward_over && !tunnel->backend_ended
        && up_wsframes_between(&tunnel->downward)) {
        pass_bytes(tunnel, frame, len);
    }
}

void up_tunnel_farewell(up_tunnel_t *tunnel)
{
    if (tunnel->websocket) {
        close_downward(tunnel);
        close_upward(tunnel);
    }
}

const char *up_tunnel_why(const up_tunnel_t *tunnel)
{
    return tunnel->why;
}

apr_off_t up_tunnel_from_client(const up_tunnel_t *tunnel)
{
    return tunnel->from_client;
}

apr_off_t up_tunnel_to_client(const up_tunnel_t *tunnel)
{
    return tunnel->to_client;
}
