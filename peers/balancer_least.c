/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The server with the least of something for its weight, and UpstreamLeastConn:
 * that of which requests are under way.
 */

#include "peers/balancer.h"

/* The least so far: cost / weight. */
typedef struct least_t {
    const up_pick_t *pick;
    apr_time_t now;
    apr_uint64_t (*cost)(const up_pick_t *pick, const up_peer_t *peer,
                         apr_time_t now);
    apr_uint64_t best;
    apr_uint64_t weight; /* 0: none yet */
} least_t;

static int as_little(const up_peer_t *peer, const void *baton)
{
    const least_t *least = baton;

    return least->cost(least->pick, peer, least->now) * least->weight
           <= least->best * (apr_uint64_t)up_peer_weight(peer);
}

up_peer_t *up_balancer_least_locked(up_pick_t *pick, up_peerlist_t *list,
                                    apr_time_t now,
                                    apr_uint64_t (*cost)(const up_pick_t *pick,
                                                         const up_peer_t *peer,
                                                         apr_time_t now))
{
    least_t least = { .pick = pick, .now = now, .cost = cost };
    up_peer_t *peer;
    int i;

    for (i = 0; i < list->count; i++) {
        const up_peer_t *peer = list->peers[i];
        apr_uint64_t weight = (apr_uint64_t)up_peer_weight(peer);
        apr_uint64_t its;

        if (!up_balancer_usable_locked(pick, peer, now)) {
            continue;
        }
        its = cost(pick, peer, now);
        if (!least.weight || its * least.weight < least.best * weight) {
            least.best = its;
            least.weight = weight;
        }
    }
    if (!least.weight) {
        return NULL;
    }
    peer = up_balancer_smooth_locked(pick, list, now, as_little, &least);
    /* requests come and go elsewhere meanwhile: perhaps none is so good */
    return peer ? peer
                : up_balancer_smooth_locked(pick, list, now, NULL, NULL);
}

static apr_uint64_t in_use(const up_pick_t *pick, const up_peer_t *peer,
                           apr_time_t now)
{
    int n = up_peer_in_use(peer);

    (void)pick;
    (void)now;
    return n > 0 ? (apr_uint64_t)n : 0;
}

static up_peer_t *pick_least_conn(up_pick_t *pick, up_peerlist_t *list,
                                  apr_time_t now)
{
    return up_balancer_least_locked(pick, list, now, in_use);
}

const up_balancer_t up_balancer_least_conn = {
    .name = "least_conn",
    .pick = pick_least_conn,
};
