/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * <Upstream name>: a group of servers, as configured.
 *
 * Also the implicit groups that a bare URL in UpstreamPass makes. Groups
 * belong to the whole configuration (pconf), not to a virtual host. Read-only
 * after post_config except `peers`, which every child makes for itself.
 */

#ifndef UP_GROUP_H
#define UP_GROUP_H

#include "apr_network_io.h"
#include "apr_tables.h"
#include "httpd.h"
#include "http_config.h"
#include "mod_upstream_proxy.h"

/** Where a service is, as SRV records say (RFC 2782). */
typedef struct up_target_t {
    const char *host;
    apr_port_t port;
    int weight;
    int backup;            /* not of the most preferred priority */
    apr_sockaddr_t *addrs; /* chain, with that port */
    struct up_target_t *next;
} up_target_t;

struct up_server_t {
    const char *text;      /* the address as written */
    const char *host;      /* NULL for unix: */
    apr_port_t port;
    int usual_port;        /* none was written: that of the scheme */
    const char *unix_path;
    int weight;
    int max_conns;         /* 0: no limit */
    int max_fails;         /* 0: never taken out */
    apr_interval_time_t fail_timeout;
    int backup;
    int down;
    int drain;             /* only for requests that stick to it */
    const char *route;     /* its id for those, NULL: made of its address */
    int resolve;           /* written; names are looked up again without it */
    const char *service;   /* SRV records give hosts and ports, NULL: not */
    apr_sockaddr_t *addrs; /* chain; NULL: the name did not resolve at the
                              start */
    up_target_t *targets;  /* of a service, as of the start */
};

/** Bits of up_group_t.schemes. */
#define UP_GROUP_HTTP  1u
#define UP_GROUP_HTTPS 2u

struct up_group_t {
    const char *name;
    unsigned int schemes;        /* of the passes that name it: UP_GROUP_ */
    int implicit;                /* made by a bare URL */
    int adhoc;                   /* made at run time, peers/adhoc.h */
    apr_port_t implicit_port;    /* part of an implicit group's identity */
    apr_array_header_t *servers; /* of up_server_t */
    int keepalive;               /* idle connections a child, 0: none */
    int keepalive_local;         /* a connection stays with its location */
    int keepalive_requests;
    apr_interval_time_t keepalive_time;
    apr_interval_time_t keepalive_timeout;
    const struct up_resolver_t *resolver; /* never NULL after post_config */
    apr_interval_time_t resolver_timeout;
    struct up_balancing_t *balancing; /* config/balancing.h, NULL: round
                                         robin */
    struct up_sticky_t *sticky;  /* config/sticky.h, NULL: none */
    int queue;                   /* requests that may wait, 0: none */
    apr_interval_time_t queue_timeout;
    struct up_zone_t *zone;      /* config/zone.h, NULL: none */
    const char *state_file;      /* UpstreamState, NULL: none */
    struct up_check_t *check;    /* config/checks.h, NULL: none */
    const char *where;           /* file:line */
    up_peers_t *peers;           /* this child's, peers/peer.h */
};

/** An empty group with the defaults, in no list. */
void up_group_init(apr_pool_t *p, up_group_t *group, const char *name,
                   const char *where);

/** A new group with the defaults, in the list from now on. */
up_group_t *up_group_make(apr_pool_t *p, const char *name, const char *where);

/** Lookup by name, in any case; explicit groups only. */
up_group_t *up_group_find(const char *name);

/**
 * The implicit group of a URL's host and port or unix path, made if new: one
 * server, and the same keepalive as an explicit group. All passes to the
 * same place share it, and so the state of its servers.
 */
up_group_t *up_group_implicit(apr_pool_t *p, const up_pass_t *pass);

/**
 * The group that the URL of an evaluated pass names: an explicit one, without
 * a port, or the implicit one of another pass to the same place. NULL: none
 */
up_group_t *up_group_named(const up_pass_t *pass);

/** Calls `visit` for every group. */
void up_group_each(void (*visit)(up_group_t *group, void *baton),
                   void *baton);

/** pre_config: forgets the groups of the last configuration. */
void up_group_reset(apr_pool_t *pconf);

/**
 * post_config, after up_pass_post_config: resolves names, all addresses of
 * each. One that does not resolve is warned about and leaves its server
 * without addresses.
 * @return OK or HTTP_INTERNAL_SERVER_ERROR
 */
int up_group_post_config(apr_pool_t *pconf, server_rec *s);

/** <Upstream> and what stands inside it, for the module record. */
extern const command_rec up_group_commands[];

/** Is the server known by a name whose addresses may change? */
int up_server_is_named(const up_server_t *server);

#endif
