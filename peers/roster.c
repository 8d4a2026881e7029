/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the replacing of a group's lists and the end of its peers.
 */

#include "peers/roster.h"

#include <stdlib.h>
#include <string.h>

/* Lists as they are going to be. */
typedef struct draft_t {
    up_peer_t **peers;
    int count;
    int usable;
} draft_t;

static const up_roster_news_t *news;

void up_roster_tell(const up_roster_news_t *whom)
{
    news = whom;
}

static int same_place(const apr_sockaddr_t *one, const apr_sockaddr_t *other)
{
    return one == other
           || (one->family == other->family && one->family != APR_UNIX
               && one->port == other->port
               && apr_sockaddr_equal(one, other));
}

/* The peer of an entry in the present list, taken out of it. */
static up_peer_t *claim(up_peerlist_t *list, const up_entry_t *entry)
{
    int i;

    for (i = 0; i < list->count; i++) {
        up_peer_t *peer = list->peers[i];

        if (peer && peer->server == entry->server
            && same_place(peer->addr, entry->addr)) {
            list->peers[i] = NULL;
            return peer;
        }
    }
    return NULL;
}

static apr_sockaddr_t *copy_addr(apr_pool_t *p, apr_sockaddr_t *addr)
{
    apr_sockaddr_t *copy = NULL;
    char ip[64];

    if (apr_sockaddr_ip_getbuf(ip, sizeof(ip), addr) != APR_SUCCESS
        || apr_sockaddr_info_get(&copy, ip, addr->family, addr->port, 0, p)
               != APR_SUCCESS) {
        return NULL;
    }
    return copy;
}

/* A peer in a pool of its own, which has no parent: peers come and go on
 * other threads than those that may be at work in the child's pools. */
static up_peer_t *make_peer(up_peers_t *peers, const up_entry_t *entry)
{
    apr_sockaddr_t *addr;
    up_peer_t *peer;
    apr_pool_t *p;

    if (apr_pool_create(&p, NULL) != APR_SUCCESS) {
        return NULL;
    }
    addr = entry->addr->family == APR_UNIX ? entry->addr
                                           : copy_addr(p, entry->addr);
    if (!addr) {
        apr_pool_destroy(p);
        return NULL;
    }
    peer = up_peer_make(p, peers, entry->server, addr);
    peer->own = p;
    return peer;
}

/* One of the lists to come. The present one is read without its lock: only
 * this thread replaces arrays. @return how many peers are new */
static int draft_list(up_peers_t *peers, up_peerlist_t *present, int backup,
                      const up_entry_t *entries, int n, draft_t *draft)
{
    int made = 0;
    int i;

    for (i = 0; i < n; i++) {
        up_peer_t *peer;

        if (!entries[i].backup != !backup) {
            continue;
        }
        peer = claim(present, &entries[i]);
        if (!peer) {
            peer = make_peer(peers, &entries[i]);
            made += peer != NULL;
        }
        if (!peer) {
            continue;
        }
        if (peer->listed != entries[i].weight) {
            /* else it stays as an operator may have set it */
            peer->listed = entries[i].weight;
            up_peerstate_weigh(peer->state, peer->listed);
        }
        draft->peers[draft->count++] = peer;
        draft->usable += !entries[i].server->down
                         && !entries[i].server->drain;
    }
    return made;
}

/* Those that nobody claimed. @return their chain */
static up_peer_t *left_over(const up_peerlist_t *list, up_peer_t *chain)
{
    int i;

    for (i = 0; i < list->count; i++) {
        if (list->peers[i]) {
            list->peers[i]->next_gone = chain;
            chain = list->peers[i];
        }
    }
    return chain;
}

static void swap_locked(up_peerlist_t *list, draft_t *draft)
{
    up_peer_t **before = list->replaced ? list->peers : NULL;
    int i;

    list->peers = draft->peers;
    list->count = draft->count;
    list->usable = draft->usable;
    list->replaced = 1;
    list->version++;
    for (i = 0; i < list->count; i++) {
        up_peer_t *peer = list->peers[i];

        peer->index = i;
        if (peer->effective > up_peer_weight(peer)) {
            peer->effective = up_peer_weight(peer);
        }
    }
    draft->peers = before;
}

