/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Smooth weighted round robin: a heavy server's turns are spread out among
 * those of the light ones (5,1,1 gives a a b a c a a).
 */

#include "peers/balancer.h"

up_peer_t *up_balancer_smooth_locked(up_pick_t *pick, up_peerlist_t *list,
                                     apr_time_t now,
                                     int (*fits)(const up_peer_t *peer,
                                                 const void *baton),
                                     const void *baton)
{
    up_peer_t *best = NULL;
    up_peer_t *peer;
    int total = 0;
    int i;

    for (i = 0; i < list->count; i++) {
        peer = list->peers[i];
        if (!up_balancer_usable_locked(pick, peer, now)
            || (fits && !fits(peer, baton))) {
            continue;
        }
        peer->current += peer->effective;
        total += peer->effective;
        /* what failures took away comes back one choice at a time */
        if (peer->effective < up_peer_weight(peer)) {
            peer->effective++;
        }
        if (!best || peer->current > best->current) {
            best = peer;
        }
    }
    if (best) {
        best->current -= total;
    }
    return best;
}

static up_peer_t *pick_round_robin(up_pick_t *pick, up_peerlist_t *list,
                                   apr_time_t now)
{
    return up_balancer_smooth_locked(pick, list, now, NULL, NULL);
}

/* Its turn comes later for it, but not without end. */
static void debit(up_pick_t *pick, up_peerlist_t *list, up_peer_t *peer,
                  apr_time_t now)
{
    int total = 0;
    int i;

    for (i = 0; i < list->count; i++) {
        if (list->peers[i] == peer
            || up_balancer_usable_locked(pick, list->peers[i], now)) {
            total += list->peers[i]->effective;
        }
    }
    if (peer->current <= up_peer_weight(peer) - total) {
        return;
    }
    for (i = 0; i < list->count; i++) {
        if (list->peers[i] == peer
            || up_balancer_usable_locked(pick, list->peers[i], now)) {
            list->peers[i]->current += list->peers[i]->effective;
        }
    }
    peer->current -= total;
}

const up_balancer_t up_balancer_round_robin = {
    .name = "round_robin",
    .pick = pick_round_robin,
    .stuck = debit,
};
