/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The words that every file of the module and every neighbour module share:
 * names of the things, the kinds of failure, and, at the end, the hooks for
 * other modules.
 *
 * All structures are opaque here; the header that is named beside a typedef
 * describes it.
 */

#ifndef MOD_UPSTREAM_PROXY_H
#define MOD_UPSTREAM_PROXY_H

#include "apr_network_io.h"
#include "apr_optional.h"
#include "apr_optional_hooks.h"
#include "apr_pools.h"
#include "apr_tables.h"
#include "apr_time.h"

struct request_rec; /* httpd.h */

typedef struct up_settings_t up_settings_t; /* config/settings.h */
typedef struct up_pass_t up_pass_t;         /* config/pass.h */
typedef struct up_group_t up_group_t;       /* config/group.h */
typedef struct up_server_t up_server_t;     /* config/group.h */
typedef struct up_text_t up_text_t;         /* config/expressions.h */
typedef struct up_peer_t up_peer_t;         /* peers/peer.h */
typedef struct up_peers_t up_peers_t;       /* peers/peer.h */
typedef struct up_pick_t up_pick_t;         /* peers/balancer.h */
typedef struct up_conn_t up_conn_t;         /* transport/backend_conn.h */
typedef struct up_pool_t up_pool_t;         /* transport/backend_pool.h */
typedef struct up_client_t up_client_t;     /* transport/client.h */
typedef struct up_spool_t up_spool_t;       /* transport/spool.h */
typedef struct up_parser_t up_parser_t;     /* status_parser.h */
typedef struct up_decoder_t up_decoder_t;   /* exchange/body_decoder.h */
typedef struct up_reqbody_t up_reqbody_t;   /* exchange/request_body.h */
typedef struct up_trail_t up_trail_t;       /* exchange/trail.h */
typedef struct up_jump_t up_jump_t;         /* exchange/jump.h */
typedef struct up_leg_t up_leg_t;           /* exchange/wire.h */
typedef struct up_pipe_t up_pipe_t;         /* backend_pipe.h */
typedef struct up_tunnel_t up_tunnel_t;     /* exchange/tunnel.h */
typedef struct up_request_t up_request_t;   /* upstream_request.h */

/**
 * Kinds of failure: what went wrong with a try, and, as a mask, what
 * UpstreamNextUpstream lists. The names are nginx's.
 */
typedef enum up_fail_e {
    UP_FAIL_NONE = 0,
    UP_FAIL_ERROR = 1 << 0,          /* refused, reset, closed too early */
    UP_FAIL_TIMEOUT = 1 << 1,        /* connect, handshake, send, head */
    UP_FAIL_INVALID_HEADER = 1 << 2, /* the head is not HTTP */
    UP_FAIL_HTTP_500 = 1 << 3,
    UP_FAIL_HTTP_502 = 1 << 4,
    UP_FAIL_HTTP_503 = 1 << 5,
    UP_FAIL_HTTP_504 = 1 << 6,
    UP_FAIL_HTTP_403 = 1 << 7,
    UP_FAIL_HTTP_404 = 1 << 8,
    UP_FAIL_HTTP_429 = 1 << 9,
    UP_FAIL_NON_IDEMPOTENT = 1 << 10, /* added to the kind, see retry.h */
    UP_FAIL_UPDATING = 1 << 11,       /* accepted for nginx's sake, inert */
    UP_FAIL_NOLIVE = 1 << 12,         /* no server can be chosen */
    UP_FAIL_OFF = 1 << 13,            /* UpstreamNextUpstream off */
    UP_FAIL_REUSED = 1 << 14          /* no failure: any request may go out
                                         again when a kept connection ends */
} up_fail_e;

/** What a try is at, in this order. */
typedef enum up_stage_e {
    UP_STAGE_SELECT,    /* a server is chosen */
    UP_STAGE_CONNECT,
    UP_STAGE_HANDSHAKE, /* TLS */
    UP_STAGE_SEND,      /* the request goes out */
    UP_STAGE_HEAD,      /* the response head is awaited */
    UP_STAGE_BODY,      /* the response body is relayed */
    UP_STAGE_TUNNEL     /* an upgraded connection */
} up_stage_e;

