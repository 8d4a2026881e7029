/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The response's body, the decision after a failure, the only exit. */

#include <string.h>

#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "config/phase_hooks.h"
#include "exchange/error_type.h"
#include "exchange/proxy_status.h"
#include "exchange/trailers.h"
#include "http_core.h"
#include "upstream_machine.h"

/* ------------------------------------------------------------------------ */
/* BODY */

static void tell_change(const up_request_t *ur, up_change_e change)
{
    const char *server = up_trail_last(ur->trail)->peer;

    if (change == UP_CHANGE_NONE) {
        return;
    }
    if (change == UP_CHANGE_OUT) {
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, ur->r, UPLOGNO(0424)
                      "upstream server %s temporarily disabled "
                      "(max_fails, fail_timeout of UpstreamServer)", server);
    }
    up_hooks_peer_state_changed(ur->pass->group->name, server,
                                change == UP_CHANGE_OUT ? UP_PEER_OUT
                                                        : UP_PEER_UP);
}

void up_machine_release(up_request_t *ur, int reusable,
                        up_outcome_e outcome)
{
    up_try_t *tried = up_trail_last(ur->trail);
    apr_time_t now = up_clock_now();
    up_timing_t timing;

    if (ur->leg.conn) {
        if (ur->leaving) {
            ur->leaving(ur->leaving_baton);
        }
        tried->sent = ur->leg.sent;
        tried->received = ur->leg.received;
        tried->response_length = ur->leg.body_received;
        if (reusable) {
            up_pool_give(ur->leg.conn);
        }
        else {
            up_pool_drop(ur->leg.conn);
        }
        ur->leg.conn = NULL;
    }
    ur->connecting = 0;
    up_trail_close(ur->trail, now);
    if (ur->peer) {
        timing.header = tried->header_time;
        timing.response = tried->response_time;
        up_machine_count_try(ur, ur->peer);
        tell_change(ur, up_balancer_done(ur->pick, ur->peer, outcome, &timing,
                                         now));
        ur->peer = NULL;
    }
}

static void log_surplus(up_request_t *ur)
{
    if (ur->leg.surplus) {
        up_counts_add(ur->peer->counts, UP_COUNT_UNEXPECTED_DATA, 1);
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, ur->r, UPLOGNO(0425)
                      "upstream %s sent more data than its response has; the "
                      "rest is dropped and the connection closed",
                      up_machine_peer_name(ur));
    }
}

/* Of a try, what the log says about it: which one in the order of
 * UPSTREAM_ADDR, on what connection, for how long. */
static const char *about_try(const up_request_t *ur)
{
    const up_try_t *tried = up_trail_last(ur->trail);
    const char *connection = "";

    if (ur->fail != UP_FAIL_NOLIVE) {
        connection = tried->reused ? ", pooled connection"
                                   : ", new connection";
    }
    return apr_psprintf(ur->r->pool, "group %s, try %d%s, after %.3f s",
                        ur->pass->group->name, ur->trail->tries->nelts,
                        connection,
                        (double)(up_clock_now() - tried->started)
                            / APR_USEC_PER_SEC);
}

/* What the client has of a response that failed on its way. */
static const char *left_with(const up_request_t *ur, up_pipe_end_e end)
{
    if (end == UP_PIPE_CLIENT) {
        return "the client is given up";
    }
    return end == UP_PIPE_CUT || ur->client->header_out
               ? "the client got a truncated response"
               : "the client gets a 500";
}

/* An output filter has refused the response and sent an error page in its
 * place: that is the answer, whole and well. */
static int answered_by_filter(const up_request_t *ur)
{
    return up_pipe_end(ur->pipe) == UP_PIPE_CLIENT && ur->r->eos_sent
           && !ur->r->connection->aborted;
}

static void log_body_failed(const up_request_t *ur, apr_status_t rv,
                            const char *left)
{
    up_pipe_end_e end = up_pipe_end(ur->pipe);

    ap_log_rerror(APLOG_MARK,
                  end == UP_PIPE_CLIENT ? APLOG_INFO : APLOG_ERR,
                  end == UP_PIPE_CUT && rv == APR_INCOMPLETE ? 0 : rv, ur->r,
                  UPLOGNO(0426) "%s%s while reading upstream, upstream: "
                  "\"%s://%s%s\", %" APR_OFF_T_FMT " body bytes received, "
                  "%s: %s",
                  end == UP_PIPE_CUT ? "upstream " : "",
                  up_pipe_error(ur->pipe) ? up_pipe_error(ur->pipe)
                                          : "the response failed",
                  up_pass_scheme(ur->pass), up_machine_peer_name(ur),
                  ur->target, ur->leg.body_received,
                  about_try(ur), left);
}

