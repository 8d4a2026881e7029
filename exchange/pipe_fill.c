/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The backend's side of the pipe: into buffers, and from there to the file. */

#include "config/clock.h"
#include "exchange/pipe_parts.h"

#include <stdlib.h>
#include <string.h>

#include "apr_strings.h"
#include "config/log.h"
#include "config/units.h"

/* ------------------------------------------------------------------------ */
/* spill */

static apr_status_t file_failed(up_pipe_t *pipe, apr_status_t rv)
{
    pipe->end = UP_PIPE_FILE;
    if (pipe->store) {
        pipe->error = "cannot write the file of a response that is stored "
                      "(UpstreamStore)";
        return rv;
    }
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
int up_pipe_may_spill(const up_pipe_t *pipe)
{
    apr_off_t written = pipe->spool ? pipe->spool->written : 0;

    if (pipe->store) {
        return pipe->queued > 0;
    }
    return pipe->queued > 0
           && written + (apr_off_t)APR_BRIGADE_FIRST(pipe->queue)->length
                  <= pipe->settings->max_temp_file_size;
}

apr_status_t up_pipe_spill(up_pipe_t *pipe, apr_off_t most)
{
    apr_off_t done = 0;
    apr_status_t rv = open_file(pipe);

    while (rv == APR_SUCCESS && up_pipe_may_spill(pipe)) {
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

/* ------------------------------------------------------------------------ */
/* fill */

void up_pipe_enqueue(up_pipe_t *pipe)
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

    if (up_pipe_in_file(pipe) == 0) {
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
        int takes = up_pipe_write_client(pipe) != APR_EAGAIN
                    && !up_pace_until(&pipe->write_pace);

        if (takes || !up_pipe_may_spill(pipe)) {
            return APR_EAGAIN; /* the client comes first, or nothing can */
        }
        return up_pipe_spill(pipe, pipe->settings->temp_file_write_size);
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
        pipe->error = pipe->leg->error ? pipe->leg->error
                                       : "prematurely closed connection";
    }
    else if (rv == APR_EINVAL) {
        pipe->rv = 0;
        pipe->error = apr_pstrcat(pipe->r->pool, "sent ", pipe->leg->error,
                                  NULL);
    }
    else if (pipe->leg->conn->why[0]) {
        pipe->rv = 0;
        pipe->error = apr_pstrcat(pipe->r->pool, "recv() failed: ",
                                  pipe->leg->conn->why, NULL);
    }
    else {
        pipe->error = "recv() failed";
    }
}

/* How much may be read now, for all that the rate says. */
static apr_off_t allowed(up_pipe_t *pipe)
{
    return up_pace_limits(&pipe->read_pace)
               ? up_pace_room(&pipe->read_pace, up_clock_now())
               : UP_OFF_MAX;
}

/* Of the `len` bytes at buf, keeps those that lie in the window, in front.
 * What follows behind its end is nobody's: *prv says that the body is
 * whole. */
static apr_size_t cut_window(up_pipe_t *pipe, char *buf, apr_size_t len,
                             apr_status_t *prv)
{
    apr_size_t drop = pipe->skip < (apr_off_t)len ? (apr_size_t)pipe->skip
                                                  : len;

    pipe->skip -= (apr_off_t)drop;
    len -= drop;
    if ((apr_off_t)len > pipe->left) {
        len = (apr_size_t)pipe->left;
    }
    if (drop) {
        memmove(buf, buf + drop, len);
    }
    pipe->left -= (apr_off_t)len;
    if (!pipe->left) {
        *prv = APR_EOF;
    }
    return len;
}

/* One read into the buffer, of at most `most` bytes of the socket's. */
static apr_status_t read_some(up_pipe_t *pipe, apr_off_t most)
{
    up_leg_t *leg = pipe->leg;
    apr_off_t before = leg->body_received;
    apr_size_t len = pipe->buf_size - pipe->buf_used;
    apr_status_t rv;

    if (most < (apr_off_t)len) {
        len = (apr_size_t)most;
    }
    rv = leg->wire->read_body(leg, pipe->buf + pipe->buf_used, &len);
    if (pipe->windowed) {
        len = cut_window(pipe, pipe->buf + pipe->buf_used, len, &rv);
    }
    pipe->buf_used += len;
    up_pace_moved(&pipe->read_pace, leg->body_received - before);
    return rv;
}

/* What is to be stored goes to its file at once, and to the client from
 * there, which also reads it when it is deleted. */
static apr_status_t store(up_pipe_t *pipe)
{
    apr_status_t rv = APR_SUCCESS;

    if (!pipe->store) {
        return APR_SUCCESS;
    }
    if (pipe->queued) {
        rv = up_pipe_spill(pipe, pipe->queue_bytes);
    }
    if (rv == APR_SUCCESS && pipe->end == UP_PIPE_COMPLETE) {
        up_store_finish(pipe->store);
    }
    else if (rv != APR_SUCCESS || pipe->end != UP_PIPE_OPEN) {
        up_store_abandon(pipe->store);
    }
    return rv;
}

apr_status_t up_pipe_fill(up_pipe_t *pipe, int *pmoved)
{
    while (pipe->end == UP_PIPE_OPEN) {
        apr_off_t most = allowed(pipe);
        apr_status_t rv = most ? find_room(pipe) : APR_EAGAIN;

        if (rv == APR_SUCCESS && !pipe->buf) {
            continue; /* spilling made room */
        }
        if (rv != APR_SUCCESS) {
            return rv == APR_EAGAIN ? APR_SUCCESS : rv;
        }
        rv = read_some(pipe, most);
        if (rv == APR_EAGAIN) {
            return APR_SUCCESS;
        }
        *pmoved = 1;
        pipe->read_by = 0; /* settle arms it anew */
        if (rv != APR_SUCCESS) {
            ended(pipe, rv);
        }
        if (pipe->end != UP_PIPE_OPEN || worth(pipe)) {
            up_pipe_enqueue(pipe);
            rv = store(pipe);
            if (rv != APR_SUCCESS) {
                return rv;
            }
        }
    }
    return APR_SUCCESS;
}

int up_pipe_has_room(const up_pipe_t *pipe)
{
    if (!pipe->buffering) {
        return !pipe->queued && !up_client_pending(pipe->client);
    }
    return pipe->buf_used || buffers_in_use(pipe) < pipe->settings->buffers_num
           || up_pipe_may_spill(pipe);
}