/* The lists are exchanged, and what is left over is gone. */
static void publish(up_peers_t *peers, draft_t *drafts, up_peer_t *gone)
{
    up_peer_t *last = gone;

    while (last && last->next_gone) {
        last = last->next_gone;
    }
    apr_thread_mutex_lock(peers->lock);
    swap_locked(&peers->primary, &drafts[0]);
    swap_locked(&peers->backup, &drafts[1]);
    peers->single = peers->primary.count == 1 && peers->backup.count == 0;
    if (last) {
        last->next_gone = peers->gone;
        peers->gone = gone;
    }
    apr_thread_mutex_unlock(peers->lock);
}

/* A copy of a list that claim() may strike out. */
static up_peerlist_t copy_list(const up_peerlist_t *list)
{
    up_peerlist_t copy = *list;
    apr_size_t size = sizeof(*copy.peers) * (apr_size_t)list->count;

    copy.peers = malloc(size + 1);
    if (copy.peers && list->count) {
        memcpy(copy.peers, list->peers, size);
    }
    return copy;
}

/* Both lists drafted, and who is in none of them. @return changes, -1: no
 * memory */
static int draft_both(up_peers_t *peers, const up_entry_t *entries, int n,
                      draft_t *drafts, up_peer_t **pgone)
{
    up_peerlist_t lists[2] = { copy_list(&peers->primary),
                               copy_list(&peers->backup) };
    up_peer_t *one;
    int changes = -1;
    int i;

    for (i = 0; i < 2; i++) {
        drafts[i].peers = calloc((apr_size_t)n + 1, sizeof(up_peer_t *));
    }
    if (lists[0].peers && lists[1].peers && drafts[0].peers
        && drafts[1].peers) {
        changes = draft_list(peers, &lists[0], 0, entries, n, &drafts[0])
                  + draft_list(peers, &lists[1], 1, entries, n, &drafts[1]);
        *pgone = left_over(&lists[1], left_over(&lists[0], NULL));
        for (one = *pgone; one; one = one->next_gone) {
            changes++;
        }
    }
    free(lists[0].peers);
    free(lists[1].peers);
    return changes;
}

int up_roster_set(up_peers_t *peers, const up_entry_t *entries, int n)
{
    draft_t drafts[2] = { { 0 }, { 0 } };
    up_peer_t *gone = NULL;
    up_peer_t *one;
    int changes = draft_both(peers, entries, n, drafts, &gone);

    if (changes > 0) {
        publish(peers, drafts, gone);
        /* only this thread frees peers, and it is here */
        for (one = peers->gone; one && news; one = one->next_gone) {
            news->gone(one);
        }
    }
    free(drafts[0].peers);
    free(drafts[1].peers);
    return changes > 0 ? changes : 0;
}

static void end_peer(up_peer_t *peer)
{
    if (news) {
        news->ended(peer);
    }
    up_peerstate_leave(peer);
    if (peer->own) {
        apr_pool_destroy(peer->own);
    }
}

void up_roster_reap(up_peers_t *peers)
{
    up_peer_t **where, *ended = NULL;
    up_peer_t *one;

    apr_thread_mutex_lock(peers->lock);
    where = &peers->gone;
    while ((one = *where)) {
        if (atomic_load_explicit(&one->held, memory_order_acquire)) {
            where = &one->next_gone;
        }
        else {
            *where = one->next_gone;
            one->next_gone = ended;
            ended = one;
        }
    }
    apr_thread_mutex_unlock(peers->lock);
    while ((one = ended)) {
        ended = one->next_gone;
        end_peer(one);
    }
}

void up_roster_close(up_peers_t *peers)
{
    up_roster_set(peers, NULL, 0);
    up_roster_reap(peers);
    if (news) {
        news->closed(peers);
    }
    if (peers->primary.replaced) {
        free(peers->primary.peers);
        free(peers->backup.peers);
    }
    apr_thread_mutex_destroy(peers->lock);
}
