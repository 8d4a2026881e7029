/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Finding servers by name. */

#include "peers/named.h"

#include <string.h>

#include "apr_strings.h"
#include "config/group.h"

static up_peer_t *take_named(up_pick_t *pick, const up_peerlist_t *list,
                             const char *name, apr_time_t now)
{
    int i;

    for (i = 0; i < list->count; i++) {
        up_peer_t *peer = list->peers[i];

        if ((strcmp(peer->name, name) == 0
             || strcmp(peer->server->text, name) == 0)
            && up_balancer_usable_locked(pick, peer, now)
            && up_peer_take_locked(peer, now)) {
            up_balancer_taken_locked(pick, peer, now);
            return peer;
        }
    }
    return NULL;
}

up_peer_t *up_named_pick(up_pick_t *pick, const char *name, apr_time_t now)
{
    up_peers_t *peers = pick->peers;
    up_peer_t *peer;

    apr_thread_mutex_lock(peers->lock);
    peer = take_named(pick, &peers->primary, name, now);
    if (!peer) {
        peer = take_named(pick, &peers->backup, name, now);
    }
    apr_thread_mutex_unlock(peers->lock);
    if (peer) {
        up_balancer_note(pick, peer);
    }
    return peer;
}

static void add_list(apr_array_header_t *views, const up_pick_t *pick,
                     const up_peerlist_t *list, apr_time_t now)
{
    int i;

    for (i = 0; i < list->count; i++) {
        const up_peer_t *peer = list->peers[i];
        up_server_view_t *view = apr_array_push(views);

        view->name = apr_pstrdup(views->pool, peer->name);
        view->written = apr_pstrdup(views->pool, peer->server->text);
        view->weight = up_peer_weight(peer);
        view->in_use = up_peer_in_use(peer);
        view->max_conns = atomic_load_explicit(&peer->state->max_conns,
                                               memory_order_relaxed);
        view->backup = peer->server->backup;
        view->usable = up_balancer_usable_locked(pick, peer, now);
    }
}

apr_array_header_t *up_named_list(const up_pick_t *pick, apr_pool_t *p,
                                  apr_time_t now)
{
    apr_array_header_t *views = apr_array_make(p, 8,
                                               sizeof(up_server_view_t));
    up_peers_t *peers = pick->peers;

    apr_thread_mutex_lock(peers->lock);
    add_list(views, pick, &peers->primary, now);
    add_list(views, pick, &peers->backup, now);
    apr_thread_mutex_unlock(peers->lock);
    return views;
}
