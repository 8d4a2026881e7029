/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Moves a response body: backend -> memory -> temporary file -> client.
 *
 * Buffered (nginx's event pipe): reads as fast as the backend sends into up to
 * UpstreamBuffers buffers, passes full ones on, and when the client is
 * slower, writes them to an unlinked file. Unbuffered: one buffer, passed on
 * with a FLUSH as it is read.
 *
 * Three numbers tell its state: bytes in memory, bytes in the file, bytes the
 * client has been passed but not taken. Order never changes: what is in the
 * file is older than what is in memory.
 *
 * In the request's pool, one thread. Never blocks.
 */

#ifndef BACKEND_PIPE_H
#define BACKEND_PIPE_H

#include "config/settings.h"
#include "exchange/range.h"
#include "exchange/store.h"
#include "exchange/wire.h"
#include "mod_upstream_proxy.h"
#include "transport/client.h"
#include "transport/want.h"

/** How the backend's side of a body has ended. */
typedef enum up_pipe_end_e {
    UP_PIPE_OPEN,     /* it has not */
    UP_PIPE_COMPLETE,
    UP_PIPE_CUT,      /* closed, reset or silent too early, or bad framing */
    UP_PIPE_CLIENT,   /* the client cannot be written to any more */
    UP_PIPE_FILE      /* the temporary file failed */
} up_pipe_end_e;

/** @param buffering 1 buffered, 0 unbuffered */
up_pipe_t *up_pipe_make(request_rec *r, const up_settings_t *settings,
                        up_leg_t *leg, up_client_t *client, int buffering);

/**
 * `complete` is called once, when the body has been read to its end and before
 * the client gets the last of it: whoever asks next, because of that answer,
 * finds the connection free. The leg is not read any more from then on.
 */
void up_pipe_on_complete(up_pipe_t *pipe, void (*complete)(void *baton),
                         void *baton);

/**
 * Reads from the backend at most `rate` bytes a second, 0: no limit
 * (UpstreamLimitRate). Without effect on an unbuffered response.
 */
void up_pipe_limit_rate(up_pipe_t *pipe, apr_off_t rate);

/**
 * Passes on this part of the body only. The body is complete when the part is:
 * a rest that has not come with it is left to its connection, which then
 * cannot be used again.
 */
void up_pipe_window(up_pipe_t *pipe, const up_range_t *range);

/**
 * Stores the body as it goes by. All of it takes the way through the file,
 * however quick the client is; when that one leaves, the backend is read on,
 * and only then the step fails.
 */
void up_pipe_store(up_pipe_t *pipe, up_store_t *store);

/** Is a response being stored? */
int up_pipe_storing(const up_pipe_t *pipe);

/**
 * The head goes out by itself, before the body is looked at. Otherwise the
 * two of a short response are one brigade, and httpd finds its length.
 */
void up_pipe_head_first(up_pipe_t *pipe);

/**
 * Passes on to the client at most `rate` bytes a second, 0: no limit
 * (X-Accel-Limit-Rate). The backend is read as fast as before.
 */
void up_pipe_limit_client(up_pipe_t *pipe, apr_off_t rate);

/**
 * Moves what can be moved.
 * @param want what to wait for, set when APR_EAGAIN is returned
 * @return APR_SUCCESS everything, the end included, has been passed to the
 *         client's filters; APR_EAGAIN; or, with up_pipe_end telling which,
 *         the failure: a cut response has then been passed on as far as it
 *         came
 */
apr_status_t up_pipe_step(up_pipe_t *pipe, up_want_t *want);

/**
 * want.until has passed: APR_EAGAIN go on (also when it was the end of a pause
 * that a rate wants), else as up_pipe_step.
 */
apr_status_t up_pipe_expire(up_pipe_t *pipe, apr_time_t now);

/**
 * Reads no more of a body that is still OPEN: its end is CUT, what came of it
 * is passed on by the next steps.
 * @param error for up_pipe_error, static
 */
void up_pipe_cut(up_pipe_t *pipe, apr_status_t rv, const char *error);

/** How the backend's side stands. Once not OPEN, the leg is not read. */
up_pipe_end_e up_pipe_end(const up_pipe_t *pipe);

/** Why, for the log; NULL when there is nothing to say. */
const char *up_pipe_error(const up_pipe_t *pipe);

#endif
