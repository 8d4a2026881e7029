/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The response body's way to the client.
 *
 *   fill    wire -> buffer, full buffers -> queue
 *   spill   queue -> file
 *   drain   file, then queue -> client
 *   settle  what to wait for
 *
 * A buffer in the queue is a heap bucket and leaves memory when the client's
 * socket has taken it.
 */

#include "backend_pipe.h"

#include <stdlib.h>

#include "apr_strings.h"
#include "config/log.h"
#include "http_core.h"
#include "http_protocol.h"
#include "transport/spool.h"

/* Buckets over the file that the client may not have taken yet. */
#define MOST_HANDLES 256

struct up_pipe_t {
    request_rec *r;
    const up_settings_t *settings;
    up_leg_t *leg;
    up_client_t *client;
    int buffering;

    char *buf;           /* being filled, malloc'ed, or NULL */
    apr_size_t buf_size;
    apr_size_t buf_used;
    apr_off_t need;      /* raw bytes that make a part worth passing on */
    apr_off_t raw_since; /* leg->body_received at the last hand-over */

    apr_bucket_brigade *queue; /* full buffers, oldest first */
    int queued;                /* how many */
    apr_off_t queue_bytes;
    apr_bucket_brigade *out;   /* empty between calls */

    up_spool_t *spool;
    apr_off_t file_passed; /* bytes of it the client's filters have */
    apr_pool_t *handles;   /* of the buckets over it */
    int nhandles;          /* made since the pool was cleared */

    up_pipe_end_e end;
    void (*complete)(void *baton); /* up_pipe_on_complete, may be NULL */
    void *complete_baton;
    apr_status_t rv;     /* with end CUT: why */
    const char *error;
    int ended_out;       /* EOS, or the mark of a cut, has been passed */
    apr_time_t read_by;  /* backend's deadline, 0: not reading */
    apr_time_t write_by; /* client's deadline, 0: nothing pending */
};

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

up_pipe_end_e up_pipe_end(const up_pipe_t *pipe)
{
    return pipe->end;
}

const char *up_pipe_error(const up_pipe_t *pipe)
{
    return pipe->error;
}

static apr_status_t client_failed(up_pipe_t *pipe, apr_status_t rv)
{
    pipe->end = UP_PIPE_CLIENT;
    pipe->error = "cannot write to the client";
    return rv;
}

/* Writes what the client takes. Whatever it takes gives it its full time
 * again; that more is passed to it does not. */
static apr_status_t write_client(up_pipe_t *pipe)
{
    apr_off_t before = up_client_pending(pipe->client);
    apr_status_t rv = up_client_write(pipe->client);

    if (up_client_pending(pipe->client) < before) {
        pipe->write_by = 0;
    }
    return rv;
}

/* ------------------------------------------------------------------------ */
/* spill */

static apr_status_t file_failed(up_pipe_t *pipe, apr_status_t rv)
{
    pipe->end = UP_PIPE_FILE;
    pipe->error = apr_psprintf(pipe->r->pool, "cannot buffer the response in "
                               "a temporary file below %s (UpstreamTempPath)",
                               pipe->settings->temp_path);
    return rv;
}

static apr_status_t open_file(up_pipe_t *pipe)
{
    apr_status_t rv;

    if (pipe->spool) {
        return APR_SUCCESS;
    }
    rv = up_spool_begin(pipe->r, pipe->settings, APLOG_WARNING,
                        "an upstream response", &pipe->spool);
    if (rv != APR_SUCCESS) {
        return file_failed(pipe, rv);
    }
    apr_pool_create(&pipe->handles, pipe->r->pool);
    apr_pool_tag(pipe->handles, "upstream_pipe_handles");
    return APR_SUCCESS;
}

/* May the oldest buffer go to the file? The limit is on all bytes ever
 * written, as nginx has it. */
static int may_spill(const up_pipe_t *pipe)
{
    apr_off_t written = pipe->spool ? pipe->spool->written : 0;

    return pipe->queued > 0
           && written + (apr_off_t)APR_BRIGADE_FIRST(pipe->queue)->length
                  <= pipe->settings->max_temp_file_size;
}

