/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The response body's way to the client; its parts are in pipe_parts.h. */

#include "config/clock.h"
#include "exchange/pipe_parts.h"

#include <stdlib.h>

static apr_status_t free_buffer(void *data)
{
    up_pipe_t *pipe = data;

    free(pipe->buf);
    pipe->buf = NULL;
    return APR_SUCCESS;
}

up_pipe_t *up_pipe_make(request_rec *r, const up_settings_t *settings,
                        up_leg_t *leg, up_client_t *client, int buffering)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    up_pipe_t *pipe = apr_pcalloc(r->pool, sizeof(*pipe));

    pipe->r = r;
    pipe->settings = settings;
    pipe->leg = leg;
    pipe->client = client;
    pipe->buffering = buffering;
    pipe->buf_size = (apr_size_t)(buffering ? settings->buffers_size
                                            : settings->buffer_size);
    pipe->need = up_decoder_need(&leg->decoder);
    pipe->queue = apr_brigade_create(r->pool, alloc);
    pipe->out = apr_brigade_create(r->pool, alloc);
    apr_pool_cleanup_register(r->pool, pipe, free_buffer,
                              apr_pool_cleanup_null);
    return pipe;
}

void up_pipe_on_complete(up_pipe_t *pipe, void (*complete)(void *baton),
                         void *baton)
{
    pipe->complete = complete;
    pipe->complete_baton = baton;
}

void up_pipe_limit_rate(up_pipe_t *pipe, apr_off_t rate)
{
    up_pace_begin(&pipe->read_pace, pipe->buffering ? rate : 0,
                  up_clock_now());
}

void up_pipe_window(up_pipe_t *pipe, const up_range_t *range)
{
    pipe->windowed = 1;
    pipe->skip = range->first;
    pipe->left = range->length;
}

void up_pipe_store(up_pipe_t *pipe, up_store_t *store)
{
    pipe->store = store;
    pipe->spool = up_store_spool(store);
    apr_pool_create(&pipe->handles, pipe->r->pool);
    apr_pool_tag(pipe->handles, "upstream_pipe_handles");
}

int up_pipe_storing(const up_pipe_t *pipe)
{
    return pipe->store && pipe->end == UP_PIPE_OPEN;
}

void up_pipe_head_first(up_pipe_t *pipe)
{
    pipe->head_first = 1;
}

void up_pipe_limit_client(up_pipe_t *pipe, apr_off_t rate)
{
    up_pace_begin(&pipe->write_pace, rate, up_clock_now());
}

up_pipe_end_e up_pipe_end(const up_pipe_t *pipe)
{
    return pipe->end;
}

const char *up_pipe_error(const up_pipe_t *pipe)
{
    return pipe->error;
}

static void settle(up_pipe_t *pipe, up_want_t *want)
{
    apr_off_t pending = up_client_pending(pipe->client);
    apr_time_t now = up_clock_now();

    if (pipe->end == UP_PIPE_OPEN && up_pace_until(&pipe->read_pace)) {
        /* A pause is no silence of the backend's: its time begins anew. */
        pipe->read_by = 0;
        up_want_until(want, up_pace_until(&pipe->read_pace));
    }
    else if (pipe->end == UP_PIPE_OPEN && up_pipe_has_room(pipe)) {
        want->backend |= pipe->leg->conn->want;
        if (!pipe->read_by) {
            pipe->read_by = now + pipe->settings->read_timeout;
        }
        up_want_until(want, pipe->read_by);
    }
    else {
        pipe->read_by = 0;
    }
    if (pending && !pipe->deaf) {
        want->client |= APR_POLLOUT;
        if (!pipe->write_by) {
            pipe->write_by = now + pipe->r->server->timeout;
        }
        up_want_until(want, pipe->write_by);
    }
    else {
        pipe->write_by = 0;
    }
    if (!up_pipe_drained(pipe) && up_pace_until(&pipe->write_pace)) {
        up_want_until(want, up_pace_until(&pipe->write_pace));
    }
}

