/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The inside of the pipe, for its own files: backend_pipe.c (what may be
 * waited for, and the end), pipe_fill.c and pipe_drain.c.
 *
 *   fill    wire -> buffer, full buffers -> queue     [pipe_fill.c]
 *   spill   queue -> file                             [pipe_fill.c]
 *   drain   file, then queue -> client                [pipe_drain.c]
 *   settle  what to wait for                          [backend_pipe.c]
 *
 * A buffer in the queue is a heap bucket and leaves memory when the client's
 * socket has taken it.
 */

#ifndef UP_PIPE_PARTS_H
#define UP_PIPE_PARTS_H

#include "backend_pipe.h"
#include "exchange/pace.h"
#include "transport/spool.h"

struct up_pipe_t {
    request_rec *r;
    const up_settings_t *settings;
    up_leg_t *leg;
    up_client_t *client;
    int buffering;
    int head_first;      /* up_pipe_head_first */

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
    up_store_t *store;   /* its file is the spool; NULL: nothing is stored */
    int deaf;            /* the client is lost, but the rest is stored */
    int windowed;        /* only a part of the body is passed on: */
    apr_off_t skip;      /* bytes in front of it, still to come */
    apr_off_t left;      /* bytes of it, still to come */
    up_pace_t read_pace; /* UpstreamLimitRate */
    up_pace_t write_pace; /* X-Accel-Limit-Rate */
    apr_time_t read_by;  /* backend's deadline, 0: not reading */
    apr_time_t write_by; /* client's deadline, 0: nothing pending */
};

/** Reads until the backend has no more, or there is no room. */
apr_status_t up_pipe_fill(up_pipe_t *pipe, int *pmoved);

/** Is there room to read into, or could there be without the client? */
int up_pipe_has_room(const up_pipe_t *pipe);

/** The part of a buffer that was filled becomes the youngest of the queue. */
void up_pipe_enqueue(up_pipe_t *pipe);

/** May the oldest buffer go to the file? */
int up_pipe_may_spill(const up_pipe_t *pipe);

/** Writes whole buffers from the head of the queue, up to `most` bytes. */
apr_status_t up_pipe_spill(up_pipe_t *pipe, apr_off_t most);

/**
 * Passes on what the client has room for. *pmoved is set when anything was.
 * The end of a complete body travels with its last bytes.
 */
apr_status_t up_pipe_drain(up_pipe_t *pipe, int *pmoved);

/**
 * Writes what the client takes. Whatever it takes gives it its full time
 * again; that more is passed to it does not.
 */
apr_status_t up_pipe_write_client(up_pipe_t *pipe);

/** Passes pipe->out to the client's filters. */
apr_status_t up_pipe_pass(up_pipe_t *pipe);

/**
 * The client cannot be written to.
 * @return rv; APR_SUCCESS while a response is stored, which goes on without it
 */
apr_status_t up_pipe_client_failed(up_pipe_t *pipe, apr_status_t rv);

/** Appends a FLUSH, or the end of the response, to pipe->out. */
void up_pipe_add_flush(up_pipe_t *pipe);
void up_pipe_add_eos(up_pipe_t *pipe);

/** Bytes of the file that the client's filters do not have yet. */
apr_off_t up_pipe_in_file(const up_pipe_t *pipe);

/** Does nothing wait to be passed on? */
int up_pipe_drained(const up_pipe_t *pipe);

#endif
