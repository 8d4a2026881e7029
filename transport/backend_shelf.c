/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Rooms, shelves and slots. A connection lives in a pool with an allocator of
 * its own, a child of its shelf's pool, so its owner needs no lock. Emptied
 * pools are used again: making one costs a mapping and its page faults.
 */

#include "transport/backend_shelf.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "apr_hash.h"
#include "apr_strings.h"

/** A pool with an allocator of its own. */
static apr_status_t make_pool(apr_pool_t **pp, apr_pool_t *parent)
{
    apr_allocator_t *allocator;
    apr_status_t rv;

    rv = apr_allocator_create(&allocator);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = apr_pool_create_ex(pp, parent, NULL, allocator);
    if (rv != APR_SUCCESS) {
        apr_allocator_destroy(allocator);
        return rv;
    }
    apr_allocator_owner_set(allocator, *pp);
    return APR_SUCCESS;
}

/** Puts a connection object into an empty pool. */
static up_slot_t *furnish(up_shelf_t *shelf, apr_pool_t *p)
{
    up_slot_t *slot = apr_pcalloc(p, sizeof(*slot));

    slot->shelf = shelf;
    slot->conn = up_conn_make(p);
    slot->conn->slot = slot;
    return slot;
}

up_slot_t *up_shelf_renew(up_slot_t *slot)
{
    apr_pool_t *p = slot->conn->pool;
    up_shelf_t *shelf = slot->shelf;

    apr_pool_clear(p);
    return furnish(shelf, p);
}

/** The reslist's constructor; its lock is held. */
static apr_status_t construct(void **presource, void *params, apr_pool_t *p)
{
    up_shelf_t *shelf = params;
    apr_pool_t *own = NULL;
    apr_status_t rv = APR_SUCCESS;

    if (shelf->nspares) {
        own = shelf->spares[--shelf->nspares];
    }
    else {
        rv = make_pool(&own, p);
    }
    if (rv == APR_SUCCESS) {
        *presource = furnish(shelf, own);
    }
    return rv;
}

/** The reslist's destructor; its lock is held. */
static apr_status_t destruct(void *resource, void *params, apr_pool_t *p)
{
    up_slot_t *slot = resource;
    up_shelf_t *shelf = params;
    apr_pool_t *own;

    (void)p;
    if (!slot) { /* from settle_shelf */
        return APR_SUCCESS;
    }
    up_room_leave(slot);
    own = slot->conn->pool;
    if (shelf->nspares < UP_SHELF_SPARES) {
        apr_pool_clear(own);
        shelf->spares[shelf->nspares++] = own;
    }
    else {
        apr_pool_destroy(own);
    }
    return APR_SUCCESS;
}

/* --- rooms --------------------------------------------------------------- */

void up_room_leave_locked(up_slot_t *slot)
{
    APR_RING_REMOVE(slot, link);
    slot->idle = 0;
    slot->shelf->idle--;
    slot->shelf->home->room->count--;
    up_counts_gauge(slot->shelf->home->counts, UP_GAUGE_IDLE, -1);
}

int up_room_leave(up_slot_t *slot)
{
    up_room_t *room = slot->shelf->home->room;
    int idle;

    apr_thread_mutex_lock(room->lock);
    idle = slot->idle;
    if (idle) {
        up_room_leave_locked(slot);
    }
    apr_thread_mutex_unlock(room->lock);
    return idle;
}

int up_room_enter(up_room_t *room, up_slot_t *slot)
{
    up_slot_t *last;
    int fd = -1;

    apr_thread_mutex_lock(room->lock);
    APR_RING_INSERT_HEAD(&room->ring, slot, up_slot_t, link);
    slot->idle = 1;
    slot->shelf->idle++;
    up_counts_gauge(slot->shelf->home->counts, UP_GAUGE_IDLE, 1);
    if (++room->count > room->group->keepalive) {
        last = APR_RING_LAST(&room->ring);
        up_room_leave_locked(last);
        up_counts_add(last->shelf->home->counts, UP_COUNT_EVICTIONS, 1);
        fd = up_conn_disown(last->conn);
    }
    apr_thread_mutex_unlock(room->lock);
    return fd;
}

/** Takes some idle ones of this pool out. @return how many */
static int disown_some(up_room_t *room, const up_pool_t *pool, int *fds,
                       int most)
{
    up_slot_t *slot, *next;
    int n = 0;

    apr_thread_mutex_lock(room->lock);
    for (slot = APR_RING_FIRST(&room->ring);
         slot != APR_RING_SENTINEL(&room->ring, up_slot_t, link) && n < most;
         slot = next) {
        next = APR_RING_NEXT(slot, link);
        if (slot->shelf->home == pool) {
            up_room_leave_locked(slot);
            fds[n++] = up_conn_disown(slot->conn);
        }
    }
    apr_thread_mutex_unlock(room->lock);
    return n;
}

