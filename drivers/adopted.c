/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The life of a connection without a thread of its own; see adopted.h. */

#include "config/clock.h"
#include "drivers/adopted_state.h"

#include <stdlib.h>

#include "config/log.h"
#include "config/process.h"
#include "drivers/head_limit.h"
#include "drivers/side.h"
#include "drivers/slot.h"
#include "http_connection.h"
#include "http_core.h"

/* A stopping server waits this long for a request that may be on its way on a
 * connection which it has not said it will close. The answer says so. */
#define STOP_GRACE apr_time_from_sec(1)

static __thread up_whereabouts_t *whereabouts;

static up_turn_e run(up_watch_t *watch, unsigned int events,
                     apr_thread_t *thread, int side);

up_adopted_t *up_adopted_of(conn_rec *c)
{
    up_clientnet_t *net = up_clientnet_of(c);

    return net ? *up_clientnet_driver(net) : NULL;
}

void up_adopted_thread_moved_on(void)
{
    if (whereabouts) {
        apr_atomic_inc32(&whereabouts->at);
    }
}

/* ------------------------------------------------------------------------ */
/* between requests */

/* The head that has begun must be whole by then. It may take longer the more
 * of it there is, where RequestReadTimeout has a MinRate; silence may take no
 * longer than Timeout, which is the limit for all of it where there is no
 * other. */
static apr_time_t head_by(const up_adopted_t *a)
{
    apr_interval_time_t limit =
        up_headlimit_of(a->c->base_server, up_ahead_bytes(a->ahead));
    apr_time_t silent_by = up_clock_now() + a->server->timeout;

    if (limit == 0) {
        return a->head_since + a->server->timeout;
    }
    return a->head_since + limit < silent_by ? a->head_since + limit
                                             : silent_by;
}

/* How long to wait for the next request. */
static apr_interval_time_t request_timeout(const up_adopted_t *a)
{
    apr_interval_time_t timeout = a->server->keep_alive_timeout_set
                                      ? a->server->keep_alive_timeout
                                      : a->c->base_server->keep_alive_timeout;

    return a->stopping && timeout > STOP_GRACE ? STOP_GRACE : timeout;
}

static up_turn_e wait_for_request(up_adopted_t *a)
{
    int waited = a->phase == UP_PHASE_IDLE && a->watch.deadline;
    int begun = up_ahead_started(a->ahead);

    if (!waited || begun != a->head_begun) {
        a->head_since = up_clock_now();
        a->watch.deadline = a->head_since + request_timeout(a);
    }
    if (begun) {
        a->watch.deadline = head_by(a);
    }
    a->head_begun = begun;
    a->phase = UP_PHASE_IDLE;
    return UP_TURN_WAIT;
}

/* Something has arrived, or the end. */
static up_turn_e look_for_request(up_adopted_t *a, int side)
{
    apr_status_t rv = up_ahead_read(a->ahead);

    if (rv == APR_SUCCESS) {
        return up_adopted_serve(a, side);
    }
    return rv == APR_EAGAIN ? wait_for_request(a) : up_adopted_linger(a);
}

/* What the MPM does in CONN_STATE_WRITE_COMPLETION. */
up_turn_e up_adopted_write_on(up_adopted_t *a)
{
    conn_rec *c = a->c;
    apr_status_t rv = up_clientnet_write(a->net);

    if (rv == APR_EAGAIN) {
        /* Anew each time: only a ready socket brings us here. */
        a->watch.deadline = up_clock_now() + a->server->timeout;
        if (a->stop_by && a->stop_by < a->watch.deadline) {
            a->watch.deadline = a->stop_by;
        }
        a->phase = UP_PHASE_WRITING;
        return UP_TURN_WAIT;
    }
    if (a->closing) {
        return up_adopted_shut(a);
    }
    if (rv != APR_SUCCESS || c->aborted
        || c->keepalive != AP_CONN_KEEPALIVE) {
        return up_adopted_linger(a);
    }
    if (c->data_in_input_filters || a->client_ended) {
        a->phase = UP_PHASE_IDLE; /* pipelined: others first. Or the end of
                                     its stream, signalled once only */
        a->watch.deadline = 0;
        return UP_TURN_AGAIN;
    }
    return wait_for_request(a);
}

/* ------------------------------------------------------------------------ */
/* what the loop runs */

static up_turn_e timed_out(up_adopted_t *a)
{
    if (a->phase == UP_PHASE_WRITING) {
        a->c->aborted = 1;
    }
    return a->phase == UP_PHASE_LINGERING || a->closing
               ? up_adopted_close(a) : up_adopted_linger(a);
}

/* It has waited for its next request: not for much longer. */
static void hurry(up_adopted_t *a)
{
    apr_time_t by = up_clock_now() + STOP_GRACE;

    if (a->phase == UP_PHASE_IDLE && !a->head_begun
        && (!a->watch.deadline || a->watch.deadline > by)) {
        a->watch.deadline = by;
    }
}

