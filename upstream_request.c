/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The machine's rows, its only setter, and what drivers call; the states and
 * what holds in them: upstream_machine.h. */

#include "upstream_request.h"

#include <stddef.h>
#include <string.h>

#include "apr_escape.h"
#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "config/phase_hooks.h"
#include "exchange/early_hints.h"
#include "exchange/error_type.h"
#include "exchange/jump.h"
#include "exchange/note.h"
#include "exchange/pass_value.h"
#include "exchange/request_head.h"
#include "exchange/request_target.h"
#include "exchange/tls_plan.h"
#include "peers/adhoc.h"
#include "peers/clerk.h"
#include "upstream_machine.h"

/* ------------------------------------------------------------------------ */
/* the rows */

typedef struct up_staterow_t {
    const char *name;
    const char *activity;    /* for the log: "... while <activity>" */
    up_stage_e stage;        /* the same, for who asks what has failed */
    up_verdict_e (*step)(up_request_t *ur);
    apr_size_t timer;        /* offset in up_settings_t, 0: none */
    const char *directive;   /* which sets that timer */
    unsigned int may_go;     /* bit set of the states that may follow */
} up_staterow_t;

#define BIT(state) (1u << (state))
#define TIMER(field) offsetof(up_settings_t, field)

static const up_staterow_t rows[] = {
    [UP_RECEIVE] = { "receive", "reading client request body", UP_STAGE_SELECT,
                     up_step_receive, 0, NULL,
                     BIT(UP_SELECT) | BIT(UP_FINISH) },
    [UP_SELECT] = { "select", "choosing an upstream", UP_STAGE_SELECT,
                    up_step_select, 0, NULL,
                    BIT(UP_CONNECT) | BIT(UP_NEXT) | BIT(UP_FINISH) },
    [UP_CONNECT] = { "connect", "connecting to upstream", UP_STAGE_CONNECT,
                     up_step_connect, TIMER(connect_timeout),
                     "UpstreamConnectTimeout",
                     BIT(UP_HANDSHAKE) | BIT(UP_SEND) | BIT(UP_NEXT)
                         | BIT(UP_FINISH) },
    [UP_HANDSHAKE] = { "handshake", "shaking hands with upstream (TLS)",
                       UP_STAGE_HANDSHAKE, up_step_handshake,
                       TIMER(connect_timeout), "UpstreamConnectTimeout",
                       BIT(UP_SEND) | BIT(UP_NEXT) | BIT(UP_FINISH) },
    [UP_SEND] = { "send", "sending request to upstream", UP_STAGE_SEND,
                  up_step_send, TIMER(send_timeout), "UpstreamSendTimeout",
                  BIT(UP_HEAD) | BIT(UP_NEXT) | BIT(UP_FINISH) },
    [UP_HEAD] = { "head", "reading response header from upstream",
                  UP_STAGE_HEAD, up_step_head, TIMER(read_timeout),
                  "UpstreamReadTimeout",
                  BIT(UP_BODY) | BIT(UP_TUNNEL) | BIT(UP_NEXT)
                      | BIT(UP_FINISH) },
    [UP_BODY] = { "body", "reading upstream", UP_STAGE_BODY, up_step_body, 0,
                  "UpstreamReadTimeout", BIT(UP_FINISH) },
    [UP_TUNNEL] = { "tunnel", "proxying upgraded connection", UP_STAGE_TUNNEL,
                    up_step_tunnel, 0, "UpstreamTunnelTimeout",
                    BIT(UP_FINISH) },
    [UP_NEXT] = { "next", "choosing an upstream", UP_STAGE_SELECT,
                  up_step_next, 0, NULL,
                  BIT(UP_SELECT) | BIT(UP_CONNECT) | BIT(UP_FINISH) },
    [UP_FINISH] = { "finish", "finishing", UP_STAGE_SELECT, up_step_finish, 0,
                    NULL, BIT(UP_ENDED) },
    [UP_ENDED] = { "ended", "finishing", UP_STAGE_SELECT, NULL, 0, NULL, 0 },
};

