/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The words that every file of the module and every neighbour module share:
 * names of the things, and the kinds of failure.
 *
 * All structures are opaque here; the header that is named beside a typedef
 * describes it.
 */

#ifndef MOD_UPSTREAM_PROXY_H
#define MOD_UPSTREAM_PROXY_H

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
    UP_FAIL_OFF = 1 << 13             /* UpstreamNextUpstream off */
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

#endif
