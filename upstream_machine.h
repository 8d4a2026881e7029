/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The inside of the machine, for its own files: upstream_request.c (the rows
 * and what drivers call), upstream_try.c (the states up to the response
 * head), upstream_relay.c (the response, and what follows a failure) and
 * upstream_tunnel.c (what follows a 101), upstream_handshake.c (TLS).
 *
 *   RECEIVE -> SELECT -> CONNECT -> SEND -> HEAD -> BODY -> FINISH -> ENDED
 *                 ^         |\        |      |       TUNNEL -> FINISH
 *                 |         | HANDSHAKE -> SEND
 *                 |         v         v      v
 *                 +------- NEXT <-----+------+          NEXT -> FINISH
 *                           |
 *                           +-> CONNECT   (stale pooled connection, once)
 *
 *   RECEIVE  the client's body is read  [up_reqbody_gather]
 *   SELECT   a server is chosen         [up_balancer_pick]
 *   CONNECT  a connection, pooled or new
 *   HANDSHAKE  of a new one: what is said before HTTP  [up_tls_handshake]
 *   SEND     request bytes go out; an early answer -> HEAD
 *   HEAD     the response head comes in; nothing more is sent meanwhile: an
 *            answer that comes earlier is read, head and all, in SEND
 *   BODY     the pipe moves the body; the request half still moves
 *   TUNNEL   instead: bytes both ways, after a 101 to what was asked for
 *   NEXT     a try has failed: another one, or the answer [up_retry_decide]
 *   FINISH   whatever is still held is released, once
 *
 * What holds in each state:
 *   RECEIVE  no peer, no connection, nothing sent to the client
 *   SELECT   the same; the head is built and the body framed
 *   CONNECT  a peer is taken; its try is open in the trail
 *   HANDSHAKE  the same, its socket is connected; the time of CONNECT runs on
 *   SEND     a connection; no final head parsed
 *   HEAD     the same
 *   BODY     the final head is on r->headers_out; no try may follow
 *   TUNNEL   the 101 has been passed; the request half may still move
 *   NEXT     `fail` says why; the client has got nothing
 *   ENDED    peer and connection are given back
 *
 * up_machine_go is the only writer of `state`, up_machine_fail the only way
 * into NEXT, and up_step_finish the only way out.
 */

#ifndef UPSTREAM_MACHINE_H
#define UPSTREAM_MACHINE_H

#include "backend_pipe.h"
#include "config/group.h"
#include "config/pass.h"
#include "config/settings.h"
#include "exchange/request_head.h"
#include "exchange/retry.h"
#include "exchange/trail.h"
#include "exchange/tunnel.h"
#include "exchange/wire.h"
#include "httpd.h"
#include "peers/balancer.h"
#include "peers/counts.h"
#include "peers/queue.h"
#include "transport/backend_pool.h"
#include "transport/backend_tls.h"
#include "transport/client.h"
#include "upstream_request.h"

/** The result for a client that left before it got anything. */
#define UP_STATUS_CLIENT_GONE 499

typedef enum up_state_e {
    UP_RECEIVE,
    UP_SELECT,
    UP_CONNECT,
    UP_HANDSHAKE,
    UP_SEND,
    UP_HEAD,
    UP_BODY,
    UP_TUNNEL,
    UP_NEXT,
    UP_FINISH,
    UP_ENDED
} up_state_e;

struct up_request_t {
    request_rec *r;
    const up_settings_t *settings;
    const up_pass_t *pass;
    up_state_e state;
    up_want_t want;
    apr_time_t deadline; /* of the present state, 0: none */
    apr_time_t started;  /* the first server was chosen */
    apr_time_t try_until;   /* UpstreamNextUpstreamTryTimeout ends, 0: off */
    apr_time_t total_until; /* UpstreamTotalTimeout ends, 0: it is off or has
                               not begun */

    up_client_t *client;
    up_reqbody_t *body;
    up_leg_t leg; /* leg.conn: the connection, NULL: none held */
    up_trail_t *trail;
    up_pick_t *pick;
    up_peer_t *peer; /* NULL: none taken */
    struct up_stick_t *stick; /* UpstreamSticky, NULL: the group has none */
    up_pipe_t *pipe;
    up_tunnel_t *tunnel;
    up_poolkey_t key;
    const up_tlsplan_t *plan; /* NULL: no TLS */
    const char *greeting;     /* before it, see UpstreamProxyProtocol */
    apr_size_t greeting_len;
    apr_size_t greeted;       /* bytes of it that have been sent */