static apr_interval_time_t timer_of(const up_request_t *ur, up_state_e state)
{
    apr_size_t offset = rows[state].timer;

    return offset ? *(const apr_interval_time_t *)((const char *)ur->settings
                                                   + offset)
                  : 0;
}

void up_machine_rearm(up_request_t *ur)
{
    apr_interval_time_t timer = timer_of(ur, ur->state);

    ur->deadline = timer ? up_clock_now() + timer : 0;
    ur->owes = 0;
}

up_verdict_e up_machine_go(up_request_t *ur, up_state_e to, const char *why)
{
    ap_assert(rows[ur->state].may_go & BIT(to));
    ap_log_rerror(APLOG_MARK, APLOG_TRACE1, 0, ur->r, "%s -> %s (%s)",
                  rows[ur->state].name, rows[to].name, why);
    if (to != UP_NEXT && to != UP_FINISH && to != UP_ENDED) {
        ur->trail->activity = rows[to].activity;
        ur->stage = rows[to].stage;
    }
    ur->state = to;
    up_machine_rearm(ur);
    return UP_AGAIN;
}

/* The failure in a word, unless who found it knows better. */
static void name_failure(const up_request_t *ur, up_try_t *tried)
{
    up_error_facts_t facts = {
        .fail = ur->fail,
        .stage = ur->stage,
        .rv = ur->rv,
        .total = up_machine_total_over(ur),
        .answered = ur->leg.received > 0
    };

    if (!tried->error) {
        tried->error = up_errortype_of(&facts);
    }
}

up_verdict_e up_machine_fail(up_request_t *ur, unsigned int bit,
                             apr_status_t rv, const char *reason)
{
    up_try_t *tried = up_trail_last(ur->trail);

    ur->fail = bit;
    ur->rv = rv;
    up_machine_note_failure(ur, bit);
    ur->reason = reason;
    tried->fail = bit;
    tried->status = up_retry_status(bit);
    name_failure(ur, tried);
    return up_machine_go(ur, UP_NEXT, reason);
}

up_verdict_e up_machine_finish(up_request_t *ur, int result, const char *why)
{
    ur->result = result;
    return up_machine_go(ur, UP_FINISH, why);
}

up_verdict_e up_machine_wait(up_request_t *ur, apr_int16_t backend,
                             apr_int16_t client)
{
    ur->want.backend = backend;
    ur->want.client = client;
    ur->want.until = ur->deadline;
    ur->want.bell = NULL;
    if (up_client_pending(ur->client)
        && up_client_write(ur->client) == APR_EAGAIN) {
        ur->want.client |= APR_POLLOUT;
    }
    return UP_WAIT;
}

up_bell_t *up_machine_bell(up_request_t *ur)
{
    if (!ur->bell && up_bell_make(&ur->bell) != APR_SUCCESS) {
        ur->bell = NULL;
    }
    return ur->bell;
}

up_verdict_e up_machine_wait_bell(up_request_t *ur)
{
    up_verdict_e verdict = up_machine_wait(ur, 0, 0);

    ur->want.bell = ur->bell;
    return verdict;
}

void up_machine_unhang_bell(up_request_t *ur)
{
    if (ur->bell) {
        up_bell_mute(ur->bell);
        up_bell_drop(ur->bell);
        ur->bell = NULL;
    }
}

void up_machine_await_client(up_request_t *ur)
{
    if (!ur->owes || ur->reads != ur->body->reads) {
        ur->owes = 1;
        ur->reads = ur->body->reads;
        ur->deadline = up_clock_now() + ur->r->server->timeout;
    }
}

const char *up_machine_peer_name(const up_request_t *ur)
{
    const up_try_t *tried = up_trail_last(ur->trail);

    return tried ? tried->peer : ur->pass->group->name;
}

/* ------------------------------------------------------------------------ */
/* for drivers */