static void take_events(up_adopted_t *a, unsigned int events)
{
    if (events & UP_EV_CLIENT_END) {
        a->client_ended = 1;
    }
    if (events & UP_EV_CLIENT_HUP) {
        a->client_hup = 1;
    }
    if (events & UP_EV_CLIENT_DATA) {
        up_source_stirred(a->source, a->client_ended || a->client_hup);
    }
    if ((events & UP_EV_STOP) && !a->stopping) {
        a->stopping = 1;
        if (up_process()->shutdown_timeout) {
            a->stop_by = up_clock_now() + up_process()->shutdown_timeout;
        }
        hurry(a);
    }
}

static int is_due(const up_adopted_t *a)
{
    return a->watch.deadline && up_clock_now() >= a->watch.deadline;
}

static up_turn_e run_phase(up_adopted_t *a, unsigned int events, int side)
{
    switch (a->phase) {
    case UP_PHASE_PARKED:
        return up_adopted_run_parked(a, events, side);
    case UP_PHASE_DOOMED:
        return up_adopted_destroy(a);
    case UP_PHASE_END:
        return up_adopted_run_end(a);
    case UP_PHASE_DIVERTED:
    case UP_PHASE_WHOLE:
        return up_adopted_run_diverted(a);
    case UP_PHASE_PROCESS:
        return up_adopted_process(a, side);
    default:
        break;
    }
    if ((events & UP_EV_TIMER) && is_due(a)) {
        return timed_out(a);
    }
    return a->phase == UP_PHASE_IDLE ? look_for_request(a, side)
           : a->phase == UP_PHASE_WRITING ? up_adopted_write_on(a)
                                          : up_adopted_linger_on(a);
}

static up_turn_e run(up_watch_t *watch, unsigned int events,
                     apr_thread_t *thread, int side)
{
    up_adopted_t *a = (up_adopted_t *)watch;
    ap_sb_handle_t *slot = up_slot_mine();
    up_turn_e turn;

    a->c->current_thread = thread;
    a->c->sbh = slot; /* whoever works on it now has it */
    take_events(a, events);
    up_source_apart(a->source, side);
    turn = run_phase(a, events, side);
    if (turn != UP_TURN_GONE) {
        a->c->sbh = NULL;
        up_source_apart(a->source, 0);
    }
    if (slot) {
        ap_update_child_status(slot, SERVER_READY, NULL);
    }
    return turn;
}

/* ------------------------------------------------------------------------ */
/* adoption */

static up_whereabouts_t *my_whereabouts(void)
{
    if (!whereabouts) {
        /* As long as the process: it may outlive its thread. */
        whereabouts = calloc(1, sizeof(*whereabouts));
    }
    return whereabouts;
}

up_adopted_t *up_adopted_make(request_rec *r, up_request_t *ur)
{
    conn_rec *c = r->connection;
    up_adopted_t *a = calloc(1, sizeof(*a));

    if (!a || !my_whereabouts()) {
        free(a);
        return NULL;
    }
    a->watch.run = run;
    a->watch.stuck = up_adopted_stuck;
    a->c = c;
    a->sock = ap_get_conn_socket(c);
    a->net = up_clientnet_of(c);
    a->source = up_source_make(c);
    a->ahead = up_ahead_make(c);
    a->phase = UP_PHASE_PARKED;
    a->server = r->server;
    a->worker = whereabouts;
    a->worker_at = apr_atomic_read32(&whereabouts->at);
    *up_clientnet_driver(a->net) = a;
    up_adopted_park(a, r, ur);
    return a;
}

/* A connection that no loop can watch. */
static void destroy_aside(apr_thread_t *thread, void *baton)
{
    up_adopted_t *a = baton;

    (void)thread;
    apr_sleep(UP_ADOPTED_GRACE);
    up_adopted_forget(a);
    free(a);
}

void up_adopted_enter(conn_rec *c)
{
    up_adopted_t *a = up_adopted_of(c);
    apr_os_sock_t fd;
    apr_status_t rv;

    if (!a || a->entered) {
        return;
    }
    a->entered = 1;
    up_adopted_count_in();
    a->adopted_at = up_clock_now();
    apr_os_sock_get(&fd, a->sock);
    rv = up_loop_add(&a->watch, fd);
    if (rv != APR_SUCCESS) {
        ap_log_cerror(APLOG_MARK, APLOG_CRIT, rv, c, UPLOGNO(0513)
                      "cannot watch a client connection; closing it");
        apr_socket_close(a->sock);
        a->entered = 0; /* no loop has it */
        if (up_side_push(destroy_aside, a, 0) != APR_SUCCESS) {
            ap_log_cerror(APLOG_MARK, APLOG_CRIT, 0, c, UPLOGNO(0514)
                          "its memory stays until the child ends");
        }
    }
}