/* Writes whole buffers from the head of the queue, up to `most` bytes. */
static apr_status_t spill(up_pipe_t *pipe, apr_off_t most)
{
    apr_off_t done = 0;
    apr_status_t rv = open_file(pipe);

    while (rv == APR_SUCCESS && may_spill(pipe)) {
        apr_bucket *e = APR_BRIGADE_FIRST(pipe->queue);
        const char *data;
        apr_size_t len;

        if (done && done + (apr_off_t)e->length > most) {
            break;
        }
        rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
        if (rv == APR_SUCCESS) {
            rv = up_spool_write(pipe->spool, data, len);
        }
        if (rv != APR_SUCCESS) {
            return file_failed(pipe, rv);
        }
        done += (apr_off_t)len;
        pipe->queue_bytes -= (apr_off_t)len;
        pipe->queued--;
        apr_bucket_delete(e);
    }
    return rv;
}

static apr_off_t in_file(const up_pipe_t *pipe)
{
    return pipe->spool ? pipe->spool->written - pipe->file_passed : 0;
}

/* ------------------------------------------------------------------------ */
/* drain */

static void add_flush(up_pipe_t *pipe)
{
    APR_BRIGADE_INSERT_TAIL(
        pipe->out, apr_bucket_flush_create(pipe->out->bucket_alloc));
}