int up_machine_total_counts(const up_request_t *ur)
{
    switch (ur->state) {
    case UP_SELECT:
        return ur->total_until && (ur->place.queue || ur->awaits_name);
    case UP_CONNECT:
    case UP_HANDSHAKE:
    case UP_SEND:
    case UP_HEAD:
        return ur->total_until != 0;
    case UP_BODY:
        return ur->total_until && up_pipe_end(ur->pipe) == UP_PIPE_OPEN;
    default:
        return 0;
    }
}

int up_machine_total_over(const up_request_t *ur)
{
    return up_machine_total_counts(ur) && up_clock_now() >= ur->total_until;
}

void up_machine_total_expire(up_request_t *ur)
{
    const char *reason = "timed out (UpstreamTotalTimeout)";
    up_try_t *tried = up_trail_last(ur->trail);

    if (ur->state == UP_SELECT) {
        up_machine_select_expire(ur, reason);
        return;
    }
    if (ur->state != UP_BODY) {
        up_machine_fail(ur, UP_FAIL_TIMEOUT, 0, reason);
        return;
    }
    up_pipe_cut(ur->pipe, APR_TIMEUP, reason);
    tried->error = "http_response_timeout";
    if (!ur->client->header_out) {
        log_body_failed(ur, APR_TIMEUP, "the client gets a 504");
        up_machine_finish(ur, HTTP_GATEWAY_TIME_OUT, "total time is over");
    }
}

up_verdict_e up_machine_body_failed(up_request_t *ur, apr_status_t rv)
{
    up_pipe_end_e end = up_pipe_end(ur->pipe);
    conn_rec *c = ur->r->connection;

    if (answered_by_filter(ur)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, rv, ur->r, UPLOGNO(0531)
                      "an output filter has answered in place of upstream %s",
                      up_machine_peer_name(ur));
        return up_machine_finish(ur, OK, "answered by a filter");
    }
    log_body_failed(ur, rv, left_with(ur, end));
    if (end != UP_PIPE_CLIENT && !up_trail_last(ur->trail)->error) {
        up_trail_last(ur->trail)->error = up_errortype_of_body(rv);
    }
    if (end == UP_PIPE_CUT) {
        return up_machine_finish(ur, OK, "response cut");
    }
    if (!ur->client->header_out) {
        return up_machine_finish(ur, end == UP_PIPE_CLIENT
                                         ? UP_STATUS_CLIENT_GONE
                                         : HTTP_INTERNAL_SERVER_ERROR,
                                 "relay failed");
    }
    c->aborted = 1; /* no last chunk may follow */
    return up_machine_finish(ur, OK, "relay failed");
}

/* Not to a backend that has refused it or will close (RFC 9112 9.6). */
int up_machine_uploading(const up_request_t *ur)
{
    const up_head_t *head = ur->trail->head;

    return !ur->leg.broken && !up_reqbody_sent(ur->body)
           && head->status < 300 && !ur->leg.framing.close;
}

/* The request half, while the response is relayed. */
static void pump_on(up_request_t *ur, up_want_t *want)
{
    apr_status_t rv;

    if (!ur->leg.conn || !up_machine_uploading(ur)) {
        return;
    }
    rv = up_machine_pump(ur);
    if (rv == APR_EAGAIN) {
        if (up_reqbody_starved(ur->body)) {
            want->client |= APR_POLLIN;
        }
        else {
            want->backend |= APR_POLLOUT;
        }
    }
    else if (rv != APR_SUCCESS) {
        ur->leg.broken = 1; /* the response may still be whole */
    }
}

void up_machine_body_read(void *baton)
{
    up_request_t *ur = baton;

    log_surplus(ur);
    if (ur->leg.trailers) {
        ur->trail->trailers = ur->leg.trailers;
        up_trailers_respond(ur->r, ur->settings, ur->leg.trailers);
    }
    ur->want.backend = 0;
    up_machine_stick_learn(ur);
    up_machine_release(ur, ur->leg.wire->reusable(&ur->leg), UP_OUTCOME_OK);
}

up_verdict_e up_step_body(up_request_t *ur)
{
    up_want_t *want = &ur->want;
    apr_status_t rv;

    memset(want, 0, sizeof(*want));
    pump_on(ur, want);
    rv = up_pipe_step(ur->pipe, want);
    if (rv == APR_EAGAIN) {
        return UP_WAIT;
    }
    if (rv != APR_SUCCESS) {
        return up_machine_body_failed(ur, rv);
    }
    return up_machine_finish(ur, OK, "response complete");
}

