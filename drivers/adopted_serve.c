/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Requests on an adopted connection; see adopted_state.h. */

#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "drivers/adopted_state.h"
#include "drivers/slot.h"
#include "drivers/slow.h"
#include "exchange/jump.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_core.h"

static volatile apr_uint32_t parked_count;

static up_turn_e after(up_adopted_t *a);

int up_adopted_parked(void)
{
    return (int)apr_atomic_read32(&parked_count);
}

/* The exchange parts with its backend connection. */
static void backend_leaves(void *baton)
{
    up_adopted_t *a = baton;

    if (a->entered) {
        up_loop_leave_backend(&a->watch);
    }
}

void up_adopted_park(up_adopted_t *a, request_rec *r, up_request_t *ur)
{
    a->r = r;
    a->ur = ur;
    a->steps_key = up_slow_key(r, UP_SLOW_STEPS);
    apr_atomic_inc32(&parked_count);
    up_counts_gauge(up_request_counts(ur), UP_GAUGE_SUSPENDED, 1);
    up_request_on_leave(ur, backend_leaves, a);
}

up_turn_e up_adopted_process(up_adopted_t *a, int side)
{
    conn_rec *c = a->c;

    a->on_loop = !side;
    c->cs->state = CONN_STATE_PROCESSING;
    if (side) {
        up_clientnet_hold(a->net, 0); /* handlers may block, and must, for
                                         a slow client */
    }
    ap_run_process_connection(c);
    apr_atomic_set32(&a->at_work, 0);
    up_clientnet_hold(a->net, 1);
    a->on_loop = 0;
    return after(a);
}

up_turn_e up_adopted_serve(up_adopted_t *a, int side)
{
    a->phase = UP_PHASE_PROCESS;
    if (!side && !up_ahead_whole(a->ahead)) {
        return UP_TURN_SIDE; /* httpd waits for the rest, or refuses it */
    }
    return up_adopted_process(a, side);
}

/* As httpd ends a request whose handler has returned `status`. With `block`,
 * what answers in its place may block, and must, for a slow client. */
static up_turn_e end_request(up_adopted_t *a, request_rec *r, int status,
                             int block)
{
    a->server = r->server;
    up_clientnet_hold(a->net, !block);
    if (status != OK && status != AP_FILTER_ERROR) {
        r->status = HTTP_OK; /* the first error of this request, to httpd */
    }
    up_slot_take_over(r->request_time);
    status = up_jump_run(r, status);
    ap_die(status, r);
    ap_process_request_after_handler(r);
    up_clientnet_hold(a->net, 1);
    return after(a);
}

/* An ErrorDocument that is a local path is a request of its own, and may do
 * anything; so may what an answer sends the request to. */
static int may_block(request_rec *r, int status)
{
    const char *page;

    if (status == OK) {
        return up_jump_pending(r);
    }
    if (!ap_is_HTTP_VALID_RESPONSE(status)) {
        return 0;
    }
    page = ap_response_code_string(r, ap_index_of_response(status));
    return page && *page == '/';
}

static up_turn_e exchange_done(up_adopted_t *a, int side)
{
    request_rec *r = a->r;
    int block;

    apr_atomic_dec32(&parked_count);
    up_counts_gauge(up_request_counts(a->ur), UP_GAUGE_SUSPENDED, -1);
    a->status = up_request_result(a->ur);
    a->ur = NULL;
    block = may_block(r, a->status);
    if (block && !side) {
        a->phase = UP_PHASE_END;
        return UP_TURN_SIDE;
    }
    a->r = NULL;
    return end_request(a, r, a->status, block);
}

/* A bell rings. Any thread. */
static void rung(void *baton)
{
    up_adopted_t *a = baton;

    up_loop_call(&a->watch);
}

static up_turn_e wait_parked(up_adopted_t *a)
{
    const up_want_t *want = up_request_want(a->ur);
    up_conn_t *conn;

    a->phase = UP_PHASE_PARKED;
    a->watch.deadline = want->until;
    if (a->stop_by
        && (!a->watch.deadline || a->stop_by < a->watch.deadline)) {
        a->watch.deadline = a->stop_by;
    }
    conn = up_request_conn(a->ur);
    if (conn && conn->fd >= 0) {
        up_loop_watch_backend(&a->watch, conn, want->backend & APR_POLLOUT);
    }
    if (want->bell) {
        up_bell_attach(want->bell, rung, a);
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
    apr_time_t now = up_clock_now();

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

    apr_atomic_set32(&a->at_work,
                     up_request_is_tunnel(a->ur) ? 0 : a->steps_key);
    do {
        verdict = up_request_step(a->ur);
    } while (verdict == UP_AGAIN);
    apr_atomic_set32(&a->at_work, 0);
    return verdict == UP_WAIT ? wait_parked(a) : exchange_done(a, side);
}

up_turn_e up_adopted_run_parked(up_adopted_t *a, unsigned int events,
                                int side)
{
    if (!side && !up_request_is_tunnel(a->ur) && up_slow_is(a->steps_key)) {
        return UP_TURN_SIDE;
    }
    tell_end(a);
    if (side || (events & UP_EV_TIMER)) {
        tell_time(a);
    }
    return step_on(a, side);
}

/* All that ap_process_async_request does before a request ends. */
static int run_whole(request_rec *r)
{
    int status = ap_run_quick_handler(r, 0);

    if (status == DECLINED) {
        status = ap_process_request_internal(r);
        if (status == OK) {
            status = ap_invoke_handler(r);
        }
    }
    return status;
}

/* The handler alone: the hooks before it have been run. */
static int run_handler(request_rec *r, const char *handler)
{
    const char *old = r->handler;
    int status;

    r->handler = handler;
    status = ap_run_handler(r);
    r->handler = old;
    if (status == DECLINED) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0511)
                      "no handler for %s (handler \"%s\")", r->uri, handler);
        status = HTTP_INTERNAL_SERVER_ERROR;
    }
    return status;
}