void up_room_empty_pool(up_room_t *room, const up_pool_t *pool)
{
    int fds[64];
    int n, i;

    do {
        n = disown_some(room, pool, fds, 64);
        for (i = 0; i < n; i++) {
            close(fds[i]);
        }
    } while (n == 64);
}

/* --- shelves ------------------------------------------------------------- */

/** The pool's lock is held, or nobody else knows the pool yet. */
static apr_status_t make_shelf(up_pool_t *pool, up_shelf_t **pshelf)
{
    int keep = pool->room->group->keepalive;
    up_shelf_t *shelf;
    apr_pool_t *p;
    apr_status_t rv;

    rv = make_pool(&p, pool->pool);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    shelf = apr_pcalloc(p, sizeof(*shelf));
    shelf->pool = p;
    shelf->home = pool;
    /* the soft maximum only bounds the emptied slots, hence the slack */
    rv = apr_reslist_create(&shelf->list, 0,
                            keep > INT_MAX / 4 ? INT_MAX : 2 * keep + 16,
                            INT_MAX, 0, construct, destruct, shelf, p);
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(p);
        return rv;
    }
    /* before the pools of the connections, which are children of p */
    apr_reslist_cleanup_order_set(shelf->list, APR_RESLIST_CLEANUP_FIRST);
    *pshelf = shelf;
    return APR_SUCCESS;
}

static int same_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static int same_key(const up_poolkey_t *one, const up_poolkey_t *other)
{
    if (one->location != other->location || !one->bind != !other->bind
        || one->transparent != other->transparent) {
        return 0;
    }
    return same_text(one->identity, other->identity)
           && (!one->bind || strcmp(one->bind, other->bind) == 0);
}

static unsigned int hash_of(const up_poolkey_t *key)
{
    apr_ssize_t len = APR_HASH_KEY_STRING;
    unsigned int hash = (unsigned int)((apr_uintptr_t)key->location >> 4);

    if (key->bind) {
        hash += apr_hashfunc_default(key->bind, &len);
    }
    if (key->identity) {
        len = APR_HASH_KEY_STRING;
        hash += apr_hashfunc_default(key->identity, &len);
    }
    return hash % UP_SHELF_BUCKETS;
}

up_shelf_t *up_shelf_find(up_pool_t *pool, const up_poolkey_t *key)
{
    up_poolkey_t wanted = *key;
    up_shelf_t **bucket;
    up_shelf_t *shelf;

    if (!wanted.bind || !*wanted.bind) {
        wanted.bind = NULL;
        wanted.transparent = 0;
    }
    if (!wanted.bind && !wanted.location && !wanted.identity) {
        return pool->plain;
    }
    bucket = &pool->keyed[hash_of(&wanted)];
    apr_thread_mutex_lock(pool->lock);
    shelf = *bucket;
    while (shelf && !same_key(&shelf->key, &wanted)) {
        shelf = shelf->next;
    }
    if (!shelf && make_shelf(pool, &shelf) == APR_SUCCESS) {
        shelf->key = wanted;
        shelf->key.bind = apr_pstrdup(shelf->pool, wanted.bind);
        shelf->key.identity = apr_pstrdup(shelf->pool, wanted.identity);
        shelf->next = *bucket;
        *bucket = shelf;
    }
    if (shelf) {
        shelf->users++;
    }
    apr_thread_mutex_unlock(pool->lock);
    return shelf;
}

void up_shelf_leave(up_shelf_t *shelf)
{
    up_pool_t *pool = shelf->home;

    if (shelf != pool->plain) {
        apr_thread_mutex_lock(pool->lock);
        shelf->users--;
        apr_thread_mutex_unlock(pool->lock);
    }
}

/** Pool's lock held: no new user can come. */
static int abandoned_locked(const up_shelf_t *shelf)
{
    up_room_t *room = shelf->home->room;
    int idle;

    if (shelf->users) {
        return 0;
    }
    apr_thread_mutex_lock(room->lock);
    idle = shelf->idle;
    apr_thread_mutex_unlock(room->lock);
    return idle == 0;
}

void up_shelf_clear_out(up_pool_t *pool)
{
    up_shelf_t **where;
    up_shelf_t *shelf;
    int i;

    apr_thread_mutex_lock(pool->lock);
    for (i = 0; i < UP_SHELF_BUCKETS; i++) {
        where = &pool->keyed[i];
        while ((shelf = *where)) {
            if (abandoned_locked(shelf)) {
                *where = shelf->next;
                apr_pool_destroy(shelf->pool);
            }
            else {
                where = &shelf->next;
            }
        }
    }
    apr_thread_mutex_unlock(pool->lock);
}

static void settle_shelf(up_shelf_t *shelf)
{
    while (apr_reslist_acquired_count(shelf->list) > 0) {
        apr_reslist_invalidate(shelf->list, NULL);
    }
}

void up_shelf_settle(up_pool_t *pool)
{
    up_shelf_t *shelf;
    int i;

    settle_shelf(pool->plain);
    for (i = 0; i < UP_SHELF_BUCKETS; i++) {
        for (shelf = pool->keyed[i]; shelf; shelf = shelf->next) {
            settle_shelf(shelf);
        }
    }
}