static apr_status_t pass(up_pipe_t *pipe)
{
    apr_status_t rv = up_client_pass(pipe->client, pipe->out);

    return rv == APR_SUCCESS ? rv : client_failed(pipe, rv);
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
 * otherwise as many as the filters in between should hold at once. */
static void take_file(up_pipe_t *pipe, apr_off_t room)
{
    apr_off_t len = in_file(pipe);

    if (!up_client_pass_through(pipe->client) && len > room) {
        len = room;
    }
    up_spool_insert(pipe->spool, pipe->out, pipe->file_passed, len,
                    pipe->handles);
    pipe->nhandles++;
    pipe->file_passed += len;
}

/* Full buffers into `out`, at least one. */
static void take_queue(up_pipe_t *pipe, apr_off_t room)
{
    do {
        apr_bucket *e = APR_BRIGADE_FIRST(pipe->queue);

        room -= (apr_off_t)e->length;
        pipe->queue_bytes -= (apr_off_t)e->length;
        pipe->queued--;
        APR_BUCKET_REMOVE(e);
        APR_BRIGADE_INSERT_TAIL(pipe->out, e);
    } while (pipe->queued
             && (apr_off_t)APR_BRIGADE_FIRST(pipe->queue)->length <= room);
}

static void add_eos(up_pipe_t *pipe)
{
    APR_BRIGADE_INSERT_TAIL(
        pipe->out, apr_bucket_eos_create(pipe->out->bucket_alloc));
    pipe->ended_out = 1;
}

static int drained(const up_pipe_t *pipe)
{
    return !pipe->queued && in_file(pipe) == 0;
}

/* All that is left is a file that the core sends by itself: it is handed
 * over at once, and nobody waits for the client here. */
static int only_file_left(const up_pipe_t *pipe)
{
    return pipe->end == UP_PIPE_COMPLETE && !pipe->queued
           && up_client_pass_through(pipe->client);
}

/*
 * Passes on what the client has room for. *pmoved is set when anything was.
 * The end of a complete body travels with its last bytes, so that a short
 * response is one brigade.
 */
static apr_status_t drain(up_pipe_t *pipe, int *pmoved)
{
    apr_status_t rv = write_client(pipe);

    if (rv != APR_SUCCESS && rv != APR_EAGAIN) {
        return client_failed(pipe, rv);
    }
    while (!drained(pipe)) {
        apr_off_t room = budget(pipe);

        if ((room <= 0 && !only_file_left(pipe))
            || (in_file(pipe) > 0 && !has_handle(pipe))) {
            return APR_SUCCESS;
        }
        if (in_file(pipe) > 0) {
            take_file(pipe, room);
        }
        else {
            take_queue(pipe, room);
        }
        if (drained(pipe) && pipe->end == UP_PIPE_COMPLETE) {
            add_eos(pipe);
        }
        else {
            add_flush(pipe);
        }
        *pmoved = 1;
        rv = pass(pipe);
        if (rv != APR_SUCCESS) {
            return rv;
        }
    }
    return APR_SUCCESS;
}

/* ------------------------------------------------------------------------ */
/* fill */

/* The part of a buffer that was filled becomes the youngest of the queue.
 * A small part is copied, so that little text does not hold much memory. */
static void enqueue(up_pipe_t *pipe)
{
    apr_bucket_alloc_t *alloc = pipe->queue->bucket_alloc;
    apr_bucket *e;

    if (pipe->buf_used == 0) {
        return;
    }
    if (pipe->buf_used < pipe->buf_size / 4) {
        e = apr_bucket_heap_create(pipe->buf, pipe->buf_used, NULL, alloc);
    }
    else {
        e = apr_bucket_heap_create(pipe->buf, pipe->buf_used, free, alloc);
        pipe->buf = NULL;
    }
    APR_BRIGADE_INSERT_TAIL(pipe->queue, e);
    pipe->queued++;
    pipe->queue_bytes += (apr_off_t)pipe->buf_used;
    pipe->buf_used = 0;
    pipe->need = up_decoder_need(&pipe->leg->decoder);
    pipe->raw_since = pipe->leg->body_received;
}

/* Is a part of a buffer worth passing on? As nginx does: of a chunked body
 * when it could have been the rest of all of it, else never. */
static int worth(const up_pipe_t *pipe)
{
    if (!pipe->buffering || pipe->buf_used == pipe->buf_size) {
        return 1;
    }
    return pipe->leg->framing.kind == UP_FRAMING_CHUNKED
           && pipe->leg->body_received - pipe->raw_since >= pipe->need;
}

/* Buffers that hold bytes: waiting, being filled, or with the client. */
static apr_off_t buffers_in_use(const up_pipe_t *pipe)
{
    apr_off_t size = (apr_off_t)pipe->buf_size;
    apr_off_t pending = 0;

    if (in_file(pipe) == 0) {
        pending = up_client_pending(pipe->client);
        if (pending > pipe->settings->busy_buffers_size) {
            pending = pipe->settings->busy_buffers_size; /* rest is file */
        }
    }
    return pipe->queued + (pending + size - 1) / size;
}

/*
 * Makes sure that there is room to read into.
 * @return APR_SUCCESS; APR_EAGAIN not now: drain first, or wait
 */
static apr_status_t find_room(up_pipe_t *pipe)
{
    if (!pipe->buffering) {
        if (pipe->queued || up_client_pending(pipe->client)) {
            return APR_EAGAIN;
        }
    }
    else if (!pipe->buf_used
             && buffers_in_use(pipe) >= pipe->settings->buffers_num) {
        if (write_client(pipe) != APR_EAGAIN
            || !may_spill(pipe)) {
            return APR_EAGAIN; /* the client comes first, or nothing can */
        }
        return spill(pipe, pipe->settings->temp_file_write_size);
    }
    if (!pipe->buf) {
        pipe->buf = malloc(pipe->buf_size);
        ap_assert(pipe->buf);
    }
    return APR_SUCCESS;
}

static void ended(up_pipe_t *pipe, apr_status_t rv)
{
    pipe->read_by = 0;
    if (rv == APR_EOF) {
        pipe->end = UP_PIPE_COMPLETE;
        if (pipe->complete) {
            pipe->complete(pipe->complete_baton);
        }
        return;
    }
    pipe->end = UP_PIPE_CUT;
    pipe->rv = rv;
    if (rv == APR_INCOMPLETE) {
        pipe->rv = 0;
        pipe->error = "prematurely closed connection";
    }
    else if (rv == APR_EINVAL) {
        pipe->rv = 0;
        pipe->error = apr_pstrcat(pipe->r->pool, "sent ", pipe->leg->error,
                                  NULL);
    }
    else {
        pipe->error = "recv() failed";
    }
}

/* Reads until the backend has no more, or there is no room. */
static apr_status_t fill(up_pipe_t *pipe, int *pmoved)
{
    while (pipe->end == UP_PIPE_OPEN) {
        apr_size_t len;
        apr_status_t rv = find_room(pipe);

        if (rv == APR_SUCCESS && !pipe->buf) {
            continue; /* spilling made room */
        }
        if (rv != APR_SUCCESS) {
            return rv == APR_EAGAIN ? APR_SUCCESS : rv;
        }
        len = pipe->buf_size - pipe->buf_used;
        rv = pipe->leg->wire->read_body(pipe->leg, pipe->buf + pipe->buf_used,
                                        &len);
        pipe->buf_used += len;
        if (rv == APR_EAGAIN) {
            return APR_SUCCESS;
        }
        *pmoved = 1;
        pipe->read_by = 0; /* settle arms it anew */
        if (rv != APR_SUCCESS) {
            ended(pipe, rv);
        }
        if (pipe->end != UP_PIPE_OPEN || worth(pipe)) {
            enqueue(pipe);
        }
    }
    return APR_SUCCESS;
}

/* ------------------------------------------------------------------------ */
/* settle */

static int has_room(const up_pipe_t *pipe)
{
    if (!pipe->buffering) {
        return !pipe->queued && !up_client_pending(pipe->client);
    }
    return pipe->buf_used || buffers_in_use(pipe) < pipe->settings->buffers_num
           || may_spill(pipe);
}

static void settle(up_pipe_t *pipe, up_want_t *want)
{
    apr_off_t pending = up_client_pending(pipe->client);
    apr_time_t now = apr_time_now();

    if (pipe->end == UP_PIPE_OPEN && has_room(pipe)) {
        want->backend |= pipe->leg->conn->want;
        if (!pipe->read_by) {
            pipe->read_by = now + pipe->settings->read_timeout;
        }
        up_want_until(want, pipe->read_by);
    }
    else {
        pipe->read_by = 0;
    }
    if (pending) {
        want->client |= APR_POLLOUT;
        if (!pipe->write_by) {
            pipe->write_by = now + pipe->r->server->timeout;
        }
        up_want_until(want, pipe->write_by);
    }
    else {
        pipe->write_by = 0;
    }
}

/*
 * A complete response whose rest the core can send without us: what is in
 * memory would block it, so it joins what is in the file.
 */
static apr_status_t hand_over_tail(up_pipe_t *pipe)
{
    if (pipe->end == UP_PIPE_COMPLETE && pipe->spool && pipe->queued
        && up_client_pass_through(pipe->client) && may_spill(pipe)) {
        return spill(pipe, pipe->queue_bytes);
    }
    return APR_SUCCESS;
}

/* The end, when everything before it has been passed. */
static apr_status_t finish(up_pipe_t *pipe)
{
    if (pipe->end == UP_PIPE_CUT) {
        apr_status_t rv = up_client_cut(pipe->client, pipe->out);

        pipe->ended_out = 1;
        return rv != APR_SUCCESS ? client_failed(pipe, rv)
               : pipe->rv ? pipe->rv : APR_INCOMPLETE;
    }
    add_eos(pipe);
    return pass(pipe);
}

/* Unbuffered responses show their head at once, body or not. */
static apr_status_t show_head(up_pipe_t *pipe)
{
    if (pipe->buffering || pipe->client->header_out
        || pipe->end != UP_PIPE_OPEN || !drained(pipe)) {
        return APR_SUCCESS;
    }
    add_flush(pipe);
    return pass(pipe);
}

apr_status_t up_pipe_step(up_pipe_t *pipe, up_want_t *want)
{
    apr_status_t rv;
    int moved;

    do {
        apr_off_t pending = up_client_pending(pipe->client);

        moved = 0;
        rv = fill(pipe, &moved);
        if (rv == APR_SUCCESS) {
            rv = hand_over_tail(pipe);
        }
        if (rv == APR_SUCCESS) {
            rv = drain(pipe, &moved);
        }
        /* Room at the client may be room to read: the backend's socket has
         * signalled what it has, and does not do so again. */
        moved |= up_client_pending(pipe->client) < pending;
    } while (rv == APR_SUCCESS && moved && !pipe->ended_out);
    if (rv == APR_SUCCESS) {
        rv = show_head(pipe);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (pipe->ended_out) {
        return APR_SUCCESS;
    }
    if (pipe->end != UP_PIPE_OPEN && drained(pipe)) {
        return finish(pipe);
    }
    settle(pipe, want);
    return APR_EAGAIN;
}

apr_status_t up_pipe_expire(up_pipe_t *pipe, apr_time_t now)
{
    if (pipe->write_by && now >= pipe->write_by) {
        pipe->end = UP_PIPE_CLIENT;
        pipe->error = "client timed out (Timeout)";
        return APR_TIMEUP;
    }
    if (pipe->end == UP_PIPE_OPEN && pipe->read_by && now >= pipe->read_by) {
        pipe->end = UP_PIPE_CUT;
        pipe->rv = APR_TIMEUP;
        pipe->error = "timed out (UpstreamReadTimeout)";
        pipe->read_by = 0;
        enqueue(pipe);
    }
    return APR_EAGAIN;
}
