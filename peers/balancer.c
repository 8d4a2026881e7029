/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * What all methods share: primaries, then backups; a peer once a request;
 * the count of tries.
 */

#include "peers/balancer.h"

#include <string.h>

#include "apr_strings.h"
#include "config/group.h"

#define TRIED_AT_FIRST 8

static int was_tried(const up_pick_t *pick, const up_peer_t *peer)
{
    int i;

    for (i = 0; i < pick->ntried; i++) {
        if (pick->tried[i] == peer->serial) {
            return 1;
        }
    }
    return 0;
}

void up_balancer_note(up_pick_t *pick, const up_peer_t *peer)
{
    unsigned int *larger;

    if (pick->ntried == pick->room) {
        pick->room = pick->room ? 2 * pick->room : TRIED_AT_FIRST;
        larger = apr_palloc(pick->p, sizeof(*larger)
                                         * (apr_size_t)pick->room);
        if (pick->ntried) {
            memcpy(larger, pick->tried, sizeof(*larger)
                                            * (apr_size_t)pick->ntried);
        }
        pick->tried = larger;
    }
    pick->tried[pick->ntried++] = peer->serial;
}

int up_balancer_usable_locked(const up_pick_t *pick, const up_peer_t *peer,
                              apr_time_t now)
{
    return !was_tried(pick, peer) && up_peer_usable_locked(peer, now);
}

void up_balancer_recount(up_pick_t *pick, int max_tries)
{
    up_peers_t *peers = pick->peers;

    apr_thread_mutex_lock(peers->lock);
    pick->tries = peers->primary.usable + peers->backup.usable;
    apr_thread_mutex_unlock(peers->lock);
    if (max_tries > 0 && pick->tries > max_tries) {
        pick->tries = max_tries;
    }
}

static const up_balancer_t *const methods[] = {
    [UP_METHOD_ROUND_ROBIN] = &up_balancer_round_robin,
    [UP_METHOD_LEAST_CONN] = &up_balancer_least_conn,
    [UP_METHOD_IP_HASH] = &up_balancer_ip_hash,
    [UP_METHOD_HASH] = &up_balancer_hash,
    [UP_METHOD_KETAMA] = &up_balancer_ketama,
    [UP_METHOD_RANDOM] = &up_balancer_random,
    [UP_METHOD_LEAST_TIME] = &up_balancer_least_time,
    [UP_METHOD_PEAK_EWMA] = &up_balancer_peak_ewma,
};

up_pick_t *up_balancer_begin(apr_pool_t *p, request_rec *r,
                             up_peers_t *peers, int max_tries)
{
    up_pick_t *pick = apr_pcalloc(p, sizeof(*pick));

    pick->r = r;
    pick->p = p;
    pick->peers = peers;
    pick->balancing = peers->group->balancing;
    pick->method = pick->balancing ? methods[pick->balancing->method]
                                   : &up_balancer_round_robin;
    up_balancer_recount(pick, max_tries);
    if (pick->method->begin) {
        pick->method->begin(pick);
    }
    return pick;
}

/* The server that the request sticks to, if it can be chosen; one may have
 * several addresses. */
static up_peer_t *take_sticky(up_pick_t *pick, up_peerlist_t *list,
                              apr_time_t now)
{
    int i;

    for (i = 0; pick->stick && i < list->count; i++) {
        up_peer_t *peer = list->peers[i];

        if (strcmp(peer->route, pick->stick) == 0 && !was_tried(pick, peer)
            && up_peer_stickable_locked(peer, now)
            && up_peer_take_locked(peer, now)) {
            if (pick->method->stuck) {
                pick->method->stuck(pick, list, peer, now);
            }
            return peer;
        }
    }
    return NULL;
}

/* Whom the method chooses. That another child was faster is seen the next
 * time, by the method too; not for ever, as it may be unlucky. */