/*
 * A complete response whose rest the core can send without us: what is in
 * memory would block it, so it joins what is in the file.
 */
static apr_status_t hand_over_tail(up_pipe_t *pipe)
{
    if (pipe->end == UP_PIPE_COMPLETE && pipe->spool && pipe->queued
        && up_client_pass_through(pipe->client) && up_pipe_may_spill(pipe)) {
        return up_pipe_spill(pipe, pipe->queue_bytes);
    }
    return APR_SUCCESS;
}

/* The end, when everything before it has been passed. */
static apr_status_t finish(up_pipe_t *pipe)
{
    if (pipe->deaf) {
        if (pipe->end == UP_PIPE_CUT) {
            return pipe->rv ? pipe->rv : APR_INCOMPLETE;
        }
        pipe->end = UP_PIPE_CLIENT;
        return APR_ECONNABORTED;
    }
    if (pipe->end == UP_PIPE_CUT) {
        apr_status_t rv = up_client_cut(pipe->client, pipe->out);

        pipe->ended_out = 1;
        return rv != APR_SUCCESS ? up_pipe_client_failed(pipe, rv)
               : pipe->rv ? pipe->rv : APR_INCOMPLETE;
    }
    up_pipe_add_eos(pipe);
    return up_pipe_pass(pipe);
}

/* Unbuffered responses show their head at once, body or not. */
static int is_bare(const up_pipe_t *pipe)
{
    return !pipe->buffering && pipe->end == UP_PIPE_OPEN
           && up_pipe_drained(pipe);
}

static apr_status_t show_head(up_pipe_t *pipe, int now)
{
    if (!now || pipe->client->header_out) {
        return APR_SUCCESS;
    }
    up_pipe_add_flush(pipe);
    return up_pipe_pass(pipe);
}

apr_status_t up_pipe_step(up_pipe_t *pipe, up_want_t *want)
{
    apr_status_t rv = show_head(pipe, pipe->head_first);
    int moved;

    if (rv != APR_SUCCESS) {
        return rv;
    }
    do {
        apr_off_t pending = up_client_pending(pipe->client);

        moved = 0;
        rv = up_pipe_fill(pipe, &moved);
        if (rv == APR_SUCCESS) {
            rv = hand_over_tail(pipe);
        }
        if (rv == APR_SUCCESS) {
            rv = up_pipe_drain(pipe, &moved);
        }
        /* Room at the client may be room to read: the backend's socket has
         * signalled what it has, and does not do so again. */
        moved |= up_client_pending(pipe->client) < pending;
    } while (rv == APR_SUCCESS && moved && !pipe->ended_out);
    if (rv == APR_SUCCESS) {
        rv = show_head(pipe, is_bare(pipe));
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (pipe->ended_out) {
        return APR_SUCCESS;
    }
    if (pipe->end != UP_PIPE_OPEN && up_pipe_drained(pipe)) {
        return finish(pipe);
    }
    settle(pipe, want);
    return APR_EAGAIN;
}

void up_pipe_cut(up_pipe_t *pipe, apr_status_t rv, const char *error)
{
    pipe->end = UP_PIPE_CUT;
    pipe->rv = rv;
    pipe->error = error;
    pipe->read_by = 0;
    up_pipe_enqueue(pipe);
    if (pipe->store) {
        up_store_abandon(pipe->store);
    }
}

apr_status_t up_pipe_expire(up_pipe_t *pipe, apr_time_t now)
{
    if (pipe->write_by && now >= pipe->write_by) {
        pipe->r->connection->aborted |= up_pipe_storing(pipe);
        up_pipe_client_failed(pipe, APR_TIMEUP);
        pipe->error = "client timed out (Timeout)";
        return pipe->deaf ? APR_EAGAIN : APR_TIMEUP;
    }
    if (pipe->end == UP_PIPE_OPEN && pipe->read_by && now >= pipe->read_by) {
        up_pipe_cut(pipe, APR_TIMEUP, "timed out (UpstreamReadTimeout)");
    }
    return APR_EAGAIN;
}