/* The machine must not outlive its request with something in its hands. */
static apr_status_t abandoned(void *data)
{
    up_request_t *ur = data;

    if (ur->state != UP_ENDED) {
        up_machine_unqueue(ur);
        up_machine_release(ur, 0, UP_OUTCOME_OK);
        up_machine_unhang_bell(ur);
    }
    return APR_SUCCESS;
}

static apr_status_t let_group_go(void *group)
{
    up_adhoc_give(group);
    return APR_SUCCESS;
}

/* A host that no group has: one of its own, as long as the request. */
static int hold_group(up_request_t *ur)
{
    up_pass_t *pass = apr_pmemdup(ur->r->pool, ur->pass, sizeof(*pass));
    int called;

    pass->group = up_adhoc_take(pass, ur->settings->resolver, &called);
    if (called) {
        up_clerk_call();
    }
    if (!pass->group) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ur->r, UPLOGNO(0761)
                      "no place for upstream %s: %d hosts that an expression "
                      "of UpstreamPass gave are in use", pass->url,
                      up_adhoc_count());
        return HTTP_SERVICE_UNAVAILABLE;
    }
    apr_pool_cleanup_register(ur->r->pool, pass->group, let_group_go,
                              apr_pool_cleanup_null);
    ur->pass = pass;
    return OK;
}

/* UpstreamPass, evaluated. */
static int evaluate_pass(up_request_t *ur)
{
    const up_pass_t *pass = ur->pass;
    const char *error = NULL;
    int status = HTTP_INTERNAL_SERVER_ERROR;

    ur->pass = up_passvalue_of(ur->r, pass, &status, &error);
    if (!ur->pass) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ur->r, UPLOGNO(0760)
                      "no URL for UpstreamPass %s: %s", pass->url, error);
        return status;
    }
    if (!ur->pass->group) {
        return hold_group(ur);
    }
    return OK;
}

/* What is said on a connection before the request, and so makes it another.
 * A connection for one client is no other client's. */
static int prepare_handshake(up_request_t *ur)
{
    request_rec *r = ur->r;
    const char *client = "";

    if (ur->settings->proxy_protocol) {
        ur->greeting = up_proxyline_of(r, ur->settings->proxy_protocol,
                                       &ur->greeting_len);
        client = apr_pescape_hex(r->pool, ur->greeting, ur->greeting_len, 0);
        ur->key.identity = client;
    }
    if (ur->pass->tls) {
        ur->plan = up_tlsplan_of(r, ur->settings, ur->pass);
        if (!ur->plan) {
            return 0;
        }
        ur->key.identity = *client ? apr_pstrcat(r->pool, ur->plan->identity,
                                                 " ", client, NULL)
                                   : ur->plan->identity;
    }
    return 1;
}

/* The parts that need nothing of a backend. */
/* UpstreamRetryKey: the application sees that it has had the request. */
static int has_key(const request_rec *r, const up_settings_t *settings)
{
    const char *key = settings->retry_key
                          ? apr_table_get(r->headers_in, settings->retry_key)
                          : NULL;

    return key && *key;
}

static int prepare(up_request_t *ur)
{
    request_rec *r = ur->r;
    up_note_t *note = up_note_make(r);
    const char *error = NULL;
    const char *method;
    int status = evaluate_pass(ur);

    if (status != OK) {
        return status;
    }
    note->pass = ur->pass;
    ur->target = up_target_of(r, ur->settings, ur->pass, note->target_baton,
                              &status, &error);
    if (!ur->target) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0428)
                      "no request target for %s: %s", ur->pass->url, error);
        return status;
    }
    method = up_reqhead_method(r, ur->settings);
    if (!method) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    ur->leg.head_request = strcmp(method, "HEAD") == 0;
    ur->idempotent = up_retry_idempotent(r->method) || has_key(r, ur->settings);
    if (ur->settings->bind) {
        const char *bind = up_text_value(r, ur->settings->bind);

        if (!bind) {
            return HTTP_INTERNAL_SERVER_ERROR;
        }
        ur->key.bind = *bind ? bind : NULL;
        ur->key.transparent = ur->settings->bind_transparent;
    }
    if (!prepare_handshake(ur)) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (ur->pass->group->keepalive_local) {
        ur->key.location = ur->pass->written ? ur->pass->written : ur->pass;
    }
    return OK;
}

