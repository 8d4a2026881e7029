/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The queue of a group. Children tell each other, in marks in the zone, since
 * when their first one has been waiting: milliseconds, cut to an int, 0 for
 * nobody.
 */

#include "peers/queue.h"

#include "config/group.h"
#include "config/zone.h"
#include "peers/tally.h"
#include "peers/zone.h"

/* For other children's places: they cannot ring. */
#define LOOK_AROUND apr_time_from_msec(5)

/* For a server that comes back. */
#define LOOK_ALONE apr_time_from_sec(1)

/* A child that does not take its turn for so many looks may be stuck. */
#define MOST_PASSED 5

struct up_queue_t {
    up_peers_t *peers;
    up_place_t *first, *last;
    up_tally_t waiting; /* in all children */
    up_zonemarks_t marks; /* in the zone */
};

up_queue_t *up_queue_make(apr_pool_t *p, up_peers_t *peers)
{
    const up_group_t *group = peers->group;
    up_queue_t *queue = apr_pcalloc(p, sizeof(*queue));

    queue->peers = peers;
    up_tally_init(&queue->waiting, peers, "#waiting");
    if (group->zone && group->zone->memory) {
        up_zonemem_marks(group->zone->memory, group, "#queue", &queue->marks);
    }
    return queue;
}

int up_queue_busy(const up_queue_t *queue)
{
    return up_tally_get(&queue->waiting) > 0;
}

/* Locked: tells the others about the first one. */
static void mark_first(up_queue_t *queue)
{
    int mark = 0;

    if (!queue->marks.all) {
        return;
    }
    if (queue->first) {
        mark = (int)(queue->first->since / 1000);
        mark += !mark;
    }
    atomic_store(&queue->marks.all[queue->marks.own], mark);
}

int up_queue_join(up_queue_t *queue, up_place_t *place, up_bell_t *bell,
                  apr_time_t now)
{
    if (!up_tally_add(&queue->waiting, queue->peers->group->queue)) {
        return 0;
    }
    place->queue = queue;
    place->bell = up_bell_hold(bell);
    place->since = now;
    place->passed = 0;
    place->next = NULL;
    apr_thread_mutex_lock(queue->peers->lock);
    place->prev = queue->last;
    if (queue->last) {
        queue->last->next = place;
    }
    else {
        queue->first = place;
        mark_first(queue);
    }
    queue->last = place;
    up_counts_gauge(queue->peers->counts, UP_GAUGE_QUEUE, 1);
    apr_thread_mutex_unlock(queue->peers->lock);
    return 1;
}

static int is_first(const up_place_t *place)
{
    int first;

    apr_thread_mutex_lock(place->queue->peers->lock);
    first = place->queue->first == place;
    apr_thread_mutex_unlock(place->queue->peers->lock);
    return first;
}

int up_queue_turn(up_place_t *place)
{
    return is_first(place);
}

/* Has another child's first one waited for longer? */
static int is_later(const up_queue_t *queue)
{
    const up_zonemarks_t *marks = &queue->marks;
    unsigned int own = (unsigned int)atomic_load(&marks->all[marks->own]);
    unsigned int other;
    int i, earlier;

    for (i = 0; i < marks->n; i++) {
        other = (unsigned int)atomic_load(&marks->all[i]);
        earlier = (int)(other - own);
        if (other && (earlier < 0 || (!earlier && i < marks->own))) {
            return 1;
        }
    }
    return 0;
}

int up_queue_yield(up_place_t *place)
{
    if (!place->queue->marks.all || !is_later(place->queue)
        || place->passed >= MOST_PASSED) {
        return 0;
    }
    place->passed++;
    return 1;
}

apr_interval_time_t up_queue_patience(const up_place_t *place)
{
    if (!is_first(place)) {
        return 0;
    }
    return place->queue->marks.all ? LOOK_AROUND : LOOK_ALONE;
}

void up_queue_leave(up_place_t *place)
{
    up_queue_t *queue = place->queue;

    if (!queue) {
        return;
    }
    apr_thread_mutex_lock(queue->peers->lock);
    *(place->prev ? &place->prev->next : &queue->first) = place->next;
    *(place->next ? &place->next->prev : &queue->last) = place->prev;
    if (!place->prev) {
        mark_first(queue);
        if (queue->first) {
            up_bell_ring(queue->first->bell);
        }
    }
    apr_thread_mutex_unlock(queue->peers->lock);
    up_tally_sub(&queue->waiting);
    up_counts_gauge(queue->peers->counts, UP_GAUGE_QUEUE, -1);
    up_bell_drop(place->bell);
    place->queue = NULL;
}

void up_queue_wake(up_queue_t *queue)
{
    if (!queue || !up_queue_busy(queue)) {
        return;
    }
    apr_thread_mutex_lock(queue->peers->lock);
    if (queue->first) {
        up_bell_ring(queue->first->bell);
    }
    apr_thread_mutex_unlock(queue->peers->lock);
}
