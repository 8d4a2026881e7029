/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * UpstreamHash with "consistent": a ring of points, so that a server that
 * comes or goes moves only its own keys. With balance= no server has more
 * than so much of the mean load: what is too much for it goes to the next one
 * on the ring (Mirrokni, Thorup, Zadimoghaddam: Consistent Hashing with
 * Bounded Loads).
 */

#include "peers/balancer.h"

#include <stdlib.h>
#include <string.h>

#include "apr_strings.h"
#include "config/group.h"
#include "peers/hash_ring.h"

/* A group's ring, and what it was made of. */
typedef struct ketama_t {
    up_ring_t *ring;
    unsigned int version; /* of the list */
    apr_uint64_t weights;
} ketama_t;

/* A request's. */
typedef struct walk_t {
    const char *key;
    apr_size_t len;
    int begun;
    unsigned int version; /* of the list whose ring it walks */
    apr_size_t at;
    int misses;
} walk_t;

/* Which peers a point stands for. */
typedef struct want_t {
    const up_ring_t *ring;
    apr_uint32_t owner;
    apr_uint64_t share; /* of the load, for a weight of 1, times `weights`;
                           0: no limit */
    apr_uint64_t weights;
} want_t;

static void begin_ketama(up_pick_t *pick)
{
    const char *key = up_text_raw(pick->r, pick->balancing->key);
    walk_t *walk;

    if (key && *key) {
        walk = apr_pcalloc(pick->p, sizeof(*walk));
        walk->key = apr_pstrdup(pick->p, key);
        walk->len = strlen(key);
        pick->method_data = walk;
    }
}

/* --- the ring ------------------------------------------------------------ */

/* Changes when a weight does; not a sum, of which two could make up for each
 * other. */
static apr_uint64_t weights_of(const up_peerlist_t *list)
{
    apr_uint64_t mark = 0;
    int i;

    for (i = 0; i < list->count; i++) {
        mark = mark * 1000003 + (apr_uint64_t)up_peer_weight(list->peers[i]);
    }
    return mark;
}

/* Addresses of a name share its points. Those of a service are servers of
 * their own, whose names are not written. */
static const char *text_of(const up_peer_t *peer)
{
    return peer->server->service || !peer->server->text ? peer->name
                                                        : peer->server->text;
}

static up_ring_t *make_ring(const up_peerlist_t *list)
{
    up_ringnode_t *nodes = calloc((apr_size_t)list->count + 1,
                                  sizeof(*nodes));
    up_ring_t *ring;
    int i;

    if (!nodes) {
        return NULL;
    }
    for (i = 0; i < list->count; i++) {
        nodes[i].text = text_of(list->peers[i]);
        nodes[i].weight = up_peer_weight(list->peers[i]);
    }
    ring = up_ring_make(nodes, list->count);
    free(nodes);
    return ring;
}

/* NULL: no memory. */
static const up_ring_t *ring_of(up_peers_t *peers, const up_peerlist_t *list)
{
    ketama_t *ketama = peers->method_data;
    apr_uint64_t weights = weights_of(list);

    if (!ketama) {
        peers->method_data = ketama = calloc(1, sizeof(*ketama));
    }
    if (ketama && (!ketama->ring || ketama->version != list->version
                   || ketama->weights != weights)) {
        up_ring_free(ketama->ring);
        ketama->ring = make_ring(list);
        ketama->version = list->version;
        ketama->weights = weights;
    }
    return ketama ? ketama->ring : NULL;
}

/* --- walking on it ------------------------------------------------------- */

static int stands_there(const up_peer_t *peer, const void *baton)
{
    const want_t *want = baton;
    int in_use = up_peer_in_use(peer);
    apr_uint64_t load = in_use > 0 ? (apr_uint64_t)in_use : 0;

    if (want->ring->owner[peer->index] != want->owner) {
        return 0;
    }
    return !want->share
           || load * want->weights
                  < want->share * (apr_uint64_t)up_peer_weight(peer);
}

/* What one more request makes of the load, times balance=. */
static void limit_load(up_pick_t *pick, const up_peerlist_t *list,
                       apr_time_t now, want_t *want)
{
    apr_uint64_t load = 1;
    int i;

    for (i = 0; i < list->count; i++) {
        const up_peer_t *peer = list->peers[i];

        if (up_balancer_usable_locked(pick, peer, now)) {
            load += up_peer_in_use(peer) > 0
                        ? (apr_uint64_t)up_peer_in_use(peer) : 0;
            want->weights += (apr_uint64_t)up_peer_weight(peer);
        }
    }
    want->share = load * (apr_uint64_t)pick->balancing->balance;
    want->weights *= 100;
}

/* Around the ring, to who has not too much yet. Each server is looked at
 * once, however many points it has. */
static up_peer_t *walk_bounded(up_pick_t *pick, up_peerlist_t *list,
                               apr_time_t now, want_t *want, apr_size_t start)
{
    char *seen = apr_pcalloc(pick->p, (apr_size_t)list->count);
    up_peer_t *peer = NULL;
    apr_size_t i;

    limit_load(pick, list, now, want);
    for (i = 0; i < want->ring->count && !peer; i++) {
        want->owner = want->ring->points[(start + i) % want->ring->count].node;
        if (!seen[want->owner]) {
            seen[want->owner] = 1;
            peer = up_balancer_smooth_locked(pick, list, now, stands_there,
                                             want);
        }
    }
    return peer;
}

static up_peer_t *walk_on(up_pick_t *pick, up_peerlist_t *list,
                          apr_time_t now, want_t *want, walk_t *walk)
{
    up_peer_t *peer;

    while (walk->misses <= UP_BALANCER_MISSES) {
        want->owner = want->ring->points[walk->at % want->ring->count].node;
        peer = up_balancer_smooth_locked(pick, list, now, stands_there, want);
        if (peer) {
            return peer;
        }
        walk->at++;
        walk->misses++;
    }
    return NULL;
}

static up_peer_t *pick_ketama(up_pick_t *pick, up_peerlist_t *list,
                              apr_time_t now)
{
    walk_t *walk = pick->method_data;
    want_t want = { 0 };
    up_peer_t *peer = NULL;

    if (walk && list->count > 1 && list == &pick->peers->primary) {
        want.ring = ring_of(pick->peers, list);
    }
    if (want.ring && want.ring->count) {
        if (!walk->begun || walk->version != list->version) {
            walk->at = up_ring_find(want.ring, walk->key, walk->len);
            walk->version = list->version;
            walk->begun = 1;
        }
        peer = pick->balancing->balance
                   ? walk_bounded(pick, list, now, &want, walk->at)
                   : walk_on(pick, list, now, &want, walk);
    }
    return peer ? peer
                : up_balancer_smooth_locked(pick, list, now, NULL, NULL);
}

const up_balancer_t up_balancer_ketama = {
    .name = "hash consistent",
    .begin = begin_ketama,
    .pick = pick_ketama,
};
