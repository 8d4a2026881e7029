/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The servers of a group as this child knows them: one peer an address.
 *
 * A peer is this child's: its place in the lists, its turn in the round
 * robin, its kept connections. What is *known of the server* is its state,
 * up_peerstate_t: atomic counters, in the child's memory or, for a group with
 * a zone, in memory that all children share. Nobody holds a lock to read or
 * write a state.
 *
 * Made in child_init and, where names change, at run time (peers/roster.h).
 * Fields marked L are only touched with peers->lock held; those of a state
 * are atomic, the others never change.
 *
 * A peer is there as long as it stands in a list or somebody holds it: from
 * up_peer_take_locked to up_peer_give. What outlives that copies its name.
 */

#ifndef UP_PEER_H
#define UP_PEER_H

#include <stdatomic.h>

#include "apr_network_io.h"
#include "apr_thread_mutex.h"
#include "apr_time.h"
#include "mod_upstream_proxy.h"
#include "peers/counts.h"

/** What an operator has ordered, apart from what is found out. */
typedef enum up_admin_e {
    UP_ADMIN_UP,
    UP_ADMIN_DRAIN, /* only requests that stick to it */
    UP_ADMIN_DOWN
} up_admin_e;

/** What checks have found out. */
typedef enum up_health_e {
    UP_HEALTH_UNKNOWN, /* there was none yet */
    UP_HEALTH_GOOD,
    UP_HEALTH_BAD,
    UP_HEALTH_DRAINS   /* only requests that stick to it */
} up_health_e;

/** Which of these an operator has set: the configuration's count no more. */
#define UP_ORDERED_WEIGHT    1
#define UP_ORDERED_MAX_CONNS 2
#define UP_ORDERED_ADMIN     4

/**
 * What is known of the server behind an address. Lock-free atomics: one of
 * these may stand in shared memory. Times are apr_time_t; those that nginx
 * counts in seconds are in seconds.
 */
typedef struct up_peerstate_t {
    atomic_int in_use;          /* requests under way */
    atomic_int fails;           /* as nginx counts them */
    atomic_llong accessed;      /* last failure, seconds */
    atomic_llong checked;       /* start of the fail_timeout window, seconds */
    atomic_int admin;           /* up_admin_e */
    atomic_int weight;          /* as configured or as ordered, >= 1 */
    atomic_int max_conns;       /* the same, 0: no limit */
    atomic_int ordered;         /* UP_ORDERED bits */
    atomic_llong available_since; /* recovered at, 0: since the start */
    atomic_int health;          /* up_health_e; these three: peers/health.h */
    atomic_int streak;          /* results in a row that say otherwise */
    atomic_llong check_due;     /* the next check, microseconds */
    atomic_int header_ms;       /* mean time to the head, 0: not known */
    atomic_int response_ms;     /* mean time to the last byte, the same */
    atomic_llong ewma;          /* microseconds, 0: not known */
    atomic_llong ewma_at;       /* apr_time_t of that */
} up_peerstate_t;

struct up_peer_t {
    const up_server_t *server;
    apr_sockaddr_t *addr;
    const char *route; /* its id for who sticks to it */
    const char *name; /* "127.0.0.1:8080", "[::1]:80", "unix:/path" */
    unsigned int serial; /* of no other peer of the group, ever */
    int index;        /* L place in its list */
    int listed;       /* weight that its list gave it, see roster.h */
    int effective;    /* L smooth weighted round robin */
    int current;      /* L */
    int running;      /* L requests of this child's, of methods that ask */
    apr_interval_time_t begun; /* L the sum of when they began, since the
                                  group's first */
    up_peerstate_t *state; /* never NULL */
    atomic_int *cell; /* this child's part of in_use, NULL: no zone */
    up_counts_t *counts; /* never NULL, peers/ledger.h */
    up_peers_t *peers;
    apr_pool_t *own;  /* of a peer made at run time; NULL: the child's */
    atomic_int held;  /* takers; nobody takes what is in no list */
    up_peer_t *next_gone; /* L in peers->gone */
    struct up_checkjob_t *checks; /* peers/checker's, touched by its thread
                                     alone; NULL: none yet */
    _Atomic(up_pool_t *) pool; /* its connections, transport/backend_pool's */
};

/** Primaries or backups. The array is replaced when names change. */
typedef struct up_peerlist_t {
    up_peer_t **peers; /* L */
    int count;         /* L */
    int usable;        /* L not `down` */
    unsigned int version; /* L changes whenever the array does */
    int replaced;      /* L the array is malloc's: not the first one */
} up_peerlist_t;

