/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The life of a connection without a thread of its own; see adopted.h. */

#include "drivers/adopted.h"

#include <stdlib.h>

#include "apr_atomic.h"
#include "config/log.h"
#include "config/process.h"
#include "drivers/loop.h"
#include "drivers/side.h"
#include "drivers/slot.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"
#include "mpm_common.h"
#include "transport/ahead.h"
#include "transport/client.h"

/* As httpd's lingering close. */
#define LINGER_GAP apr_time_from_sec(2)
#define LINGER_MOST apr_time_from_sec(30)

/* A worker may write to a connection it has suspended for this long after
 * our hook, unless it is seen elsewhere before. */
#define WORKER_GRACE apr_time_from_sec(1)

/* Hooks in front of the handler that take longer are slow; a connection's
 * requests stay off the loop for a while after one was. */
#define SLOW_HOOKS apr_time_from_msec(2)
#define SLOW_MEMORY apr_time_from_sec(10)

typedef enum phase_e {
    PARKED,
    ERROR_PAGE,
    DIVERTED,
    PROCESS,
    IDLE,
    WRITING,
    LINGERING,
    DOOMED
} phase_e;

/* Where a worker thread is: `at` grows when it turns to something else. */
typedef struct up_whereabouts_t {
    volatile apr_uint32_t at;
} up_whereabouts_t;

struct up_adopted_t {
    up_watch_t watch; /* first: the loop frees this object through it */
    conn_rec *c;
    apr_socket_t *sock;
    up_clientnet_t *net;
    up_ahead_t *ahead;
    phase_e phase;
    int entered;           /* a loop has it */
    int on_loop;           /* being processed on a loop's thread */
    int client_ended;      /* FIN seen */
    int client_hup;        /* reset seen */
    int stopping;
    int closing;           /* what is written now is the last */
    int head_begun;        /* a part of the next request's head is there */
    request_rec *r;        /* of the exchange, the diverted request */
    up_request_t *ur;      /* while PARKED */
    const char *handler;   /* of the diverted request */
    int status;            /* for the error page */
    server_rec *server;    /* of the last request, for its timeouts */
    apr_time_t adopted_at;
    apr_time_t began;      /* the present request's processing */
    apr_time_t slow_until; /* hooks were slow: process on the side */
    apr_time_t linger_by;
    apr_time_t stop_by;    /* UpstreamShutdownTimeout */
    up_whereabouts_t *worker; /* who suspended it */
    apr_uint32_t worker_at;
};

static volatile apr_uint32_t parked_count;

static __thread up_whereabouts_t *whereabouts;

static up_turn_e run(up_watch_t *watch, unsigned int events,
                     apr_thread_t *thread, int side);
static up_turn_e after(up_adopted_t *a);
static up_turn_e write_on(up_adopted_t *a);

up_adopted_t *up_adopted_of(conn_rec *c)
{
    up_clientnet_t *net = up_clientnet_of(c);

    return net ? *up_clientnet_driver(net) : NULL;
}

int up_adopted_parked(void)
{
    return (int)apr_atomic_read32(&parked_count);
}

void up_adopted_thread_moved_on(void)
{
    if (whereabouts) {
        apr_atomic_inc32(&whereabouts->at);
    }
}

/* ------------------------------------------------------------------------ */
/* closing */

/* The worker that suspended it still writes two fields of the connection
 * after our hook has returned. */
static int worker_is_gone(const up_adopted_t *a, apr_time_t now)
{
    return apr_atomic_read32(&a->worker->at) != a->worker_at
           || now >= a->adopted_at + WORKER_GRACE;
}

static up_turn_e destroy_or_wait(up_adopted_t *a)
{
    if (!worker_is_gone(a, apr_time_now())) {
        a->phase = DOOMED;
        a->watch.deadline = a->adopted_at + WORKER_GRACE;
        return UP_TURN_WAIT;
    }
    /* The MPM counts this connection as suspended until its pool goes. */
    a->c->cs->state = CONN_STATE_SUSPENDED;
    apr_pool_destroy(a->c->pool);
    return UP_TURN_GONE;
}

static up_turn_e close_now(up_adopted_t *a)
{
    up_loop_leave_backend(&a->watch);
    apr_socket_close(a->sock);
    return destroy_or_wait(a);
}

