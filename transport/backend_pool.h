/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Idle connections, kept per child and per peer in an apr_reslist.
 *
 * apr_reslist runs its constructor with its lock held and blocks at its
 * maximum: so the constructor only allocates, and the maximum is out of
 * reach; max_conns is the balancer's matter. Whoever takes a connection
 * gives it back or drops it, exactly once.
 *
 * Any thread. A connection that was taken belongs to the taker alone.
 */

#ifndef UP_BACKEND_POOL_H
#define UP_BACKEND_POOL_H

#include "apr_pools.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"
#include "transport/backend_conn.h"

/**
 * What makes a pooled connection fit for a request, besides its peer. Two
 * connections with different keys never stand in for each other.
 */
typedef struct up_poolkey_t {
    const char *bind;     /* evaluated UpstreamBind, NULL or "": none */
    int transparent;      /* ... transparent; without `bind` no matter */
    const char *identity; /* TLS and all that makes a difference in it, and
                             what is said before it; NULL: plain */
    const void *location; /* set where `UpstreamKeepalive N local` */
} up_poolkey_t;

/**
 * child_init, after up_peers_child_init: makes ready for the pools of peers,
 * which are made when they are first needed, and starts a thread that once a
 * second closes idle connections which are too old or which the
 * backend has closed. Ends with pool p.
 */
apr_status_t up_pool_child_init(apr_pool_t *p, server_rec *s);

/**
 * A connection for this peer: the most recently used idle one that is alive
 * and young enough (conn->reused = 1), else an unconnected one.
 * @param fresh 1: never an idle one (the retry after a stale connection); one
 *        that is idle, and probably as stale, is closed to make place
 * @return APR_SUCCESS, or APR_ENOMEM
 */
apr_status_t up_pool_take(up_peer_t *peer, const up_poolkey_t *key, int fresh,
                          up_conn_t **pconn);

/**
 * Gives a connection back for reuse. Closed instead of kept when its
 * requests, age or the group's number of idle connections say so (the group's
 * least recently used idle one makes room). Whether the backend has closed it
 * is looked at by the sweep and by up_pool_take, not here: a system call.
 */
void up_pool_give(up_conn_t *conn);

/** Closes a connection and gives its object back. */
void up_pool_drop(up_conn_t *conn);

/**
 * Graceful stop: idle connections are closed at once, and from now on every
 * given one.
 */
void up_pool_stopping(void);

/** Idle connections of a group in this child. */
int up_pool_idle(const up_group_t *group);

#endif