up_request_t *up_request_make(request_rec *r, const up_pass_t *pass,
                              int *pstatus)
{
    const up_settings_t *settings = up_settings_of(r);
    up_request_t *ur = apr_pcalloc(r->pool, sizeof(*ur));

    ur->r = r;
    ur->settings = settings;
    ur->pass = pass;
    *pstatus = prepare(ur);
    if (*pstatus != OK) {
        return NULL;
    }
    ur->trail = up_trail_make(r->pool, up_note_trail(r->prev));
    ur->trail->pass = ur->pass;
    ur->trail->activity = rows[UP_RECEIVE].activity;
    up_note_make(r)->trail = ur->trail;
    *pstatus = up_hooks_pre_connect(r, ur);
    if (*pstatus != OK) {
        return NULL;
    }
    ur->client = up_client_open(r);
    ur->body = up_reqbody_make(r, settings, ur->client);
    up_jump_bring_body(r, ur->body);
    up_note_make(r)->body = ur->body;
    ur->leg.wire = &up_wire_h1;
    ur->leg.body = ur->body;
    ur->leg.interim_baton = up_hints_make(r, settings, ur->client);
    if (ur->leg.interim_baton) {
        ur->leg.on_interim = up_hints_relay;
    }
    ur->leg.lenient = settings->lenient_framing;
    ur->leg.max_head = (apr_size_t)settings->max_header_size;
    ur->leg.max_trailer = ur->leg.max_head;
    if (settings->pass_trailers) {
        ur->leg.trailer_pool = r->pool;
        ur->leg.max_trailer = (apr_size_t)settings->buffer_size;
    }
    ur->leg.parser = up_parser_make(r->pool,
                                    (apr_size_t)settings->buffer_size,
                                    (apr_size_t)settings->max_header_size);
    ur->pick = up_balancer_begin(r->pool, r, ur->pass->group->peers,
                                 settings->next_upstream_tries);
    up_machine_stick(ur);
    ur->state = UP_RECEIVE;
    ur->queue_time = -1;
    apr_pool_cleanup_register(r->pool, ur, abandoned, apr_pool_cleanup_null);
    return ur;
}

/* A backend that is never silent is found out here, others by their driver:
 * see up_request_expire. */
up_verdict_e up_request_step(up_request_t *ur)
{
    up_verdict_e verdict;

    if (up_machine_total_over(ur)) {
        up_machine_total_expire(ur);
    }
    else if (up_machine_try_over(ur)) {
        up_machine_fail(ur, UP_FAIL_TIMEOUT, 0,
                        "timed out (UpstreamNextUpstreamTryTimeout)");
    }
    verdict = rows[ur->state].step(ur);
    if (verdict == UP_WAIT && ur->leg.conn) {
        ur->want.backend = up_conn_events(ur->leg.conn, ur->want.backend);
    }
    if (verdict == UP_WAIT && up_machine_total_counts(ur)) {
        up_want_until(&ur->want, ur->total_until);
    }
    if (verdict == UP_WAIT && up_machine_try_counts(ur)) {
        up_want_until(&ur->want, ur->try_until);
    }
    return ur->state == UP_ENDED ? UP_DONE : verdict;
}

const up_want_t *up_request_want(const up_request_t *ur)
{
    return &ur->want;
}

/* A deadline of the backend's has passed. */
static void timed_out(up_request_t *ur)
{
    const char *directive = rows[ur->state].directive;

    up_machine_fail(ur, UP_FAIL_TIMEOUT, 0,
                    apr_psprintf(ur->r->pool, "timed out (%s)", directive));
}

