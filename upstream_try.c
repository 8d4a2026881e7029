/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* A try, from the client's body to the backend's response head. */

#include <string.h>

#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "config/phase_hooks.h"
#include "exchange/force_ranges.h"
#include "exchange/rate.h"
#include "exchange/jump.h"
#include "exchange/proxy_status.h"
#include "exchange/request_head.h"
#include "exchange/response_head.h"
#include "exchange/trailers.h"
#include "exchange/wishes.h"
#include "http_core.h"
#include "http_protocol.h"
#include "mod_core.h"
#include "peers/names.h"
#include "upstream_machine.h"

/* ------------------------------------------------------------------------ */
/* RECEIVE, SELECT, CONNECT */

/* Builds the head, once for all tries. */
static apr_status_t build_head(up_request_t *ur)
{
    up_reqhead_t what = { 0 };
    apr_bucket *bucket;
    apr_status_t rv = up_reqbody_frame(ur->body);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    what.pass = ur->pass;
    what.target = ur->target;
    what.body_length = ur->body->length;
    what.chunked = ur->body->chunked;
    what.kept = up_hooks_want_request();
    rv = up_reqhead_build(ur->r, ur->settings, &what,
                          ur->r->connection->bucket_alloc, &bucket);
    if (rv == APR_SUCCESS) {
        up_reqbody_begin(ur->body, bucket);
        ur->leg.upgrade = what.upgrade;
        ur->head = what.kept ? apr_pmemdup(ur->r->pool, &what, sizeof(what))
                             : NULL;
    }
    return rv;
}

/* For the log: AP_FILTER_ERROR, which says that httpd's input filter has
 * answered the client already, is no status of APR's. */
static apr_status_t known(apr_status_t rv)
{
    return rv == AP_FILTER_ERROR ? 0 : rv;
}

up_verdict_e up_step_receive(up_request_t *ur)
{
    apr_status_t rv = up_reqbody_gather(ur->body);

    if (rv == APR_EAGAIN) {
        up_machine_await_client(ur);
        return up_machine_wait(ur, 0, APR_POLLIN);
    }
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, known(rv), ur->r, UPLOGNO(0421)
                      "cannot read the client's request body, answering %d",
                      rv == AP_FILTER_ERROR ? ur->r->status
                                            : ur->body->status);
        return up_machine_finish(ur, ur->body->status, "client body failed");
    }
    if (build_head(ur) != APR_SUCCESS) {
        return up_machine_finish(ur, HTTP_INTERNAL_SERVER_ERROR,
                                 "no request head");
    }
    return up_machine_go(ur, UP_SELECT, "body ready");
}

/* Is the host of an evaluated UpstreamPass still being looked up? */
static int awaits_name(up_request_t *ur)
{
    up_peers_t *peers = ur->pass->group->peers;
    up_bell_t *bell;

    if (!ur->pass->group->adhoc || !up_names_pending(peers)) {
        return 0;
    }
    bell = up_machine_bell(ur);
    if (!bell) {
        return 0;
    }
    up_bell_heed(bell);
    if (ur->awaits_name) {
        return up_names_pending(peers);
    }
    ur->awaits_name = up_names_wait(peers, bell);
    ur->deadline = up_clock_now() + ur->settings->resolver_timeout;
    return ur->awaits_name;
}

void up_machine_name_expired(up_request_t *ur)
{
    ur->awaits_name = 0;
    up_trail_open(ur->trail, ur->pass->group->name, up_clock_now());
    up_machine_fail(ur, UP_FAIL_NOLIVE, 0, "the host could not be looked up "
                    "in time (UpstreamResolverTimeout)");
}

/* From here on the time for all tries counts. */
static void begin(up_request_t *ur, apr_time_t now)
{
    ur->started = now;
    if (ur->settings->total_timeout) {
        ur->total_until = now + ur->settings->total_timeout;
    }
}

int up_machine_try_counts(const up_request_t *ur)
{
    return ur->try_until
           && (ur->state == UP_CONNECT || ur->state == UP_HANDSHAKE
               || ur->state == UP_HEAD
               || (ur->state == UP_SEND && ur->body->whole));
}

int up_machine_try_over(const up_request_t *ur)
{
    return up_machine_try_counts(ur) && up_clock_now() >= ur->try_until;
}