/* Reads and drops what the client still sends, so that it gets our last
 * bytes before a reset. */
static up_turn_e linger_on(up_adopted_t *a)
{
    char dropped[8192];
    apr_status_t rv = APR_SUCCESS;
    apr_time_t now = apr_time_now();
    int i;

    for (i = 0; i < 32 && rv == APR_SUCCESS; i++) {
        apr_size_t len = sizeof(dropped);

        rv = apr_socket_recv(a->sock, dropped, &len);
    }
    if (rv == APR_SUCCESS && now < a->linger_by) {
        return UP_TURN_AGAIN;
    }
    if (!APR_STATUS_IS_EAGAIN(rv) || now >= a->linger_by) {
        return close_now(a);
    }
    a->watch.deadline = now + LINGER_GAP;
    return UP_TURN_WAIT;
}

/* Everything is written, or never will be. */
static up_turn_e shut(up_adopted_t *a)
{
    conn_rec *c = a->c;
    int quick = apr_table_get(c->notes, "short-lingering-close") != NULL;

    if (c->aborted
        || apr_socket_shutdown(a->sock, APR_SHUTDOWN_WRITE) != APR_SUCCESS) {
        return close_now(a);
    }
    a->phase = LINGERING;
    a->linger_by = apr_time_now() + (quick ? LINGER_GAP : LINGER_MOST);
    return linger_on(a);
}

/* httpd's ap_start_lingering_close, which waits for a slow client. */
static up_turn_e linger(up_adopted_t *a)
{
    conn_rec *c = a->c;

    ap_log_cerror(APLOG_MARK, APLOG_TRACE1, 0, c, "closing from phase %d, "
                  "state %d, keepalive %d%s%s", (int)a->phase,
                  (int)c->cs->state, (int)c->keepalive,
                  c->aborted ? ", aborted" : "",
                  a->stopping ? ", stopping" : "");
    a->closing = 1;
    apr_socket_timeout_set(a->sock, 0);
    ap_prep_lingering_close(c);
    ap_flush_conn(c); /* our filter keeps it; TLS says goodbye here */
    return write_on(a);
}

/* ------------------------------------------------------------------------ */
/* between requests */

static up_turn_e process(up_adopted_t *a, int side)
{
    conn_rec *c = a->c;

    a->on_loop = !side;
    a->began = apr_time_now();
    c->cs->state = CONN_STATE_PROCESSING;
    if (side) {
        up_clientnet_hold(a->net, 0); /* handlers may block, and must, for
                                         a slow client */
    }
    ap_run_process_connection(c);
    up_clientnet_hold(a->net, 1);
    a->on_loop = 0;
    return after(a);
}

static up_turn_e process_here_or_aside(up_adopted_t *a, int side)
{
    a->phase = PROCESS;
    if (!side
        && (!up_ahead_whole(a->ahead) || a->slow_until > apr_time_now())) {
        return UP_TURN_SIDE;
    }
    return process(a, side);
}

/* Waits for the next request, or the rest of its head. */
static up_turn_e wait_for_request(up_adopted_t *a)
{
    apr_interval_time_t timeout = a->server->keep_alive_timeout_set
                                      ? a->server->keep_alive_timeout
                                      : a->c->base_server->keep_alive_timeout;

    if (up_ahead_started(a->ahead)) {
        timeout = a->server->timeout;
    }
    if (a->phase != IDLE || up_ahead_started(a->ahead) != a->head_begun) {
        a->watch.deadline = apr_time_now() + timeout;
    }
    a->head_begun = up_ahead_started(a->ahead);
    a->phase = IDLE;
    return UP_TURN_WAIT;
}

/* Something has arrived, or the end. */
static up_turn_e look_for_request(up_adopted_t *a, int side)
{
    apr_status_t rv = up_ahead_read(a->ahead);

    if (rv == APR_SUCCESS) {
        return process_here_or_aside(a, side);
    }
    /* A stopping server answers what has reached it, and waits for no more. */
    if (rv == APR_EAGAIN && (!a->stopping || up_ahead_started(a->ahead))) {
        return wait_for_request(a);
    }
    return linger(a);
}