    up_place_t place; /* in the queue */
    apr_time_t queue_until; /* it is left with 503 */
    apr_interval_time_t queue_time; /* how long it took, -1: not in it */

    const char *target;
    int owes;           /* the client, bytes: `deadline` is its own */
    unsigned int reads; /* of its body, when that began */
    int idempotent;     /* the client's method is */
    int awaits_name;    /* of its group: its bell will be rung */
    int connecting;     /* a connect is under way */
    int fresh;          /* no pooled connection for the next try */
    int stale_used;     /* the free retry has been used */
    up_stage_e stage;   /* of the try; stays what it was when it failed */
    up_reqhead_t *head; /* to be edited before each try, NULL: it is not */
    const char *wish;   /* the server that a module wants, NULL: none does */
    int asked;          /* the modules have been */
    unsigned int fail;  /* bit of up_fail_e, why NEXT was entered */
    const char *reason; /* in words */
    apr_status_t rv;    /* and as a status, 0: none */
    apr_status_t write_rv; /* the request could not be sent on: why */
    int failed_as;      /* up_count_e of that, -1: not counted */
    int tunnel_open;    /* is counted as open */
    int result;         /* the handler's */
    int waited;         /* has waited in CONNECT or SEND: edges may have come
                           and gone */
    up_bell_t *bell;    /* NULL: never needed */
    void (*leaving)(void *baton); /* up_request_on_leave, may be NULL */
    void *leaving_baton;
};

/* Three deadlines: `deadline`, of the present state, `try_until`, of a try
 * until the response head is there, and `total_until`, of the exchange from
 * the first server on until the backend has said all; the earliest counts. */

/** Does the time of the try run now? Not while the client uploads. */
int up_machine_try_counts(const up_request_t *ur);

/** Is it over? */
int up_machine_try_over(const up_request_t *ur);

/** The only writer of `state`. Gives the state its full time. */
up_verdict_e up_machine_go(up_request_t *ur, up_state_e to, const char *why);

/** The only way into NEXT: the try has failed, `bit` and `reason` say how. */
up_verdict_e up_machine_fail(up_request_t *ur, unsigned int bit,
                             apr_status_t rv, const char *reason);

/** Ends the exchange with `result` for the handler. */
up_verdict_e up_machine_finish(up_request_t *ur, int result,
                               const char *why);

/** Gives the present state its full time again. */
void up_machine_rearm(up_request_t *ur);

/**
 * Waits for these poll events, until the state's deadline. What the client
 * has been passed but not taken (the end of the answer to an earlier,
 * pipelined request; a 100 Continue) goes on its way meanwhile.
 */
up_verdict_e up_machine_wait(up_request_t *ur, apr_int16_t backend,
                             apr_int16_t client);

/** Is there an UpstreamTotalTimeout that counts in the present state: from
 * waiting for a server to the last byte of the backend's? */
int up_machine_total_counts(const up_request_t *ur);

/** Does it, and has it passed? */
int up_machine_total_over(const up_request_t *ur);

/** It has: 504, or the response is cut. */
void up_machine_total_expire(up_request_t *ur);

/**
 * The exchange's bell (peers/bell.h: how to wait for news of another thread),
 * made at the first call. NULL: no memory, answer 500. The reference stays
 * the exchange's.
 */
up_bell_t *up_machine_bell(up_request_t *ur);

/** Waits for the bell, until the state's deadline. */
up_verdict_e up_machine_wait_bell(up_request_t *ur);

/** Must more be said on a new connection before the request? */
int up_machine_shakes_hands(const up_request_t *ur);

/** The connection stands: the try begins on it. */
up_verdict_e up_machine_connected(up_request_t *ur);

/** A failure in words; when the connection has some of its own, *prv becomes
 * 0, since they say it all. */
const char *up_machine_why(const up_request_t *ur, const char *what,
                           apr_status_t *prv);

/**
 * In SELECT: chooses a server, or waits for one in the queue.
 * @return UP_AGAIN: ur->peer, NULL: no live upstreams; or the exchange has
 *         been answered, with another state
 */
up_verdict_e up_machine_choose(up_request_t *ur, apr_time_t now);

/** Asks other modules, once a try, which server it shall be. */
void up_machine_wish(up_request_t *ur);

/** Takes a server: the one that was wished for, or the method's choice. */
up_peer_t *up_machine_pick(up_request_t *ur, apr_time_t now);

/** The connection stands: other modules are told, and may change the head; on
 * to SEND. */
up_verdict_e up_machine_ready(up_request_t *ur, const char *why);

