/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Taking the picture. */

#include "observe/view.h"

#include "apr_fnmatch.h"
#include "apr_strings.h"
#include "config/clock.h"
#include "config/zone.h"
#include "peers/ledger.h"

typedef struct making_t {
    apr_pool_t *p;
    const char *names;
    apr_array_header_t *views;
    apr_array_header_t *rows; /* of up_counts_t *, of the present group */
    apr_time_t now;
} making_t;

int up_view_listed(apr_pool_t *p, const char *names, const char *name)
{
    char *rest, *one;

    if (!names) {
        return 1;
    }
    one = apr_strtok(apr_pstrdup(p, names), ", ", &rest);
    for (; one; one = apr_strtok(NULL, ", ", &rest)) {
        if (apr_fnmatch(one, name, 0) == APR_SUCCESS) {
            return 1;
        }
    }
    return 0;
}

const char *up_view_condition(up_condition_e condition)
{
    static const char *const words[] = { "up", "failed", "drain", "down" };

    return words[condition];
}

static int get(const atomic_int *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void judge(apr_pool_t *p, const up_peer_t *peer, apr_time_t now,
                  up_peerview_t *view)
{
    int admin = get(&peer->state->admin);
    const char *who = view->ordered & UP_ORDERED_ADMIN ? "ordered by API"
                                                       : "configured";

    view->condition = UP_CONDITION_UP;
    view->reason = view->full ? "max_conns is reached" : "in service";
    if (admin == UP_ADMIN_DOWN) {
        view->condition = UP_CONDITION_DOWN;
        view->reason = who;
    }
    else if (admin == UP_ADMIN_DRAIN) {
        view->condition = UP_CONDITION_DRAIN;
        view->reason = who;
    }
    else if (!up_peer_fit_locked(peer, now) && !peer->peers->single) {
        view->condition = UP_CONDITION_FAILED;
        view->reason = apr_psprintf(p, "%d failed in a row (max_fails %d)",
                                    view->fails, peer->server->max_fails);
    }
}

/* Two servers with the same address have one row: they are shown as one. */
static int is_shown(const making_t *making, const up_peer_t *peer)
{
    int i;

    for (i = 0; i < making->rows->nelts; i++) {
        if (APR_ARRAY_IDX(making->rows, i, up_counts_t *) == peer->counts) {
            return peer->counts != up_ledger_others();
        }
    }
    return 0;
}

static void view_list_locked(making_t *making, const up_peerlist_t *list,
                             int backup, up_groupview_t *group)
{
    int i;

    for (i = 0; i < list->count; i++) {
        const up_peer_t *peer = list->peers[i];
        up_peerview_t *view;

        if (is_shown(making, peer)) {
            continue;
        }
        view = apr_array_push(group->peers);
        memset(view, 0, sizeof(*view));
        view->name = apr_pstrdup(making->p, peer->name);
        view->server = peer->server->text;
        view->backup = backup;
        view->weight = up_peer_weight(peer);
        view->max_conns = get(&peer->state->max_conns);
        view->ordered = get(&peer->state->ordered);
        view->fails = get(&peer->state->fails);
        view->full = view->max_conns
                     && up_peer_in_use(peer) >= view->max_conns;
        judge(making->p, peer, making->now, view);
        APR_ARRAY_PUSH(making->rows, up_counts_t *) = peer->counts;
    }
}

static void view_group(up_group_t *group, void *baton)
{
    making_t *making = baton;
    up_peers_t *peers = group->peers;
    up_groupview_t *view;
    int i;

    if (!peers || !up_view_listed(making->p, making->names, group->name)) {
        return;
    }
    view = apr_array_push(making->views);
    memset(view, 0, sizeof(*view));
    view->name = group->name;
    view->implicit = group->implicit;
    view->zone = group->zone ? group->zone->name : NULL;
    view->queue = group->queue;
    view->peers = apr_array_make(making->p, 8, sizeof(up_peerview_t));
    apr_array_clear(making->rows);
    apr_thread_mutex_lock(peers->lock);
    view_list_locked(making, &peers->primary, 0, view);
    view_list_locked(making, &peers->backup, 1, view);
    apr_thread_mutex_unlock(peers->lock);
    for (i = 0; i < view->peers->nelts; i++) {
        up_ledger_sum(APR_ARRAY_IDX(making->rows, i, up_counts_t *),
                      &APR_ARRAY_IDX(view->peers, i, up_peerview_t).counts);
    }
    up_ledger_sum(peers->counts, &view->counts);
}

apr_array_header_t *up_view_make(apr_pool_t *p, const char *names)
{
    making_t making;

    making.p = p;
    making.names = names;
    making.now = up_clock_now();
    making.views = apr_array_make(p, 8, sizeof(up_groupview_t));
    making.rows = apr_array_make(p, 8, sizeof(up_counts_t *));
    up_group_each(view_group, &making);
    return making.views;
}