/* From now on the time of this try counts, all over again. */
static void begin_try(up_request_t *ur, apr_time_t now)
{
    ur->try_until = ur->settings->try_timeout
                        ? now + ur->settings->try_timeout : 0;
}

up_verdict_e up_step_select(up_request_t *ur)
{
    apr_time_t now = up_clock_now();
    up_verdict_e verdict;
    up_try_t *tried;

    if (!ur->started) {
        begin(ur, now);
    }
    if (awaits_name(ur)) {
        return up_machine_wait_bell(ur);
    }
    if (ur->awaits_name) {
        ur->awaits_name = 0;
        up_balancer_recount(ur->pick, ur->settings->next_upstream_tries);
    }
    if (up_machine_stick_awaits(ur, now)) {
        return up_machine_wait_bell(ur);
    }
    up_machine_wish(ur);
    verdict = up_machine_choose(ur, now);
    if (verdict == UP_WAIT || ur->state != UP_SELECT) {
        return verdict;
    }
    if (ur->queue_time >= 0 && !ur->trail->tries->nelts) {
        ur->started = now; /* tries have all their time after the queue */
    }
    /* a copy: the trail lives longer than a peer may */
    tried = up_trail_open(ur->trail,
                          ur->peer ? apr_pstrdup(ur->r->pool, ur->peer->name)
                                   : ur->pass->group->name, now);
    if (ur->trail->tries->nelts == 1) {
        tried->queue_time = ur->queue_time;
    }
    if (!ur->peer) {
        return up_machine_fail(ur, UP_FAIL_NOLIVE, 0, "no live upstreams");
    }
    ur->asked = 0;
    ur->fresh = 0;
    begin_try(ur, now);
    return up_machine_go(ur, UP_CONNECT, ur->peer->name);
}

up_verdict_e up_machine_connected(up_request_t *ur)
{
    up_try_t *tried = up_trail_last(ur->trail);
    up_conn_t *conn = ur->leg.conn;

    ur->waited = ur->connecting;
    ur->connecting = 0;
    tried->reused = conn->reused;
    tried->connect_time = conn->reused ? 0 : up_clock_now() - tried->started;
    conn->requests++;
    return up_machine_ready(ur, conn->reused ? "pooled connection"
                                             : "connected");
}

/* The socket is connected. The time that connecting may take goes on until
 * the handshake has ended. */
static up_verdict_e socket_connected(up_request_t *ur)
{
    apr_time_t until = ur->deadline;

    if (!up_machine_shakes_hands(ur)) {
        return up_machine_connected(ur);
    }
    up_machine_go(ur, UP_HANDSHAKE, "connected");
    ur->greeted = 0;
    ur->deadline = until;
    return UP_AGAIN;
}

/* What came of connecting, at once or in the end. */
static up_verdict_e connect_result(up_request_t *ur, apr_status_t rv,
                                   int local)
{
    if (rv == APR_SUCCESS) {
        return socket_connected(ur);
    }
    if (rv == APR_EAGAIN) {
        ur->connecting = 1;
        return up_machine_wait(ur, ur->leg.conn->want, 0);
    }
    if (local) {
        ap_log_rerror(APLOG_MARK, APLOG_CRIT, rv, ur->r, UPLOGNO(0422)
                      "cannot make a socket for upstream %s%s%s "
                      "(UpstreamBind, open files)", up_machine_peer_name(ur),
                      ur->key.bind ? " from " : "",
                      ur->key.bind ? ur->key.bind : "");
        up_trail_last(ur->trail)->peer = "";
        up_trail_last(ur->trail)->status = HTTP_INTERNAL_SERVER_ERROR;
        up_trail_last(ur->trail)->error = "proxy_internal_error";
        return up_machine_finish(ur, HTTP_INTERNAL_SERVER_ERROR, "no socket");
    }
    return up_machine_fail(ur, UP_FAIL_ERROR, rv, "connect() failed");
}