/** The failures that are an answer of the backend: http_NNN. */
#define UP_FAIL_HTTP_ANY                                                      \
    (UP_FAIL_HTTP_500 | UP_FAIL_HTTP_502 | UP_FAIL_HTTP_503 |                 \
     UP_FAIL_HTTP_504 | UP_FAIL_HTTP_403 | UP_FAIL_HTTP_404 |                 \
     UP_FAIL_HTTP_429)

/* ------------------------------------------------------------------------ */
/* for other modules */

/*
 * A module takes part in an exchange through hooks. They are optional ones: it
 * need not be linked against this module, nor loaded after it, and costs
 * nothing where this module is not loaded:
 *
 *     #include "mod_upstream_proxy.h"
 *
 *     static int on_select(request_rec *r, up_request_t *u, int nth,
 *                          const char **pserver) { ... }
 *
 *     static void register_hooks(apr_pool_t *p)
 *     {
 *         APR_OPTIONAL_HOOK(up, upstream_select_peer, on_select, NULL, NULL,
 *                           APR_HOOK_MIDDLE);
 *     }
 *
 * All of them run on the thread that moves the exchange on: one of httpd's
 * workers or, with the event MPM, one of this module's loops, on which
 * thousands of exchanges wait. A HOOK MUST NOT BLOCK: no file that may be
 * slow, no name look-up, no lock that is held for long. One exchange is on one
 * thread at a time, but not on the same one for long: no thread-local state.
 *
 * `u` is good from upstream_pre_connect to upstream_log, which ends it. What
 * a hook wants to keep for the exchange it keeps in r->request_config.
 *
 * docs/examples/mod_upstream_example.c uses each of them.
 */

/** What is known of an exchange at this moment: up_request_view fills it. Texts
 * live as long as the request. */
typedef struct up_view_t {
    const char *group;   /* the <Upstream>, or host and port of the URL */
    const char *target;  /* what the backend is asked for, in its bytes */
    up_stage_e stage;
    int tries;           /* so far, this one included; 0: none yet */
    const char *server;  /* of the present try, "127.0.0.1:8080"; NULL: none
                            yet; the group's name: none could be chosen */
    int reused;          /* 1: a kept connection */
    int fd;              /* its socket, to look at, not to use; -1: none */
    const char *error;   /* UPSTREAM_ERROR of the try, NULL: has not failed */
    const char *reason;  /* the same in words, as the error log has it */
    unsigned int kind;   /* and as a bit of up_fail_e */
    apr_status_t rv;     /* and the system's word, 0: none */
    int status;          /* of the answer, or what the failure stands for;
                            0: neither is there */
    apr_time_t started;  /* the try; 0: none yet */
    apr_interval_time_t connect_time;  /* -1: not connected */
    apr_interval_time_t header_time;   /* -1: no response head */
    apr_interval_time_t response_time; /* -1: still under way */
    apr_off_t sent;      /* bytes, of this try */
    apr_off_t received;
    int client_gone;     /* 1: the client left before the end */
} up_view_t;

/** A server of the exchange's group. */
typedef struct up_server_view_t {
    const char *name;    /* "127.0.0.1:8080", as UPSTREAM_ADDR has it */
    const char *written; /* as UpstreamServer has it */
    int weight;
    int in_use;          /* requests under way */
    int max_conns;       /* 0: no limit */
    int backup;
    int usable;          /* may be chosen now: not down, resting, full or
                            tried before */
} up_server_view_t;

/**
 * Fills *view, which the caller has `size` bytes for: sizeof(*view) of the
 * header it was built with, so that a later version may add to the end.
 */
APR_DECLARE_OPTIONAL_FN(void, up_request_view,
                        (const up_request_t *u, up_view_t *view,
                         apr_size_t size));

/** The servers of the group: an array of up_server_view_t in pool p, which
 * also holds the names. From upstream_select_peer on. */
APR_DECLARE_OPTIONAL_FN(apr_array_header_t *, up_request_servers,
                        (const up_request_t *u, apr_pool_t *p));

/**
 * A field of the backend's last response head, hidden ones too; the first of
 * that name. From upstream_response_in on.
 * @return NULL: no such field, no response
 */