void up_request_expire(up_request_t *ur)
{
    if (up_machine_total_over(ur) || up_machine_try_over(ur)) {
        return; /* the next step begins with that */
    }
    switch (ur->state) {
    case UP_RECEIVE:
        up_machine_finish(ur, HTTP_REQUEST_TIME_OUT, "client body timed out");
        break;
    case UP_SEND:
        if (up_reqbody_starved(ur->body)) {
            up_machine_finish(ur, HTTP_REQUEST_TIME_OUT,
                              "client body timed out");
            break;
        }
        timed_out(ur);
        break;
    case UP_SELECT:
        if (!up_machine_stick_expire(ur) && !up_machine_queue_expire(ur)
            && ur->awaits_name) {
            up_machine_name_expired(ur);
        }
        break;
    case UP_CONNECT:
    case UP_HANDSHAKE:
    case UP_HEAD:
        timed_out(ur);
        break;
    case UP_BODY: {
        apr_status_t rv = up_pipe_expire(ur->pipe, up_clock_now());

        if (rv != APR_EAGAIN) {
            up_machine_body_failed(ur, rv);
        }
        break;
    }
    case UP_TUNNEL:
        up_machine_tunnel_expire(ur);
        break;
    default:
        break;
    }
}

static int is_over(const up_request_t *ur)
{
    return ur->state == UP_FINISH || ur->state == UP_ENDED;
}

/* The client gets no more: with nothing so far, it is logged as gone. */
static void leave_client(up_request_t *ur, const char *why)
{
    up_machine_finish(ur, ur->client->header_out ? OK : UP_STATUS_CLIENT_GONE,
                      why);
}

/* A response that is stored is of use without its client, too. */
static int ignores_abort(const up_request_t *ur)
{
    return ur->settings->ignore_client_abort
           || (up_store_asked(ur->r, ur->settings)
               && (!ur->pipe || up_pipe_storing(ur->pipe)));
}

void up_request_client_end(up_request_t *ur, int hangup)
{
    if (is_over(ur)) {
        return;
    }
    if (ur->state == UP_TUNNEL) {
        up_tunnel_client_end(ur->tunnel, hangup);
        return;
    }
    if (ignores_abort(ur)) {
        ur->client->half_closed = 1;
        if (hangup) {
            ur->client->fd = -1; /* poll would report it for ever */
        }
        return;
    }
    if (!up_client_gone(ur->client, hangup)) {
        return;
    }
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, ur->r, UPLOGNO(0429)
                  "client closed connection while %s, so the upstream "
                  "connection is closed too", ur->trail->activity);
    ur->trail->client_aborted = 1;
    leave_client(ur, "client gone");
}

void up_request_on_leave(up_request_t *ur, void (*leaving)(void *baton),
                         void *baton)
{
    ur->leaving = leaving;
    ur->leaving_baton = baton;
}

void up_request_abort(up_request_t *ur)
{
    if (is_over(ur)) {
        return;
    }
    if (ur->state == UP_TUNNEL) {
        up_machine_tunnel_stop(ur);
        return;
    }
    ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, ur->r, UPLOGNO(0430)
                  "given up while %s: the server is stopping "
                  "(UpstreamShutdownTimeout)", ur->trail->activity);
    ur->r->connection->aborted = 1;
    leave_client(ur, "server stopping");
}

int up_request_backend_fd(const up_request_t *ur)
{
    return ur->leg.conn ? ur->leg.conn->fd : -1;
}

up_conn_t *up_request_conn(const up_request_t *ur)
{
    return ur->leg.conn;
}

int up_request_client_fd(const up_request_t *ur)
{
    return ur->client->fd;
}

int up_request_watches_client(const up_request_t *ur)
{
    return ur->client->net && !ur->client->half_closed;
}

int up_request_is_tunnel(const up_request_t *ur)
{
    return ur->state == UP_TUNNEL;
}

int up_request_result(up_request_t *ur)
{
    request_rec *r = ur->r;

    if (ur->result != UP_STATUS_CLIENT_GONE) {
        return ur->result;
    }
    r->status = UP_STATUS_CLIENT_GONE;
    r->status_line = "499 Client Closed Request";
    r->connection->aborted = 1;
    r->connection->keepalive = AP_CONN_CLOSE;
    return OK;
}