struct up_peers_t {
    const up_group_t *group;
    apr_thread_mutex_t *lock;
    unsigned int serials; /* L given so far */
    up_peerlist_t primary;
    up_peerlist_t backup;
    up_peer_t *gone; /* L not in a list any more, still held */
    _Atomic(struct up_room_t *) room; /* transport/backend_pool's */
    up_counts_t *counts;  /* of the group itself */
    struct up_queue_t *queue; /* peers/queue.h, NULL: none */
    int pending; /* L the first look-up of its name, peers/names.h */
    struct up_waiter_t *waiters; /* L for its end */
    int single; /* L one address, no backup: never taken out, as in nginx */
    apr_uint64_t lots; /* L the last random number, 0: none was drawn */
    void *method_data; /* L what the balancing method keeps for the group */
};

/** child_init: makes group->peers for every group, in pool p. */
apr_status_t up_peers_child_init(apr_pool_t *p);

/** The same for one group that is made at run time. */
apr_status_t up_peers_make(apr_pool_t *p, up_group_t *group);

/**
 * What is known of the server at this address: the zone's, perhaps from
 * another child or from before a restart. Of a group without a zone, or with
 * one that is full, it is in pool p and new.
 * @param pcell as in up_peer_t
 */
up_peerstate_t *up_peerstate_of(apr_pool_t *p, const up_peers_t *peers,
                                const up_server_t *server, const char *name,
                                atomic_int **pcell);

/** Weight, max_conns and admin as configured, but for what is ordered. */
void up_peerstate_configure(up_peerstate_t *state, const up_server_t *server);

/** Orders of an operator's: what is in `set` counts from now on, what is in
 * `unset` is for up_peerstate_configure to set. */
typedef struct up_order_t {
    int set;   /* UP_ORDERED bits */
    int unset; /* the same */
    int admin; /* up_admin_e */
    int weight;
    int max_conns;
} up_order_t;

void up_peerstate_order(up_peerstate_t *state, const up_order_t *order);

/** The weight that names give it, if no operator has ordered another. */
void up_peerstate_weigh(up_peerstate_t *state, int weight);

/** The end of a peer: its state in the zone is not used any more. */
void up_peerstate_leave(up_peer_t *peer);

/** A peer for an address, in no list. What it points to stays the caller's. */
up_peer_t *up_peer_make(apr_pool_t *p, up_peers_t *peers,
                        const up_server_t *server, apr_sockaddr_t *addr);

/** The weight that counts now. */
static inline int up_peer_weight(const up_peer_t *peer)
{
    return atomic_load_explicit(&peer->state->weight, memory_order_relaxed);
}

static inline int up_peer_in_use(const up_peer_t *peer)
{
    return atomic_load_explicit(&peer->state->in_use, memory_order_relaxed);
}

/**
 * May this peer be chosen now? Not down or draining, below max_conns, not
 * resting after max_fails failures. Lock held.
 */
int up_peer_usable_locked(const up_peer_t *peer, apr_time_t now);

/** Could it be chosen if it had no max_conns? Lock held. */
int up_peer_fit_locked(const up_peer_t *peer, apr_time_t now);

/** The same for a request that sticks to it: a draining one may be, too. */
int up_peer_stickable_locked(const up_peer_t *peer, apr_time_t now);

/**
 * Counts a chosen peer: held, in_use, checked. Lock held.
 * @return 0: another child was faster, it is not usable any more
 */
int up_peer_take_locked(up_peer_t *peer, apr_time_t now);

/** It stays until up_peer_let_go, in a list or not. Lock held. */
void up_peer_hold_locked(up_peer_t *peer);

/** What was done with the peer comes before its end. */
void up_peer_let_go(up_peer_t *peer);

/** What became of a try. */
typedef enum up_outcome_e {
    UP_OUTCOME_OK,     /* answered */
    UP_OUTCOME_FAILED, /* counts as a failure */
    UP_OUTCOME_NEXT,   /* asked elsewhere, but not the server's fault */
    UP_OUTCOME_NONE    /* nothing is known about the server: the client left,
                          or the connection was stale */
} up_outcome_e;

/** What that has made of the peer. */
typedef enum up_change_e {
    UP_CHANGE_NONE,
    UP_CHANGE_OUT, /* failed too often, it rests */
    UP_CHANGE_BACK /* has rested, and answers again */
} up_change_e;

/**
 * Ends a try: in_use, failures, and the hold on the peer, which may be gone
 * afterwards. Takes the lock itself.
 * @return the caller logs it
 */
up_change_e up_peer_give(up_peers_t *peers, up_peer_t *peer,
                         up_outcome_e outcome, apr_time_t now);

#endif