/** up_retry_decide, and what other modules say of it. */
up_retry_e up_machine_decide(up_request_t *ur, up_retry_facts_t *facts);

/** At the end: has it failed? Then other modules may change the status. */
void up_machine_tell_failed(up_request_t *ur);

/** The place in the queue, if any, is another's. */
void up_machine_unqueue(up_request_t *ur);

/** In SELECT: has it waited in the queue for long enough? Then it is
 * answered. */
int up_machine_queue_expire(up_request_t *ur);

/** In SELECT: the time of UpstreamTotalTimeout was over before there was a
 * server. 504, logged; no server is at fault. */
void up_machine_select_expire(up_request_t *ur, const char *reason);

/** 503 with Retry-After, logged: no server is at fault, there is no room. */
up_verdict_e up_machine_refuse(up_request_t *ur, const char *reason);

/** Begins to find out which server the request sticks to. */
void up_machine_stick(up_request_t *ur);

/** In SELECT: is that being looked up? Then ur->bell will be rung. */
int up_machine_stick_awaits(up_request_t *ur, apr_time_t now);

/** In SELECT: was that waited for? It is no more. */
int up_machine_stick_expire(up_request_t *ur);

/** The backend's answer goes on: with a cookie in `fields`, perhaps. Once. */
void up_machine_stick_answer(up_request_t *ur, apr_table_t *fields);

/** The answer is whole: where the session is will be remembered. */
void up_machine_stick_learn(up_request_t *ur);

/** In SELECT: the name of the host was waited for long enough. */
void up_machine_name_expired(up_request_t *ur);

/** The end: nobody wakes this exchange any more. */
void up_machine_unhang_bell(up_request_t *ur);

/** The state waits for the client's body, for httpd's Timeout from the last
 * byte that came: a step that finds nothing new gives no more time. */
void up_machine_await_client(up_request_t *ur);

/** The server of the present try, else the group, for the log. */
const char *up_machine_peer_name(const up_request_t *ur);

/**
 * Moves the request half on.
 * @return APR_SUCCESS it has all gone out, or nothing more will (leg.broken);
 *         APR_EAGAIN; else the client failed
 */
apr_status_t up_machine_pump(up_request_t *ur);

/** After the response head: is the rest of the upload still of use? */
int up_machine_uploading(const up_request_t *ur);

/** What up_retry_decide wants to know about a failure of this kind. */
void up_machine_facts(const up_request_t *ur, unsigned int bit,
                      up_retry_facts_t *facts);

/** What is counted of the group. */
up_counts_t *up_machine_counts(const up_request_t *ur);

/** A try has ended, and its server is given back. */
void up_machine_count_try(up_request_t *ur, up_peer_t *peer);

/** A try fails in the present state; what it was is counted when the decision
 * is there, for a stale connection is no failure of the server's. */
void up_machine_note_failure(up_request_t *ur, unsigned int bit);
void up_machine_count_failure(up_request_t *ur, up_retry_e decision);

void up_machine_count_tunnel(up_request_t *ur);

/** The exchange is over. */
void up_machine_count_end(const up_request_t *ur);

/** Gives the connection back or drops it, ends the try on the peer. */
void up_machine_release(up_request_t *ur, int reusable,
                        up_outcome_e outcome);

/**
 * The body has been read to its end (up_pipe_on_complete): the backend is
 * free, however slow the client is.
 */
void up_machine_body_read(void *baton);

/** The pipe has failed, after the head went to the client or nearly so. */
up_verdict_e up_machine_body_failed(up_request_t *ur, apr_status_t rv);

/** A 101 to what was asked for: the client gets it, and the tunnel begins. */
up_verdict_e up_machine_tunnel(up_request_t *ur, const up_head_t *head);

/** In TUNNEL: want.until has passed, or the server is stopping. */
void up_machine_tunnel_expire(up_request_t *ur);
void up_machine_tunnel_stop(up_request_t *ur);

/* One function a state; the rows in upstream_request.c name them. */
up_verdict_e up_step_receive(up_request_t *ur);
up_verdict_e up_step_select(up_request_t *ur);
up_verdict_e up_step_connect(up_request_t *ur);
up_verdict_e up_step_handshake(up_request_t *ur);
up_verdict_e up_step_send(up_request_t *ur);
up_verdict_e up_step_head(up_request_t *ur);
up_verdict_e up_step_body(up_request_t *ur);
up_verdict_e up_step_tunnel(up_request_t *ur);
up_verdict_e up_step_next(up_request_t *ur);
up_verdict_e up_step_finish(up_request_t *ur);

#endif