up_turn_e up_adopted_run_diverted(up_adopted_t *a)
{
    request_rec *r = a->r;
    int status;

    a->r = NULL;
    up_clientnet_hold(a->net, 0); /* it may block, and must, for a slow
                                     client */
    status = a->phase == UP_PHASE_WHOLE ? run_whole(r)
                                        : run_handler(r, a->handler);
    if (status == SUSPENDED) {
        up_clientnet_hold(a->net, 1);
        return after(a);
    }
    return end_request(a, r, status, 1);
}

up_turn_e up_adopted_run_end(up_adopted_t *a)
{
    request_rec *r = a->r;

    a->r = NULL;
    return end_request(a, r, a->status, 1);
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
            a->phase = a->diverted;
            return UP_TURN_SIDE;
        }
        ap_log_cerror(APLOG_MARK, APLOG_ERR, 0, a->c, UPLOGNO(0512)
                      "another module has suspended a connection that waits "
                      "in an upstream loop; closing it (UpstreamAsync off)");
        return up_adopted_linger(a);
    case CONN_STATE_WRITE_COMPLETION:
    case CONN_STATE_KEEPALIVE:
        a->phase = UP_PHASE_PROCESS;
        return up_adopted_write_on(a);
    default:
        return up_adopted_linger(a);
    }
}

/* ------------------------------------------------------------------------ */
/* what must not run on a loop */

/* The adopted connection whose loop runs this request now, else NULL. */
static up_adopted_t *on_loop(const request_rec *r)
{
    up_adopted_t *a;

    if (r->main || r->prev || r->connection->master) {
        return NULL;
    }
    a = up_adopted_of(r->connection);
    return a && a->on_loop ? a : NULL;
}

int up_adopted_on_loop(const request_rec *r)
{
    return on_loop(r) != NULL;
}

static int divert(up_adopted_t *a, request_rec *r, up_phase_e phase)
{
    a->r = r;
    a->diverted = phase;
    return SUSPENDED;
}

int up_adopted_divert(request_rec *r)
{
    up_adopted_t *a = on_loop(r);

    if (!a) {
        return DECLINED;
    }
    a->handler = r->handler;
    return divert(a, r, UP_PHASE_DIVERTED);
}

int up_adopted_divert_slow(request_rec *r)
{
    up_adopted_t *a = on_loop(r);
    apr_uint32_t key;

    if (!a) {
        return DECLINED;
    }
    key = up_slow_key(r, UP_SLOW_HOOKS);
    if (up_slow_is(key)) {
        return divert(a, r, UP_PHASE_WHOLE);
    }
    apr_atomic_set32(&a->at_work, key);
    return DECLINED;
}

int up_adopted_divert_end(request_rec *r, int status)
{
    up_adopted_t *a = on_loop(r);

    if (!a || !may_block(r, status)) {
        return status;
    }
    a->status = status;
    return divert(a, r, UP_PHASE_END);
}

/* Has the body of this request arrived? Chunks are not counted. */
static int body_is_there(up_adopted_t *a, const request_rec *r)
{
    const char *text = apr_table_get(r->headers_in, "Content-Length");
    apr_off_t length = 0;
    char *end;

    if (apr_table_get(r->headers_in, "Transfer-Encoding")) {
        return 0;
    }
    return !text
           || (apr_strtoff(&length, text, &end, 10) == APR_SUCCESS
               && up_ahead_holds(a->ahead, length));
}

void up_adopted_refuse_body(request_rec *r)
{
    conn_rec *c = r->connection;
    up_adopted_t *a = r->main || c->master ? NULL : up_adopted_of(c);

    if (a && a->on_loop && c->keepalive != AP_CONN_CLOSE
        && !body_is_there(a, r)) {
        c->keepalive = AP_CONN_CLOSE;
    }
}

void up_adopted_stuck(up_watch_t *watch)
{
    up_adopted_t *a = (up_adopted_t *)watch;
    apr_uint32_t key = apr_atomic_read32(&a->at_work);

    if (key) {
        up_slow_note(key);
    }
}
