/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The inside of backend_pool: where idle connections stand.
 *
 * A *room* holds what a group's idle connections have in common: their number
 * and the order in which they were given. A *shelf* is one apr_reslist: the
 * connections of one peer with one key. A *slot* is what stands on a shelf: a
 * connection, open and idle, or emptied by somebody who only held the room's
 * lock; whoever takes an empty one throws it away and takes the next.
 *
 * Locks, in the order in which they may be held: the house's walk, its lock,
 * a pool's (its keyed shelves), a reslist's own, a room's. With a room's lock
 * held nothing is called that could wait; sockets are closed after it was let
 * go.
 *
 * Only for backend_pool, backend_shelf and backend_sweep. Rooms and pools are
 * made when a peer first needs them and live until it or the child ends.
 */

#ifndef UP_BACKEND_SHELF_H
#define UP_BACKEND_SHELF_H

#include <stdatomic.h>

#include "apr_reslist.h"
#include "apr_ring.h"
#include "apr_thread_mutex.h"
#include "httpd.h"
#include "config/group.h"
#include "peers/peer.h"
#include "transport/backend_conn.h"
#include "transport/backend_pool.h"

#define UP_SHELF_BUCKETS 64 /* of the hash of a peer's keyed shelves */
#define UP_SHELF_SPARES 32  /* emptied pools kept for new connections */

typedef struct up_slot_t up_slot_t;
typedef struct up_shelf_t up_shelf_t;
typedef struct up_room_t up_room_t;

struct up_slot_t {
    up_conn_t *conn;
    up_shelf_t *shelf;
    int used;                       /* was taken at least once */
    APR_RING_ENTRY(up_slot_t) link; /* in the room's ring, while idle */
    int idle;                       /* in the ring; room's lock */
    apr_uint32_t seen;              /* the last sweep that looked at it */
};

APR_RING_HEAD(up_slot_ring_t, up_slot_t);

struct up_shelf_t {
    apr_pool_t *pool;
    up_pool_t *home;
    apr_reslist_t *list;
    up_poolkey_t key; /* all zero: the plain shelf */
    up_shelf_t *next; /* in the bucket of the hash */
    int users;        /* takers; home's lock; not counted when plain */
    int idle;         /* room's lock */
    apr_pool_t *spares[UP_SHELF_SPARES]; /* reslist's lock */
    int nspares;
};

/** The connections of one peer. */
struct up_pool_t {
    apr_pool_t *pool;
    up_room_t *room;
    apr_thread_mutex_t *lock;
    up_pool_t *next;  /* of the room, see up_house_t */
    up_counts_t *counts; /* the peer's */
    atomic_int gone;  /* its peer is in no list: nothing is kept */
    up_shelf_t *plain;
    up_shelf_t *keyed[UP_SHELF_BUCKETS];
};

struct up_room_t {
    const up_group_t *group;
    apr_thread_mutex_t *lock;
    struct up_slot_ring_t ring; /* the last given first */
    int count;                  /* of the ring */
    apr_pool_t *pool;
    up_pool_t *pools;           /* of the peers */
    up_room_t *next;            /* of the next group */
};

/**
 * All rooms of this child. Whoever adds one, or a pool to a room, does it at
 * the head of the list with `lock` held; whoever goes through the lists or
 * takes something out of them holds `walk`, and `lock` while he takes out.
 */
typedef struct up_house_t {
    apr_thread_mutex_t *walk;
    apr_thread_mutex_t *lock;
    up_room_t *rooms;
} up_house_t;

/** The pool of a peer that has none yet. NULL: no memory */
up_pool_t *up_house_furnish(up_house_t *house, up_peer_t *peer);

/** Calls `visit` for every room, with `walk` held. */
void up_house_each_room(up_house_t *house,
                        void (*visit)(up_room_t *room, void *baton),
                        void *baton);

/** Calls `visit` for the pool of every peer, with `walk` held. */
void up_house_each_pool(up_house_t *house, void (*visit)(up_pool_t *pool));

/** Takes a pool out and destroys it: nobody holds its peer. */
void up_house_remove_pool(up_house_t *house, up_pool_t *pool);

/** The same for a room without pools. */
void up_house_remove_room(up_house_t *house, up_room_t *room);

/** The first pool of the first room that has one. NULL: none has */
up_pool_t *up_house_any_pool(const up_house_t *house);

/** Closes the idle connections of one pool. */
void up_room_empty_pool(up_room_t *room, const up_pool_t *pool);

/**
 * Puts a slot into the ring. When that makes one too many, the one that waits
 * longest is emptied.
 * @return what the caller has to close, -1: nothing
 */
int up_room_enter(up_room_t *room, up_slot_t *slot);

/** Takes a slot out of the ring. Lock held. */
void up_room_leave_locked(up_slot_t *slot);

/** The same if it still is in. @return 0: it was emptied before */
int up_room_leave(up_slot_t *slot);

/** The shelf for a key, made if new, and its user counted. NULL: no memory */
up_shelf_t *up_shelf_find(up_pool_t *pool, const up_poolkey_t *key);

/** The end of what up_shelf_find began: the shelf may go from now on. */
void up_shelf_leave(up_shelf_t *shelf);

/** Empties a slot that was taken, for another connection. */
up_slot_t *up_shelf_renew(up_slot_t *slot);

/** Destroys a peer's keyed shelves that nobody uses. */
void up_shelf_clear_out(up_pool_t *pool);

/**
 * Strikes off whatever is still taken from a peer's shelves, which go next:
 * apr_reslist aborts when it goes while something is out.
 */
void up_shelf_settle(up_pool_t *pool);

#endif