static up_peer_t *take_from(up_pick_t *pick, up_peerlist_t *list,
                            apr_time_t now)
{
    up_peer_t *peer = take_sticky(pick, list, now);
    int i;

    for (i = 0; i <= list->count && !peer; i++) {
        peer = pick->method->pick(pick, list, now);
        if (!peer) {
            break;
        }
        if (!up_peer_take_locked(peer, now)) {
            peer = NULL;
        }
    }
    return peer;
}

void up_balancer_taken_locked(up_pick_t *pick, up_peer_t *peer,
                              apr_time_t now)
{
    pick->taken = now;
    pick->learned = 0;
    if (pick->method->taken) {
        pick->method->taken(pick, peer, now);
    }
}

up_peer_t *up_balancer_pick(up_pick_t *pick, apr_time_t now)
{
    up_peers_t *peers = pick->peers;
    up_peer_t *peer = NULL;

    apr_thread_mutex_lock(peers->lock);
    if (!pick->on_backup) {
        peer = take_from(pick, &peers->primary, now);
        if (!peer && peers->backup.count) {
            pick->on_backup = 1;
        }
    }
    if (pick->on_backup) {
        peer = take_from(pick, &peers->backup, now);
    }
    if (peer) {
        up_balancer_taken_locked(pick, peer, now);
    }
    apr_thread_mutex_unlock(peers->lock);
    if (peer) {
        up_balancer_note(pick, peer);
    }
    else if (!pick->ntried) {
        pick->on_backup = 0; /* it may come again, from a queue */
    }
    return peer;
}

void up_balancer_head(up_pick_t *pick, up_peer_t *peer,
                      apr_interval_time_t after, apr_time_t now)
{
    if (pick->method->head) {
        apr_thread_mutex_lock(pick->peers->lock);
        pick->method->head(pick, peer, after, now);
        apr_thread_mutex_unlock(pick->peers->lock);
    }
}

up_change_e up_balancer_done(up_pick_t *pick, up_peer_t *peer,
                             up_outcome_e outcome, const up_timing_t *timing,
                             apr_time_t now)
{
    static const up_timing_t unknown = { -1, -1 };
    up_peers_t *peers = pick->peers;

    if (pick->tries > 0) {
        pick->tries--;
    }
    if (pick->method->done) {
        apr_thread_mutex_lock(peers->lock);
        pick->method->done(pick, peer, outcome, timing ? timing : &unknown,
                           now);
        apr_thread_mutex_unlock(peers->lock);
    }
    return up_peer_give(peers, peer, outcome, now);
}

int up_balancer_addressless(const up_pick_t *pick)
{
    return pick->peers->primary.count + pick->peers->backup.count == 0;
}

static int any_usable_locked(const up_pick_t *pick, const up_peerlist_t *list,
                             apr_time_t now)
{
    int i;

    for (i = 0; i < list->count; i++) {
        if (up_balancer_usable_locked(pick, list->peers[i], now)) {
            return 1;
        }
    }
    return 0;
}

int up_balancer_another(const up_pick_t *pick, apr_time_t now)
{
    up_peers_t *peers = pick->peers;
    int found;

    apr_thread_mutex_lock(peers->lock);
    found = (!pick->on_backup
             && any_usable_locked(pick, &peers->primary, now))
            || any_usable_locked(pick, &peers->backup, now);
    apr_thread_mutex_unlock(peers->lock);
    return found;
}

static int any_fit_locked(const up_pick_t *pick, const up_peerlist_t *list,
                          apr_time_t now)
{
    int i;

    for (i = 0; i < list->count; i++) {
        if (!was_tried(pick, list->peers[i])
            && up_peer_fit_locked(list->peers[i], now)) {
            return 1;
        }
    }
    return 0;
}

int up_balancer_full(const up_pick_t *pick, apr_time_t now)
{
    up_peers_t *peers = pick->peers;
    int found;

    apr_thread_mutex_lock(peers->lock);
    found = any_fit_locked(pick, &peers->primary, now)
            || any_fit_locked(pick, &peers->backup, now);
    apr_thread_mutex_unlock(peers->lock);
    return found;
}
