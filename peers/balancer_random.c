/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * UpstreamRandom: by lot; with "two" the less busy one of two.
 */

#include "peers/balancer.h"

#include <unistd.h>

/* xorshift64*: lots need no secret. */
static apr_uint64_t next_number(up_peers_t *peers, apr_time_t now)
{
    apr_uint64_t x = peers->lots;

    if (!x) {
        x = ((apr_uint64_t)now * 1000003) ^ ((apr_uint64_t)getpid() << 40)
            ^ (apr_uint64_t)(apr_uintptr_t)peers;
        x |= 1;
    }
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    peers->lots = x;
    return (x * APR_UINT64_C(2685821657736338717)) >> 32;
}

static int takes_part(const up_pick_t *pick, const up_peer_t *peer,
                      apr_time_t now, up_peer_t *const *but, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        if (but[i] == peer) {
            return 0;
        }
    }
    return up_balancer_usable_locked(pick, peer, now);
}

up_peer_t *up_balancer_draw_locked(up_pick_t *pick, up_peerlist_t *list,
                                   apr_time_t now, up_peer_t *const *but,
                                   int n)
{
    up_peer_t *last = NULL;
    apr_uint64_t total = 0;
    apr_uint64_t lot;
    int i;

    for (i = 0; i < list->count; i++) {
        if (takes_part(pick, list->peers[i], now, but, n)) {
            total += (apr_uint64_t)up_peer_weight(list->peers[i]);
        }
    }
    lot = total ? next_number(pick->peers, now) % total : 0;
    for (i = 0; i < list->count; i++) {
        apr_uint64_t weight = (apr_uint64_t)up_peer_weight(list->peers[i]);

        if (!takes_part(pick, list->peers[i], now, but, n)) {
            continue;
        }
        if (lot < weight) {
            return list->peers[i];
        }
        lot -= weight;
        last = list->peers[i];
    }
    return last; /* fewer take part than a moment ago */
}

static up_peer_t *pick_random(up_pick_t *pick, up_peerlist_t *list,
                              apr_time_t now)
{
    up_peer_t *one = up_balancer_draw_locked(pick, list, now, NULL, 0);
    up_peer_t *other;

    if (!one || !pick->balancing->two) {
        return one;
    }
    other = up_balancer_draw_locked(pick, list, now, &one, 1);
    if (!other || (apr_int64_t)up_peer_in_use(one) * up_peer_weight(other)
                      < (apr_int64_t)up_peer_in_use(other)
                            * up_peer_weight(one)) {
        return one;
    }
    return other;
}

const up_balancer_t up_balancer_random = {
    .name = "random",
    .pick = pick_random,
};