/* ------------------------------------------------------------------------ */
/* NEXT, FINISH */

static void log_failure(const up_request_t *ur, up_retry_e decision,
                        const up_retry_facts_t *facts)
{
    const up_try_t *tried = up_trail_last(ur->trail);
    const char *what_now = up_retry_obstacle(facts);
    int level = APLOG_ERR;

    if (decision == UP_RETRY_NEXT) {
        level = APLOG_WARNING;
        what_now = "trying the next server";
    }
    else if (decision == UP_RETRY_STALE) {
        level = APLOG_INFO;
        what_now = "trying again on a new connection";
    }
    ap_log_rerror(APLOG_MARK, level, ur->rv, ur->r, UPLOGNO(0427)
                  "%s%s while %s, upstream: \"%s://%s%s\", %s: %s",
                  ur->fail == UP_FAIL_NOLIVE || ur->rv ? "" : "upstream ",
                  ur->reason, ur->trail->activity, up_pass_scheme(ur->pass),
                  tried->peer, ur->target, about_try(ur), what_now);
}

static up_verdict_e try_again_fresh(up_request_t *ur)
{
    up_peer_t *peer = ur->peer;

    ur->peer = NULL; /* the peer stays taken: no failure, no try used */
    up_machine_release(ur, 0, UP_OUTCOME_OK);
    up_machine_count_try(ur, peer);
    ur->peer = peer;
    ur->stale_used = 1;
    ur->fresh = 1;
    up_trail_open(ur->trail, apr_pstrdup(ur->r->pool, peer->name),
                  up_clock_now());
    return up_machine_go(ur, UP_CONNECT, "stale connection");
}

/* A server that came second has had what was left of the total time: that it
 * was too short says nothing about it. */
static up_outcome_e outcome_of(const up_request_t *ur,
                               const up_retry_facts_t *facts)
{
    if (facts->total_over && ur->trail->tries->nelts > 1) {
        return UP_OUTCOME_NONE;
    }
    if (facts->fail & (UP_FAIL_HTTP_403 | UP_FAIL_HTTP_404)) {
        return UP_OUTCOME_NEXT;
    }
    return up_retry_stale(facts) ? UP_OUTCOME_NONE : UP_OUTCOME_FAILED;
}

up_verdict_e up_step_next(up_request_t *ur)
{
    up_retry_facts_t facts;
    up_retry_e decision;
    unsigned int fail = ur->fail;

    up_machine_facts(ur, fail, &facts);
    decision = up_machine_decide(ur, &facts);
    log_failure(ur, decision, &facts);
    up_machine_count_failure(ur, decision);
    if (decision == UP_RETRY_STALE) {
        return try_again_fresh(ur);
    }
    up_machine_release(ur, 0, outcome_of(ur, &facts));
    if (decision == UP_RETRY_NEXT) {
        return up_machine_go(ur, UP_SELECT, "next upstream");
    }
    return up_machine_finish(ur, up_retry_status(fail), "no other try");
}

/* Could the connection serve another request although this response was not
 * relayed? When no more of it is to come than is there already: that much is
 * read and thrown away. */
static int spared(up_request_t *ur)
{
    up_leg_t *leg = &ur->leg;
    apr_status_t rv = APR_SUCCESS;
    char scrap[4096];

    if (!leg->conn || !ur->trail->head || ur->pipe) {
        return 0;
    }
    while (rv == APR_SUCCESS && !leg->framing.close
           && leg->body_received < (apr_off_t)leg->max_head) {
        apr_size_t len = sizeof(scrap);

        rv = leg->wire->read_body(leg, scrap, &len);
    }
    return leg->wire->reusable(leg);
}

up_verdict_e up_step_finish(up_request_t *ur)
{
    conn_rec *c = ur->r->connection;

    if (ur->trail->head) {
        up_machine_stick_learn(ur);
    }
    up_machine_release(ur, spared(ur), ur->trail->head ? UP_OUTCOME_OK
                                                         : UP_OUTCOME_NONE);
    up_machine_count_end(ur);
    up_machine_unqueue(ur);
    up_machine_unhang_bell(ur);
    if (ap_is_HTTP_ERROR(ur->result)) {
        up_proxystatus_add(ur->r, ur->settings, up_trail_last(ur->trail),
                           ur->r->err_headers_out);
    }
    up_machine_tell_failed(ur);
    up_hooks_log(ur->r, ur);
    up_client_close(ur->client);
    if (!ur->body->whole) {
        c->keepalive = AP_CONN_CLOSE; /* do not wait for its rest */
    }
    return up_machine_go(ur, UP_ENDED, "released");
}

