/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Counting what is under way, in a number that children may share, and in
 * this child's cell of it, which is given back when the child dies: see
 * peers/zone.h for the order of the two.
 *
 * Any thread, no lock.
 */

#ifndef UP_TALLY_H
#define UP_TALLY_H

#include <stdatomic.h>

#include "peers/peer.h"

/** One more, unless that is more than `limit` (0: none). @return 0: it is */
static inline int up_count_up(atomic_int *total, atomic_int *cell, int limit)
{
    int n = atomic_load_explicit(total, memory_order_relaxed);

    do {
        if (limit && n >= limit) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(total, &n, n + 1));
    if (cell) {
        atomic_fetch_add(cell, 1);
    }
    return 1;
}

static inline void up_count_down(atomic_int *total, atomic_int *cell)
{
    if (cell) {
        atomic_fetch_sub(cell, 1);
    }
    atomic_fetch_sub(total, 1);
}

/** A number of a group, of all children when it has a zone. */
typedef struct up_tally_t {
    atomic_int *total;
    atomic_int *cell; /* NULL: the number is this child's */
    atomic_int own;   /* without a zone */
} up_tally_t;

/** @param what a name for it, of no server: "#waiting" */
void up_tally_init(up_tally_t *tally, const up_peers_t *peers,
                   const char *what);

static inline int up_tally_add(up_tally_t *tally, int limit)
{
    return up_count_up(tally->total, tally->cell, limit);
}

static inline void up_tally_sub(up_tally_t *tally)
{
    up_count_down(tally->total, tally->cell);
}

static inline int up_tally_get(const up_tally_t *tally)
{
    return atomic_load_explicit(tally->total, memory_order_relaxed);
}

#endif
