/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The client's side of the pipe: the file, which is older, then the queue. */

#include "config/clock.h"
#include "exchange/pipe_parts.h"

/* Buckets over the file that the client may not have taken yet. */
#define MOST_HANDLES 256

apr_status_t up_pipe_client_failed(up_pipe_t *pipe, apr_status_t rv)
{
    pipe->error = "cannot write to the client";
    if (up_pipe_storing(pipe)) {
        pipe->deaf = 1;
        pipe->write_by = 0;
        return APR_SUCCESS;
    }
    pipe->end = UP_PIPE_CLIENT;
    return rv;
}

apr_status_t up_pipe_write_client(up_pipe_t *pipe)
{
    apr_off_t before = up_client_pending(pipe->client);
    apr_status_t rv = up_client_write(pipe->client);

    if (up_client_pending(pipe->client) < before) {
        pipe->write_by = 0;
    }
    return rv;
}

apr_off_t up_pipe_in_file(const up_pipe_t *pipe)
{
    return pipe->spool ? pipe->spool->written - pipe->file_passed : 0;
}

void up_pipe_add_flush(up_pipe_t *pipe)
{
    APR_BRIGADE_INSERT_TAIL(
        pipe->out, apr_bucket_flush_create(pipe->out->bucket_alloc));
}

apr_status_t up_pipe_pass(up_pipe_t *pipe)
{
    apr_status_t rv = up_client_pass(pipe->client, pipe->out);

    return rv == APR_SUCCESS ? rv : up_pipe_client_failed(pipe, rv);
}

/* What may be passed on now without the client's pending bytes growing
 * beyond UpstreamBusyBuffersSize. */
static apr_off_t budget(const up_pipe_t *pipe)
{
    return pipe->settings->busy_buffers_size
           - up_client_pending(pipe->client);
}

/* May another bucket over the file be made? What the client has taken needs
 * its handle no longer; a long response must not pile them up. */
static int has_handle(up_pipe_t *pipe)
{
    if (up_client_pending(pipe->client) == 0) {
        apr_pool_clear(pipe->handles);
        pipe->nhandles = 0;
    }
    return pipe->nhandles < MOST_HANDLES;
}

/* File bytes into `out`: all of them where the core sends them itself,
 * otherwise as many as the filters in between should hold at once; and no
 * more than the client's rate allows. */
static void take_file(up_pipe_t *pipe, apr_off_t room, apr_off_t paced)
{
    apr_off_t len = up_pipe_in_file(pipe);

    if (!up_client_pass_through(pipe->client) && len > room) {
        len = room;
    }
    len = len < paced ? len : paced;
    up_pace_moved(&pipe->write_pace, len);
    up_spool_insert(pipe->spool, pipe->out, pipe->file_passed, len,
                    pipe->handles);
    pipe->nhandles++;
    pipe->file_passed += len;
}

/* A part of the oldest buffer into `out`; the rest of it stays one. */
static void take_part(up_pipe_t *pipe, apr_off_t len)
{
    apr_bucket *e = APR_BRIGADE_FIRST(pipe->queue);

    apr_bucket_split(e, (apr_size_t)len);
    pipe->queue_bytes -= len;
    APR_BUCKET_REMOVE(e);
    APR_BRIGADE_INSERT_TAIL(pipe->out, e);
    up_pace_moved(&pipe->write_pace, len);
}

/* Full buffers into `out`, at least one, unless the client's rate forbids. */
static void take_queue(up_pipe_t *pipe, apr_off_t room, apr_off_t paced)
{
    if ((apr_off_t)APR_BRIGADE_FIRST(pipe->queue)->length > paced) {
        take_part(pipe, paced);
        return;
    }
    room = room < paced ? room : paced;
    do {
        apr_bucket *e = APR_BRIGADE_FIRST(pipe->queue);

        room -= (apr_off_t)e->length;
        pipe->queue_bytes -= (apr_off_t)e->length;
        pipe->queued--;
        up_pace_moved(&pipe->write_pace, (apr_off_t)e->length);
        APR_BUCKET_REMOVE(e);
        APR_BRIGADE_INSERT_TAIL(pipe->out, e);
    } while (pipe->queued
             && (apr_off_t)APR_BRIGADE_FIRST(pipe->queue)->length <= room);
}

void up_pipe_add_eos(up_pipe_t *pipe)
{
    APR_BRIGADE_INSERT_TAIL(
        pipe->out, apr_bucket_eos_create(pipe->out->bucket_alloc));
    pipe->ended_out = 1;
}

int up_pipe_drained(const up_pipe_t *pipe)
{
    return !pipe->queued && up_pipe_in_file(pipe) == 0;
}

/* All that is left is a file that the core sends by itself: it is handed
 * over at once, and nobody waits for the client here. */
static int only_file_left(const up_pipe_t *pipe)
{
    return pipe->end == UP_PIPE_COMPLETE && !pipe->queued
           && !up_pace_limits(&pipe->write_pace)
           && up_client_pass_through(pipe->client);
}

/* Nobody is there for what has been stored. */
static apr_status_t forget(up_pipe_t *pipe)
{
    pipe->file_passed = pipe->spool->written;
    return APR_SUCCESS;
}

apr_status_t up_pipe_drain(up_pipe_t *pipe, int *pmoved)
{
    apr_status_t rv = pipe->deaf ? APR_SUCCESS : up_pipe_write_client(pipe);

    if (pipe->deaf) {
        return forget(pipe);
    }
    if (rv != APR_SUCCESS && rv != APR_EAGAIN) {
        return up_pipe_client_failed(pipe, rv);
    }
    while (!up_pipe_drained(pipe)) {
        apr_off_t room = budget(pipe);
        apr_off_t paced = up_pace_room(&pipe->write_pace, up_clock_now());

        if (paced == 0 || (room <= 0 && !only_file_left(pipe))
            || (up_pipe_in_file(pipe) > 0 && !has_handle(pipe))) {
            return APR_SUCCESS;
        }
        if (up_pipe_in_file(pipe) > 0) {
            take_file(pipe, room, paced);
        }
        else {
            take_queue(pipe, room, paced);
        }
        if (up_pipe_drained(pipe) && pipe->end == UP_PIPE_COMPLETE) {
            up_pipe_add_eos(pipe);
        }
        else {
            up_pipe_add_flush(pipe);
        }
        *pmoved = 1;
        rv = up_pipe_pass(pipe);
        if (rv != APR_SUCCESS || pipe->deaf) {
            return rv;
        }
    }
    return APR_SUCCESS;
}