/* --- the house ----------------------------------------------------------- */

/** In a pool that has no parent: threads add and remove at the same time. */
static apr_status_t make_peer_pool(up_room_t *room, up_pool_t **ppool)
{
    up_pool_t *pool;
    apr_pool_t *p;
    apr_status_t rv;

    rv = make_pool(&p, NULL);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    pool = apr_pcalloc(p, sizeof(*pool));
    pool->pool = p;
    pool->room = room;
    rv = apr_thread_mutex_create(&pool->lock, APR_THREAD_MUTEX_DEFAULT, p);
    if (rv == APR_SUCCESS) {
        rv = make_shelf(pool, &pool->plain);
    }
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(p);
        return rv;
    }
    *ppool = pool;
    return APR_SUCCESS;
}

static apr_status_t make_room(const up_group_t *group, up_room_t **proom)
{
    up_room_t *room;
    apr_pool_t *p;
    apr_status_t rv;

    rv = make_pool(&p, NULL);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    room = apr_pcalloc(p, sizeof(*room));
    room->pool = p;
    room->group = group;
    APR_RING_INIT(&room->ring, up_slot_t, link);
    rv = apr_thread_mutex_create(&room->lock, APR_THREAD_MUTEX_DEFAULT, p);
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(p);
        return rv;
    }
    *proom = room;
    return APR_SUCCESS;
}

/** House's lock held. */
static up_room_t *room_of(up_house_t *house, up_peers_t *peers)
{
    up_room_t *room = atomic_load(&peers->room);

    if (!room && make_room(peers->group, &room) == APR_SUCCESS) {
        room->next = house->rooms;
        house->rooms = room;
        atomic_store(&peers->room, room);
    }
    return room;
}

up_pool_t *up_house_furnish(up_house_t *house, up_peer_t *peer)
{
    up_room_t *room;
    up_pool_t *pool;

    apr_thread_mutex_lock(house->lock);
    pool = atomic_load(&peer->pool);
    if (!pool) {
        room = room_of(house, peer->peers);
        if (room && make_peer_pool(room, &pool) == APR_SUCCESS) {
            pool->counts = peer->counts;
            pool->next = room->pools;
            room->pools = pool;
            atomic_store(&peer->pool, pool);
        }
    }
    apr_thread_mutex_unlock(house->lock);
    return pool;
}

/** The head of a list to go through: what comes later stands before it. */
static up_room_t *first_room(up_house_t *house)
{
    up_room_t *room;

    apr_thread_mutex_lock(house->lock);
    room = house->rooms;
    apr_thread_mutex_unlock(house->lock);
    return room;
}

static up_pool_t *first_pool(up_house_t *house, const up_room_t *room)
{
    up_pool_t *pool;

    apr_thread_mutex_lock(house->lock);
    pool = room->pools;
    apr_thread_mutex_unlock(house->lock);
    return pool;
}

void up_house_each_room(up_house_t *house,
                        void (*visit)(up_room_t *room, void *baton),
                        void *baton)
{
    up_room_t *room;

    apr_thread_mutex_lock(house->walk);
    for (room = first_room(house); room; room = room->next) {
        visit(room, baton);
    }
    apr_thread_mutex_unlock(house->walk);
}

void up_house_each_pool(up_house_t *house, void (*visit)(up_pool_t *pool))
{
    up_room_t *room;
    up_pool_t *pool;

    apr_thread_mutex_lock(house->walk);
    for (room = first_room(house); room; room = room->next) {
        for (pool = first_pool(house, room); pool; pool = pool->next) {
            visit(pool);
        }
    }
    apr_thread_mutex_unlock(house->walk);
}

up_pool_t *up_house_any_pool(const up_house_t *house)
{
    const up_room_t *room = house->rooms;

    while (room && !room->pools) {
        room = room->next;
    }
    return room ? room->pools : NULL;
}

void up_house_remove_pool(up_house_t *house, up_pool_t *pool)
{
    up_pool_t **where = &pool->room->pools;

    apr_thread_mutex_lock(house->walk);
    apr_thread_mutex_lock(house->lock);
    while (*where != pool) {
        where = &(*where)->next;
    }
    *where = pool->next;
    apr_thread_mutex_unlock(house->lock);
    up_shelf_settle(pool);
    apr_pool_destroy(pool->pool);
    apr_thread_mutex_unlock(house->walk);
}

void up_house_remove_room(up_house_t *house, up_room_t *room)
{
    up_room_t **where = &house->rooms;

    apr_thread_mutex_lock(house->walk);
    apr_thread_mutex_lock(house->lock);
    while (*where != room) {
        where = &(*where)->next;
    }
    *where = room->next;
    apr_thread_mutex_unlock(house->lock);
    apr_pool_destroy(room->pool);
    apr_thread_mutex_unlock(house->walk);
}