up_verdict_e up_step_connect(up_request_t *ur)
{
    const up_settings_t *settings = ur->settings;
    up_dial_t dial;
    int local = 0;
    apr_status_t rv;

    if (ur->connecting) {
        return connect_result(ur, up_conn_connected(ur->leg.conn), 0);
    }
    rv = up_pool_take(ur->peer, &ur->key, ur->fresh, &ur->leg.conn);
    if (rv != APR_SUCCESS) {
        return connect_result(ur, rv, 1);
    }
    ur->trail->head = NULL; /* what a try before this one got is given up */
    up_leg_begin(&ur->leg, ur->leg.conn);
    if (ur->leg.conn->reused) {
        return up_machine_connected(ur);
    }
    dial.addr = ur->peer->addr;
    dial.bind = ur->key.bind;
    dial.bind_transparent = ur->key.transparent;
    dial.keepalive = settings->socket_keepalive;
    dial.rcvbuf = (apr_size_t)settings->socket_rcvbuf;
    dial.sndbuf = (apr_size_t)settings->socket_sndbuf;
    rv = up_conn_connect(ur->leg.conn, &dial, &local);
    return connect_result(ur, rv, local);
}

/* ------------------------------------------------------------------------ */
/* SEND, HEAD */

apr_status_t up_machine_pump(up_request_t *ur)
{
    apr_off_t before = ur->leg.sent;
    apr_status_t rv;

    if (ur->leg.broken || up_reqbody_sent(ur->body)) {
        return APR_SUCCESS;
    }
    rv = ur->leg.wire->write(&ur->leg);
    if (ur->leg.sent != before && ur->state == UP_SEND) {
        up_machine_rearm(ur);
    }
    if (rv == APR_SUCCESS || rv == APR_EAGAIN || ur->body->status) {
        return rv;
    }
    /* The backend takes no more; what it has to say comes first
     * (RFC 9112 9.3: read the response before giving up). */
    ur->leg.broken = 1;
    ur->write_rv = rv;
    return APR_SUCCESS;
}

static up_verdict_e upload_failed(up_request_t *ur, apr_status_t rv)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, known(rv), ur->r, UPLOGNO(0423)
                  "the client's request body broke off while it was sent to "
                  "upstream %s", up_machine_peer_name(ur));
    return up_machine_finish(ur, ur->body->status, "client body failed");
}

static up_verdict_e wait_for_head(up_request_t *ur)
{
    return up_machine_wait(ur, APR_POLLIN, 0);
}

/* Waits for whatever moves the request half, and for an early answer. */
static up_verdict_e wait_to_send(up_request_t *ur)
{
    if (!up_reqbody_starved(ur->body)) {
        return up_machine_wait(ur, APR_POLLIN | APR_POLLOUT, 0);
    }
    up_machine_await_client(ur);
    return up_machine_wait(ur, APR_POLLIN, APR_POLLIN);
}

static up_verdict_e head_read(up_request_t *ur, apr_status_t rv);

up_verdict_e up_step_send(up_request_t *ur)
{
    int uploading = !ur->body->whole;
    apr_status_t rv = up_machine_pump(ur);

    if (uploading) {
        begin_try(ur, up_clock_now()); /* the client's time is not its */
    }
    if (rv == APR_SUCCESS) {
        up_machine_go(ur, UP_HEAD, ur->leg.broken ? "cannot send"
                                                  : "request sent");
        /* Sent in one go, nothing can have been answered yet: wait before
         * reading. Otherwise an answer may have been signalled already. */
        return ur->leg.broken || ur->waited
                       || up_conn_pending(ur->leg.conn)
                   ? UP_AGAIN : wait_for_head(ur);
    }
    if (rv != APR_EAGAIN) {
        return upload_failed(ur, rv);
    }
    rv = ur->leg.wire->read_head(&ur->leg);
    if (rv == APR_EAGAIN) {
        ur->waited = 1;
        return wait_to_send(ur);
    }
    up_machine_go(ur, UP_HEAD, "early answer");
    return head_read(ur, rv);
}

up_verdict_e up_step_head(up_request_t *ur)
{
    apr_status_t rv = ur->leg.wire->read_head(&ur->leg);

    return rv == APR_EAGAIN ? wait_for_head(ur) : head_read(ur, rv);
}