/* What the MPM does in CONN_STATE_WRITE_COMPLETION. */
static up_turn_e write_on(up_adopted_t *a)
{
    conn_rec *c = a->c;
    apr_status_t rv = up_clientnet_write(a->net);

    if (rv == APR_EAGAIN) {
        /* Anew each time: only a ready socket brings us here. */
        a->watch.deadline = apr_time_now() + a->server->timeout;
        a->phase = WRITING;
        return UP_TURN_WAIT;
    }
    if (a->closing) {
        return shut(a);
    }
    if (rv != APR_SUCCESS || c->aborted
        || c->keepalive != AP_CONN_KEEPALIVE) {
        return linger(a);
    }
    if (c->data_in_input_filters || a->client_ended || a->stopping) {
        a->phase = IDLE; /* pipelined: others first. Or the end of its
                            stream, which is signalled once only */
        return UP_TURN_AGAIN;
    }
    return wait_for_request(a);
}

/* ------------------------------------------------------------------------ */
/* requests */

/* The exchange parts with its backend connection. */
static void backend_leaves(void *baton)
{
    up_adopted_t *a = baton;

    if (a->entered) {
        up_loop_leave_backend(&a->watch);
    }
}

/* As httpd ends a request whose handler has returned `status`. */
static up_turn_e end_request(up_adopted_t *a, request_rec *r, int status)
{
    a->server = r->server;
    up_clientnet_hold(a->net, 1);
    if (status != OK) {
        r->status = HTTP_OK; /* the first error of this request, to httpd */
    }
    ap_die(status, r);
    ap_process_request_after_handler(r);
    return after(a);
}

/* An ErrorDocument that is a local path is a request of its own, and may do
 * anything. */
static int needs_error_page(request_rec *r, int status)
{
    const char *page;

    if (status == OK || !ap_is_HTTP_VALID_RESPONSE(status)) {
        return 0;
    }
    page = ap_response_code_string(r, ap_index_of_response(status));
    return page && *page == '/';
}

static up_turn_e exchange_done(up_adopted_t *a, int side)
{
    request_rec *r = a->r;

    apr_atomic_dec32(&parked_count);
    a->status = up_request_result(a->ur);
    a->ur = NULL;
    if (!side && needs_error_page(r, a->status)) {
        a->phase = ERROR_PAGE;
        return UP_TURN_SIDE;
    }
    a->r = NULL;
    return end_request(a, r, a->status);
}

static up_turn_e wait_parked(up_adopted_t *a)
{
    up_conn_t *conn;

    a->phase = PARKED;
    a->watch.deadline = up_request_want(a->ur)->until;
    if (a->stop_by
        && (!a->watch.deadline || a->stop_by < a->watch.deadline)) {
        a->watch.deadline = a->stop_by;
    }
    conn = up_request_conn(a->ur);
    if (conn && conn->fd >= 0) {
        up_loop_watch_backend(
            &a->watch, conn, up_request_want(a->ur)->backend & APR_POLLOUT);
    }
    return UP_TURN_WAIT;
}

/* The end of the client's stream, when it matters and is not known yet. */
static void tell_end(up_adopted_t *a)
{
    if (a->client_hup) {
        up_request_client_end(a->ur, 1);
    }
    else if (a->client_ended && up_request_watches_client(a->ur)) {
        up_request_client_end(a->ur, 0);
    }
}

static void tell_time(up_adopted_t *a)
{
    apr_time_t until = up_request_want(a->ur)->until;
    apr_time_t now = apr_time_now();

    if (a->stop_by && now >= a->stop_by) {
        up_request_abort(a->ur);
    }
    else if (until && now >= until) {
        up_request_expire(a->ur);
    }
}

static up_turn_e step_on(up_adopted_t *a, int side)
{
    up_verdict_e verdict;

    do {
        verdict = up_request_step(a->ur);
    } while (verdict == UP_AGAIN);
    return verdict == UP_WAIT ? wait_parked(a) : exchange_done(a, side);
}

static up_turn_e run_parked(up_adopted_t *a, unsigned int events, int side)
{
    tell_end(a);
    if (events & UP_EV_TIMER) {
        tell_time(a);
    }
    return step_on(a, side);
}

/* A request that is not ours, where blocking does not matter. */
static up_turn_e run_diverted(up_adopted_t *a)
{
    request_rec *r = a->r;
    const char *old = r->handler;
    int status;

    a->r = NULL;
    up_clientnet_hold(a->net, 0);
    r->handler = a->handler;
    status = ap_run_handler(r);
    r->handler = old;
    if (status == DECLINED || status == SUSPENDED) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0511)
                      "no handler for %s (handler \"%s\")", r->uri,
                      a->handler);
        status = HTTP_INTERNAL_SERVER_ERROR;
    }
    return end_request(a, r, status);
}

