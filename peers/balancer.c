/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * What all methods share: primaries, then backups; a peer once a request;
 * the count of tries.
 */

#include "peers/balancer.h"

#include <string.h>

static int list_size(const up_peers_t *peers)
{
    return peers->primary.count > peers->backup.count ? peers->primary.count
                                                      : peers->backup.count;
}

int up_balancer_usable_locked(const up_pick_t *pick, const up_peer_t *peer,
                              apr_time_t now)
{
    return !pick->tried[peer->index] && up_peer_usable_locked(peer, now);
}

up_pick_t *up_balancer_begin(apr_pool_t *p, up_peers_t *peers,
                             int max_tries)
{
    up_pick_t *pick = apr_pcalloc(p, sizeof(*pick));

    pick->peers = peers;
    pick->method = &up_balancer_round_robin;
    pick->tried = apr_pcalloc(p, (apr_size_t)list_size(peers));
    pick->tries = peers->primary.usable + peers->backup.usable;
    if (max_tries > 0 && pick->tries > max_tries) {
        pick->tries = max_tries;
    }
    return pick;
}

up_peer_t *up_balancer_pick(up_pick_t *pick, apr_time_t now)
{
    up_peers_t *peers = pick->peers;
    up_peer_t *peer = NULL;

    apr_thread_mutex_lock(peers->lock);
    if (!pick->on_backup) {
        peer = pick->method->pick(pick, &peers->primary, now);
        if (!peer && peers->backup.count) {
            pick->on_backup = 1;
            memset(pick->tried, 0, (apr_size_t)list_size(peers));
        }
    }
    if (pick->on_backup) {
        peer = pick->method->pick(pick, &peers->backup, now);
    }
    if (peer) {
        pick->tried[peer->index] = 1;
        up_peer_take_locked(peer, now);
    }
    apr_thread_mutex_unlock(peers->lock);
    return peer;
}

int up_balancer_done(up_pick_t *pick, up_peer_t *peer, up_outcome_e outcome,
                     apr_time_t now)
{
    if (pick->tries > 0) {
        pick->tries--;
    }
    return up_peer_give(pick->peers, peer, outcome, now);
}

int up_balancer_addressless(const up_pick_t *pick)
{
    return pick->peers->primary.count + pick->peers->backup.count == 0;
}

int up_balancer_another(const up_pick_t *pick, apr_time_t now)
{
    up_peers_t *peers = pick->peers;
    int found = 0;
    int i;

    apr_thread_mutex_lock(peers->lock);
    for (i = 0; !pick->on_backup && !found && i < peers->primary.count; i++) {
        found = up_balancer_usable_locked(pick, &peers->primary.peers[i],
                                          now);
    }
    for (i = 0; !found && i < peers->backup.count; i++) {
        /* moving to the backups forgets what was tried */
        found = !(pick->on_backup && pick->tried[i]) &&
                up_peer_usable_locked(&peers->backup.peers[i], now);
    }
    apr_thread_mutex_unlock(peers->lock);
    return found;
}
