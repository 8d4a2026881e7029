/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Taking connections and giving them back; the life of all pools of a child.
 * The bookkeeping is backend_shelf's, the closing of idle ones
 * backend_sweep's.
 */

#include "transport/backend_pool.h"

#include <unistd.h>

#include "apr_atomic.h"
#include "config/clock.h"
#include "config/log.h"
#include "peers/roster.h"
#include "transport/backend_shelf.h"
#include "transport/backend_sweep.h"

/* All there is in this child. NULL after the child's pool has gone: a request
 * that is torn down even later (prefork, stopped in the middle) gives its
 * connection to nobody. */
static up_house_t *house;
static up_sweep_t *sweep; /* NULL: no thread */
static volatile apr_uint32_t stopping;

/* --- take, give, drop ---------------------------------------------------- */

static int fit(const up_conn_t *conn)
{
    return conn->idle_until > up_clock_now() && up_conn_alive(conn);
}

/** The next slot that can be used, from this shelf or new. */
static apr_status_t find_slot(up_shelf_t *shelf, int fresh,
                              up_slot_t **pslot)
{
    void *found;
    up_slot_t *slot;
    apr_status_t rv;
    int open;

    for (;;) {
        rv = apr_reslist_acquire(shelf->list, &found);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        slot = found;
        if (!slot->used) { /* just made */
            break;
        }
        open = up_room_leave(slot);
        if (fresh) {
            slot = up_shelf_renew(slot);
            break;
        }
        if (open && fit(slot->conn)) {
            slot->conn->reused = 1;
            break;
        }
        up_conn_close(slot->conn);
        apr_reslist_invalidate(shelf->list, slot);
    }
    *pslot = slot;
    return APR_SUCCESS;
}

apr_status_t up_pool_take(up_peer_t *peer, const up_poolkey_t *key, int fresh,
                          up_conn_t **pconn)
{
    up_pool_t *pool = atomic_load(&peer->pool);
    up_shelf_t *shelf = NULL;
    up_slot_t *slot = NULL;
    apr_status_t rv;

    if (!pool) {
        pool = house ? up_house_furnish(house, peer) : NULL;
    }
    if (pool) {
        shelf = up_shelf_find(pool, key);
    }
    if (!shelf) {
        return APR_ENOMEM;
    }
    rv = find_slot(shelf, fresh, &slot);
    if (rv != APR_SUCCESS) {
        up_shelf_leave(shelf);
        return APR_ENOMEM;
    }
    slot->used = 1;
    up_counts_gauge(pool->counts, UP_GAUGE_CONNECTIONS, 1);
    *pconn = slot->conn;
    return APR_SUCCESS;
}

/** How long the connection may wait for its next request, 0: not at all. */
static apr_interval_time_t may_wait(const up_conn_t *conn,
                                    const up_group_t *group, apr_time_t now)
{
    const up_pool_t *pool = conn->slot->shelf->home;

    if (apr_atomic_read32(&stopping) || atomic_load(&pool->gone) ||
        conn->fd < 0 ||
        group->keepalive <= 0 ||
        conn->requests >= (unsigned int)group->keepalive_requests ||
        now - conn->born > group->keepalive_time) {
        return 0;
    }
    if (conn->idle_hint > 0 && conn->idle_hint < group->keepalive_timeout) {
        return conn->idle_hint;
    }
    return group->keepalive_timeout;
}

void up_pool_give(up_conn_t *conn)
{
    apr_time_t now = up_clock_now();
    apr_interval_time_t wait;
    up_shelf_t *shelf;
    up_room_t *room;
    int fd;

    if (!house) {
        return;
    }
    shelf = conn->slot->shelf;
    room = shelf->home->room;
    wait = may_wait(conn, room->group, now);
    if (wait <= 0) {
        up_pool_drop(conn);
        return;
    }
    conn->idle_since = now;
    conn->idle_until = now + wait;
    up_counts_gauge(shelf->home->counts, UP_GAUGE_CONNECTIONS, -1);
    fd = up_room_enter(room, conn->slot);
    /* from here on it may be emptied, from the next line on be taken */
    apr_reslist_release(shelf->list, conn->slot);
    up_shelf_leave(shelf);
    if (fd >= 0) {
        close(fd);
    }
}

void up_pool_drop(up_conn_t *conn)
{
    up_shelf_t *shelf;

    if (!house) {
        return;
    }
    shelf = conn->slot->shelf;
    up_counts_gauge(shelf->home->counts, UP_GAUGE_CONNECTIONS, -1);
    up_conn_close(conn);
    apr_reslist_invalidate(shelf->list, conn->slot);
    up_shelf_leave(shelf);
}

/* --- the child's life ---------------------------------------------------- */

static void peer_gone(up_peer_t *peer)
{
    up_pool_t *pool = atomic_load(&peer->pool);

    if (pool) {
        atomic_store(&pool->gone, 1);
        up_room_empty_pool(pool->room, pool);
    }
}

static void peer_ended(up_peer_t *peer)
{
    up_pool_t *pool = atomic_load(&peer->pool);

    if (pool && house) {
        up_house_remove_pool(house, pool);
    }
}

static void peers_ended(up_peers_t *peers)
{
    up_room_t *room = atomic_load(&peers->room);

    if (room && house) {
        up_house_remove_room(house, room);
    }
}

/** Before anything that the thread uses has gone. */
static apr_status_t close_house(void *unused)
{
    up_pool_t *pool;

    (void)unused;
    if (sweep) {
        up_sweep_end(sweep);
    }
    while ((pool = up_house_any_pool(house))) {
        up_house_remove_pool(house, pool);
    }
    while (house->rooms) {
        up_house_remove_room(house, house->rooms);
    }
    house = NULL;
    return APR_SUCCESS;
}

apr_status_t up_pool_child_init(apr_pool_t *p, server_rec *s)
{
    static const up_roster_news_t news = { peer_gone, peer_ended,
                                           peers_ended };
    up_house_t *h = apr_pcalloc(p, sizeof(*h));
    apr_status_t rv;

    apr_atomic_set32(&stopping, 0);
    rv = apr_thread_mutex_create(&h->walk, APR_THREAD_MUTEX_DEFAULT, p);
    if (rv == APR_SUCCESS) {
        rv = apr_thread_mutex_create(&h->lock, APR_THREAD_MUTEX_DEFAULT, p);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    house = h;
    up_roster_tell(&news);
    apr_pool_pre_cleanup_register(p, NULL, close_house);
    rv = up_sweep_start(p, h, &sweep);
    if (rv != APR_SUCCESS) {
        sweep = NULL;
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, s, UPLOGNO(0201)
                     "no thread for idle backend connections: those that "
                     "a backend closes are noticed late");
    }
    return APR_SUCCESS;
}

void up_pool_stopping(void)
{
    apr_atomic_set32(&stopping, 1);
    if (house && sweep) {
        up_sweep_empty(sweep);
    }
}

int up_pool_idle(const up_group_t *group)
{
    up_room_t *room = atomic_load(&group->peers->room);
    int count;

    if (!room) {
        return 0;
    }
    apr_thread_mutex_lock(room->lock);
    count = room->count;
    apr_thread_mutex_unlock(room->lock);
    return count;
}