void up_machine_facts(const up_request_t *ur, unsigned int bit,
                      up_retry_facts_t *facts)
{
    const up_settings_t *settings = ur->settings;
    apr_time_t now = up_clock_now();

    memset(facts, 0, sizeof(*facts));
    facts->fail = bit;
    facts->enabled = settings->next_upstream;
    if (ur->peer && up_balancer_another(ur->pick, now)) {
        facts->tries = ur->pick->tries - 1;
        facts->limited = facts->tries <= 0;
    }
    facts->addressless = up_balancer_addressless(ur->pick);
    facts->sent = ur->leg.conn && ur->body->moving;
    facts->idempotent = ur->idempotent;
    facts->replayable = up_reqbody_replayable(ur->body);
    facts->total_over = ur->total_until && now >= ur->total_until;
    facts->out_of_time = facts->total_over
                         || (settings->next_upstream_timeout
                             && now - ur->started
                                    >= settings->next_upstream_timeout);
    facts->reused = ur->leg.conn && ur->leg.conn->reused;
    facts->answered = ur->leg.received > 0;
    facts->stale_before = ur->stale_used;
}

/* Is this answer given up for another server's? */
static int to_be_retried(const up_request_t *ur, int status)
{
    unsigned int bit = up_retry_bit(status);
    up_retry_facts_t facts;

    if (!bit || !(ur->settings->next_upstream & bit)) {
        return 0;
    }
    up_machine_facts(ur, bit, &facts);
    return up_retry_worth(&facts);
}

/* The ErrorDocument of this status takes the answer's place. httpd has the
 * page of 500 for every status that it does not know. */
static int to_be_intercepted(const up_request_t *ur, int status)
{
    int index = ap_index_of_response(status);

    if (!ur->settings->intercept_errors
        || !up_codes_has(ur->settings->intercept_errors, status)
        || (index == ap_index_of_response(HTTP_INTERNAL_SERVER_ERROR)
            && status != HTTP_INTERNAL_SERVER_ERROR)) {
        return 0;
    }
    return ap_response_code_string(ur->r, index) != NULL;
}

/* A backend that says how long it keeps an idle connection closes it about
 * then: a second earlier it is ours to give up. */
static void heed_keep_alive(up_leg_t *leg, apr_interval_time_t keep_alive)
{
    apr_interval_time_t second = apr_time_from_sec(1);

    leg->conn->idle_hint = keep_alive > second ? keep_alive - second : 0;
    if (keep_alive >= 0 && keep_alive <= second) {
        leg->framing.close = 1;
    }
}

/* What the end of the response will be to the client. httpd by itself chunks
 * only what it means to keep the connection for; but without chunks nobody
 * sees that a body of unknown length was cut (RFC 9112 8). */
static void plan_end(up_request_t *ur)
{
    request_rec *r = ur->r;

    if (!ur->body->whole && !up_machine_uploading(ur)) {
        /* The rest of the upload will never be read. */
        r->connection->keepalive = AP_CONN_CLOSE;
    }
    if (ur->client->net && r->proto_num >= HTTP_VERSION(1, 1)
        && !r->header_only && ur->leg.framing.kind != UP_FRAMING_NONE
        && !apr_table_get(r->headers_out, "Content-Length")) {
        r->chunked = 1;
    }
}

/* Trailers may follow. HTTP/1.1 chunks have a place for them. Over HTTP/2
 * they have a frame, but clients (curl) that have seen a Content-Length do not
 * wait for it: there must be none. */
static void expect_trailers(up_request_t *ur)
{
    if (ur->leg.framing.kind != UP_FRAMING_CHUNKED
        || !up_trailers_wanted(ur->r, ur->settings)) {
        return;
    }
    if (ur->client->net) {
        up_trailers_expect(ur->r);
    }
    else {
        up_pipe_head_first(ur->pipe);
    }
}