/* What httpd has left behind after a request: the MPM's process_socket. */
static up_turn_e after(up_adopted_t *a)
{
    switch (a->c->cs->state) {
    case CONN_STATE_SUSPENDED:
        if (a->ur) {
            /* What came before it was parked has to be told. */
            if (a->client_ended || a->client_hup) {
                tell_end(a);
                return step_on(a, 0);
            }
            return wait_parked(a);
        }
        if (a->r) {
            a->phase = DIVERTED;
            return UP_TURN_SIDE;
        }
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, a->c, UPLOGNO(0512)
                      "another module has suspended a connection that waits "
                      "in an upstream loop; closing it (UpstreamAsync off)");
        return linger(a);
    case CONN_STATE_WRITE_COMPLETION:
    case CONN_STATE_KEEPALIVE:
        a->phase = PROCESS;
        return write_on(a);
    default:
        return linger(a);
    }
}

/* ------------------------------------------------------------------------ */
/* what the loop runs */

static up_turn_e timed_out(up_adopted_t *a)
{
    if (a->phase == WRITING) {
        a->c->aborted = 1;
    }
    return a->phase == LINGERING || a->closing ? close_now(a) : linger(a);
}

static void take_events(up_adopted_t *a, unsigned int events)
{
    if (events & UP_EV_CLIENT_END) {
        a->client_ended = 1;
    }
    if (events & UP_EV_CLIENT_HUP) {
        a->client_hup = 1;
    }
    if ((events & UP_EV_STOP) && !a->stopping) {
        a->stopping = 1;
        if (up_process()->shutdown_timeout) {
            a->stop_by = apr_time_now() + up_process()->shutdown_timeout;
        }
    }
}

static int is_due(const up_adopted_t *a)
{
    return a->watch.deadline && apr_time_now() >= a->watch.deadline;
}

static up_turn_e run_phase(up_adopted_t *a, unsigned int events, int side)
{
    switch (a->phase) {
    case PARKED:
        return run_parked(a, events, side);
    case DOOMED:
        return destroy_or_wait(a);
    case ERROR_PAGE: {
        request_rec *r = a->r;

        a->r = NULL;
        up_clientnet_hold(a->net, 0);
        return end_request(a, r, a->status);
    }
    case DIVERTED:
        return run_diverted(a);
    case PROCESS:
        return process(a, side);
    default:
        break;
    }
    if ((events & UP_EV_TIMER) && is_due(a)) {
        return timed_out(a);
    }
    return a->phase == IDLE ? look_for_request(a, side)
           : a->phase == WRITING ? write_on(a)
                                 : linger_on(a);
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
    turn = run_phase(a, events, side);
    if (turn != UP_TURN_GONE) {
        a->c->sbh = NULL;
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

void up_adopted_park(up_adopted_t *a, request_rec *r, up_request_t *ur)
{
    a->r = r;
    a->ur = ur;
    apr_atomic_inc32(&parked_count);
    up_request_on_leave(ur, backend_leaves, a);
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
    a->c = c;
    a->sock = ap_get_conn_socket(c);
    a->net = up_clientnet_of(c);
    a->ahead = up_ahead_make(c);
    a->phase = PARKED;
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
    apr_sleep(WORKER_GRACE);
    a->c->cs->state = CONN_STATE_SUSPENDED;
    apr_pool_destroy(a->c->pool);
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
    a->adopted_at = apr_time_now();
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

int up_adopted_divert(request_rec *r)
{
    up_adopted_t *a;

    if (r->main || r->prev || r->connection->master) {
        return DECLINED;
    }
    a = up_adopted_of(r->connection);
    if (!a || !a->on_loop) {
        return DECLINED;
    }
    a->r = r;
    a->handler = r->handler;
    return SUSPENDED;
}

void up_adopted_note_hooks(up_adopted_t *a)
{
    apr_time_t now = apr_time_now();

    if (a->began && now - a->began > SLOW_HOOKS) {
        a->slow_until = now + SLOW_MEMORY;
    }
}
