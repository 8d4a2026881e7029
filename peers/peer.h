/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The servers of a group as this child knows them: one peer an address, with
 * its failures and the requests under way. A server that did not resolve has
 * none.
 *
 * Made in child_init, lives as long as the child. Fields marked L are only
 * touched with peers->lock held; the others never change.
 */

#ifndef UP_PEER_H
#define UP_PEER_H

#include "apr_network_io.h"
#include "apr_thread_mutex.h"
#include "apr_time.h"
#include "mod_upstream_proxy.h"

struct up_peer_t {
    const up_server_t *server;
    apr_sockaddr_t *addr;
    const char *name; /* "127.0.0.1:8080", "[::1]:80", "unix:/path" */
    int index;        /* place in its list */
    int weight;
    int effective;    /* L smooth weighted round robin */
    int current;      /* L */
    int in_use;       /* L requests under way */
    int fails;        /* L */
    apr_time_t accessed; /* L last failure, in seconds as nginx */
    apr_time_t checked;  /* L start of the fail_timeout window, in seconds */
    up_pool_t *pool;     /* its connections, set by transport/backend_pool */
};

/** Primaries or backups. */
typedef struct up_peerlist_t {
    up_peer_t *peers;
    int count;
    int usable; /* not `down` */
} up_peerlist_t;

struct up_peers_t {
    const up_group_t *group;
    apr_thread_mutex_t *lock;
    up_peerlist_t primary;
    up_peerlist_t backup;
    int single; /* one address, no backup: never taken out, as in nginx */
};

/** child_init: makes group->peers for every group, in pool p. */
apr_status_t up_peers_child_init(apr_pool_t *p);

/**
 * May this peer be chosen now? Not down, below max_conns, not resting after
 * max_fails failures. Lock held.
 */
int up_peer_usable_locked(const up_peer_t *peer, apr_time_t now);

/** Counts a chosen peer: in_use, checked. Lock held. */
void up_peer_take_locked(up_peer_t *peer, apr_time_t now);

/** What became of a try. */
typedef enum up_outcome_e {
    UP_OUTCOME_OK,     /* answered */
    UP_OUTCOME_FAILED, /* counts as a failure */
    UP_OUTCOME_NEXT,   /* asked elsewhere, but not the server's fault */
    UP_OUTCOME_NONE    /* nothing is known about the server: the client left,
                          or the connection was stale */
} up_outcome_e;

/**
 * Ends a try: in_use, failures. Takes the lock itself.
 * @return 1 when this failure took the peer out (the caller logs it)
 */
int up_peer_give(up_peers_t *peers, up_peer_t *peer, up_outcome_e outcome,
                 apr_time_t now);

#endif