/* A final answer that the client gets. */
static up_verdict_e respond(up_request_t *ur, const up_head_t *head,
                            const up_wishes_t *wishes)
{
    up_relay_t relay;
    up_range_t range;
    up_range_e part;
    int buffering = wishes->buffering;
    int status;
    up_store_t *store = NULL;

    up_reshead_apply(ur->r, ur->settings, head, &ur->leg.framing, &relay);
    up_machine_stick_answer(ur, ur->r->headers_out);
    up_wishes_grant(ur->r, wishes);
    up_proxystatus_add(ur->r, ur->settings, up_trail_last(ur->trail),
                       ur->r->headers_out);
    status = up_hooks_response_in(ur->r, ur);
    if (status != OK) {
        return up_machine_finish(ur, status, "refused by a hook");
    }
    heed_keep_alive(&ur->leg, relay.keep_alive);
    if (buffering) {
        store = up_store_begin(ur->r, ur->settings, head);
    }
    if (!ur->client->net && !store) {
        buffering = 0; /* an HTTP/2 stream takes what it is given */
    }
    part = store ? UP_RANGE_ALL
                 : up_ranges_force(ur->r, ur->settings, &ur->leg.framing,
                                   &range);
    if (part == UP_RANGE_BAD) {
        return up_machine_finish(ur, HTTP_RANGE_NOT_SATISFIABLE,
                                 "no such range");
    }
    plan_end(ur);
    ur->pipe = up_pipe_make(ur->r, ur->settings, &ur->leg, ur->client,
                            buffering);
    if (part == UP_RANGE_PART) {
        up_pipe_window(ur->pipe, &range);
    }
    if (store) {
        up_pipe_store(ur->pipe, store);
    }
    up_pipe_on_complete(ur->pipe, up_machine_body_read, ur);
    expect_trailers(ur);
    up_pipe_limit_rate(ur->pipe, up_rate_of(ur->r, ur->settings->limit_rate));
    if (wishes->buffering) {
        up_pipe_limit_client(ur->pipe, wishes->rate ? wishes->rate
                                                    : up_jump_rate(ur->r));
    }
    return up_machine_go(ur, UP_BODY, "head");
}

static up_verdict_e head_done(up_request_t *ur)
{
    const up_head_t *head = up_parser_head(ur->leg.parser);
    up_try_t *tried = up_trail_last(ur->trail);
    apr_time_t now = up_clock_now();
    up_wishes_t wishes;

    tried->status = head->status;
    tried->answer = head->status;
    tried->header_time = now - tried->started;
    ur->trail->head = head;
    up_balancer_head(ur->pick, ur->peer, tried->header_time, now);
    if (head->status == HTTP_SWITCHING_PROTOCOLS) {
        return up_machine_tunnel(ur, head);
    }
    if (to_be_retried(ur, head->status)) {
        return up_machine_fail(ur, up_retry_bit(head->status), 0,
                               apr_psprintf(ur->r->pool, "answered %d",
                                            head->status));
    }
    if (to_be_intercepted(ur, head->status)) {
        up_reshead_keep(ur->r, ur->settings, head);
        up_machine_stick_answer(ur, ur->r->err_headers_out);
        return up_machine_finish(ur, head->status, "error intercepted");
    }
    up_wishes_read(ur->settings, head, &wishes);
    if (wishes.redirect) {
        up_machine_stick_answer(ur, ur->r->err_headers_out);
        return up_machine_finish(ur, up_jump_prepare(ur->r, ur->settings, head,
                                                     wishes.redirect),
                                 "redirected");
    }
    return respond(ur, head, &wishes);
}

const char *up_machine_why(const up_request_t *ur, const char *what,
                           apr_status_t *prv)
{
    const char *why = ur->leg.conn->why;

    if (!why[0]) {
        return what;
    }
    *prv = 0;
    return apr_pstrcat(ur->r->pool, what, ": ", why, NULL);
}

/* What came of reading the head. */
static up_verdict_e head_read(up_request_t *ur, apr_status_t rv)
{
    const char *reason;

    if (rv == APR_SUCCESS) {
        return head_done(ur);
    }
    if (rv == APR_ENOSPC) {
        up_trail_last(ur->trail)->error = "http_response_header_section_size";
    }
    if (rv == APR_EINVAL || rv == APR_ENOSPC) {
        return up_machine_fail(ur, UP_FAIL_INVALID_HEADER, 0,
                               apr_pstrcat(ur->r->pool, "sent ", ur->leg.error,
                                           rv == APR_ENOSPC
                                           ? " (UpstreamMaxHeaderSize)" : "",
                                           NULL));
    }
    if (ur->leg.broken) {
        rv = ur->write_rv;
        reason = up_machine_why(ur, "send() failed", &rv);
        return up_machine_fail(ur, UP_FAIL_ERROR, rv, reason);
    }
    if (rv == APR_EOF) {
        return up_machine_fail(ur, UP_FAIL_ERROR, 0,
                               "prematurely closed connection");
    }
    reason = up_machine_why(ur, "recv() failed", &rv);
    return up_machine_fail(ur, UP_FAIL_ERROR, rv, reason);
}