APR_DECLARE_OPTIONAL_FN(const char *, up_request_field,
                        (const up_request_t *u, const char *name));

/**
 * Once an exchange, before the client's body is read and a server is chosen.
 * May change r->headers_in (expressions of UpstreamSetHeader and the fields
 * that go on are read later) and r->subprocess_env.
 * @return OK or DECLINED: go on. Anything else is the handler's result, no
 *         server is asked and no other of these hooks runs: an HTTP status,
 *         or DONE when the hook has sent the response
 */
typedef int up_HOOK_upstream_pre_connect_t(struct request_rec *r,
                                           up_request_t *u);

/**
 * Before each try but the free one that follows a stale connection.
 * @param nth the number of the try, from 1 up
 * @param pserver set to the server that shall be asked: `name` or `written`
 *        of up_server_view_t. One that may not be chosen now is passed over,
 *        and the group's method chooses.
 * @return OK: *pserver is set, no other module is asked; DECLINED
 */
typedef int up_HOOK_upstream_select_peer_t(struct request_rec *r,
                                           up_request_t *u, int nth,
                                           const char **pserver);

/** There is a connection, new or kept, and nothing has been sent on it. To
 * look only: view.reused, view.fd, view.connect_time. */
typedef void up_HOOK_upstream_connected_t(struct request_rec *r,
                                          up_request_t *u);

/**
 * Behind upstream_connected, before the request head of the try is written.
 * @param fields in their order, of this try alone: may be changed. What they
 *        say of framing, connection and upgrade does not count, it is put
 *        back: Content-Length, Transfer-Encoding, Connection, TE, Upgrade.
 *        A value with a line end in it ends the exchange with 500.
 * @return OK or DECLINED: go on; an HTTP status ends the exchange with it
 */
typedef int up_HOOK_upstream_request_out_t(struct request_rec *r,
                                           up_request_t *u,
                                           apr_table_t *fields);

/**
 * A final response head is there that the client is to get: r->status and
 * r->headers_out are made of it, output filters have not seen it. Both may be
 * changed, but for Content-Length and Transfer-Encoding. Not for an answer
 * that is given up for another try, an ErrorDocument or X-Accel-Redirect, nor
 * for a 101.
 * @return OK or DECLINED: go on; an HTTP status is answered in its place
 */
typedef int up_HOOK_upstream_response_in_t(struct request_rec *r,
                                           up_request_t *u);

/**
 * A try has failed: upstream_connect_failed before there was a connection (or
 * a server), upstream_try_failed afterwards, up to the response head. Each
 * failed try is told to one of the two.
 * @param pretry 1: another one will follow, 0: none. May be set to 0: that
 *        was the last one, the client gets an error; or to 1, which counts as
 *        if UpstreamNextUpstream named the failure and the method: what can
 *        not be repeated (a streamed body, no other server, no time) is not.
 */
typedef void up_HOOK_upstream_connect_failed_t(struct request_rec *r,
                                               up_request_t *u, int *pretry);
typedef void up_HOOK_upstream_try_failed_t(struct request_rec *r,
                                           up_request_t *u, int *pretry);

/**
 * No other try will follow, and the client has got nothing: it will get an
 * error page, if it is still there.
 * @param pstatus of that page, may be changed: 400 to 599
 */
typedef void up_HOOK_upstream_failed_t(struct request_rec *r,
                                       up_request_t *u, int *pstatus);

/** The end of the exchange, whatever came of it; everything is given back.
 * Error pages are made, and the access log is written, after this. */
typedef void up_HOOK_upstream_log_t(struct request_rec *r, up_request_t *u);

/** What a server has come to. */
typedef enum up_peer_news_e {
    UP_PEER_UP,  /* it answers again */
    UP_PEER_OUT  /* it has failed too often and rests */
} up_peer_news_e;

/**
 * A server has been taken out of service, or is back. On any thread, once in
 * each child that finds it out.
 * @param server its name; both texts only as long as the call
 */
typedef void up_HOOK_upstream_peer_state_changed_t(const char *group,
                                                   const char *server,
                                                   up_peer_news_e news);

#endif
