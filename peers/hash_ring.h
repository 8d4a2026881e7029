/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Hashes that others compute, too: keys as Cache::Memcached spreads them, and
 * the ring of points of Cache::Memcached::Fast (ketama_points 160), both as
 * nginx has them. A cache that several proxies share is found by all alike.
 *
 * Pure: APR and zlib. A ring is malloc's and read-only once it is made.
 */

#ifndef UP_HASH_RING_H
#define UP_HASH_RING_H

#include "apr.h"

/** What stands on the ring: 160 * weight points each. */
typedef struct up_ringnode_t {
    const char *text; /* as configured: "host:port", "host", "unix:/path" */
    int weight;
} up_ringnode_t;

typedef struct up_ringpoint_t {
    apr_uint32_t hash;
    apr_uint32_t node; /* the first one with its text */
} up_ringpoint_t;

typedef struct up_ring_t {
    apr_size_t count;
    int nodes;
    apr_uint32_t *owner; /* of each node: the first one with its text */
    up_ringpoint_t *points;
} up_ring_t;

/** @return NULL: no memory. The texts are not kept. Free with up_ring_free. */
up_ring_t *up_ring_make(const up_ringnode_t *nodes, int n);

void up_ring_free(up_ring_t *ring);

/** The first point at or behind the key's; ring->count stands for the first
 * of all. */
apr_size_t up_ring_find(const up_ring_t *ring, const char *key,
                        apr_size_t len);

/**
 * The share of a key in its hash, of the given round: from round 1 on the
 * number of the round stands in front of the key. Add them up, round by round.
 */
apr_uint32_t up_ring_key_hash(const char *key, apr_size_t len,
                              unsigned int round);

#endif
