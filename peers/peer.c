/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The peers of this child: made from the configured servers, one an address,
 * and the accounting of their failures (nginx's, in whole seconds).
 */

#include "httpd.h"
#include "peers/peer.h"

#include "apr_escape.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include "config/group.h"
#include "config/log.h"
#include "config/zone.h"
#include "http_main.h"
#include "peers/health.h"
#include "peers/ledger.h"
#include "peers/queue.h"
#include "peers/tally.h"
#include "peers/zone.h"

/* Nothing else is ordered by these counters. */
#define GET(field)        atomic_load_explicit(field, memory_order_relaxed)
#define SET(field, value) \
    atomic_store_explicit(field, value, memory_order_relaxed)
#define ADD(field, value) \
    atomic_fetch_add_explicit(field, value, memory_order_relaxed)

/** What a walk over the groups carries. */
typedef struct making_t {
    apr_pool_t *p;
    apr_status_t rv;
} making_t;

static const char *name_of(apr_pool_t *p, const up_server_t *server,
                           apr_sockaddr_t *addr)
{
    char ip[64] = "";

    if (server->unix_path) {
        return apr_pstrcat(p, "unix:", server->unix_path, NULL);
    }
    apr_sockaddr_ip_getbuf(ip, sizeof(ip), addr);
    /* a mapped IPv4 address is printed as IPv4, so look at the text */
    return apr_psprintf(p, strchr(ip, ':') ? "[%s]:%u" : "%s:%u", ip,
                        (unsigned int)addr->port);
}

/* nginx's: the MD5 sum of the name, in hexadecimal. */
static const char *route_of(apr_pool_t *p, const up_server_t *server,
                            const char *name)
{
    unsigned char sum[APR_MD5_DIGESTSIZE];

    if (server->route) {
        return server->route;
    }
    apr_md5(sum, name, strlen(name));
    return apr_pescape_hex(p, sum, sizeof(sum), 0);
}

up_peerstate_t *up_peerstate_of(apr_pool_t *p, const up_peers_t *peers,
                                const up_server_t *server, const char *name,
                                atomic_int **pcell)
{
    const up_group_t *group = peers->group;
    up_zonemem_t *zone = group->zone ? group->zone->memory : NULL;
    up_peerstate_t *state = NULL;

    *pcell = NULL;
    if (zone) {
        state = up_zonemem_find(zone, group, server, name);
    }
    if (state) {
        *pcell = up_zonemem_cell(zone, state);
        return state;
    }
    if (zone) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     UPLOGNO(0803) "no place for server %s of group %s in "
                     "zone \"%s\": each child counts for itself, make the "
                     "zone larger than %" APR_OFF_T_FMT "k", name,
                     group->name, group->zone->name, group->zone->size / 1024);
    }
    state = apr_pcalloc(p, sizeof(*state));
    up_peerstate_configure(state, server);
    return state;
}

void up_peerstate_configure(up_peerstate_t *state, const up_server_t *server)
{
    int ordered = GET(&state->ordered);

    up_peerstate_weigh(state, server->weight);
    if (!(ordered & UP_ORDERED_MAX_CONNS)) {
        SET(&state->max_conns, server->max_conns);
    }
    if (!(ordered & UP_ORDERED_ADMIN)) {
        SET(&state->admin, server->down    ? UP_ADMIN_DOWN
                           : server->drain ? UP_ADMIN_DRAIN
                                           : UP_ADMIN_UP);
    }
}

void up_peerstate_order(up_peerstate_t *state, const up_order_t *order)
{
    if (order->set & UP_ORDERED_WEIGHT) {
        SET(&state->weight, order->weight);
    }
    if (order->set & UP_ORDERED_MAX_CONNS) {
        SET(&state->max_conns, order->max_conns);
    }
    if (order->set & UP_ORDERED_ADMIN) {
        SET(&state->admin, order->admin);
    }
    atomic_fetch_or(&state->ordered, order->set);
    atomic_fetch_and(&state->ordered, ~order->unset);
}

void up_peerstate_weigh(up_peerstate_t *state, int weight)
{
    if (!(GET(&state->ordered) & UP_ORDERED_WEIGHT)) {
        SET(&state->weight, weight);
    }
}

void up_peerstate_leave(up_peer_t *peer)
{
    up_ledger_leave(peer->counts);
    if (peer->cell) {
        up_zonemem_leave(peer->peers->group->zone->memory, peer->state);
    }
}

/* Groups that are made at run time share a row: their names are the
 * clients'. */
static up_counts_t *counts_of(const up_group_t *group, const char *name)
{
    return group->adhoc ? up_ledger_others()
                        : up_ledger_find(group->name, name);
}

up_peer_t *up_peer_make(apr_pool_t *p, up_peers_t *peers,
                        const up_server_t *server, apr_sockaddr_t *addr)
{
    up_peer_t *peer = apr_pcalloc(p, sizeof(*peer));

    peer->server = server;
    peer->addr = addr;
    peer->name = name_of(p, server, addr);
    peer->route = route_of(p, server, peer->name);
    peer->peers = peers;
    peer->serial = ++peers->serials;
    peer->effective = server->weight;
    peer->listed = server->weight;
    peer->counts = counts_of(peers->group, peer->name);
    peer->state = up_peerstate_of(p, peers, server, peer->name, &peer->cell);
    return peer;
}

static void add_server(apr_pool_t *p, up_peers_t *peers,
                       up_peerlist_t *list, const up_server_t *server)
{
    apr_sockaddr_t *addr;
    up_peer_t *peer;

    for (addr = server->addrs; addr; addr = addr->next) {
        peer = up_peer_make(p, peers, server, addr);
        peer->index = list->count;
        list->peers[list->count++] = peer;
        if (!server->down && !server->drain) {
            list->usable++;
        }
    }
}

static int count_addresses(const apr_array_header_t *servers, int backup)
{
    const up_server_t *server;
    const apr_sockaddr_t *addr;
    int count = 0;
    int i;

    for (i = 0; i < servers->nelts; i++) {
        server = &APR_ARRAY_IDX(servers, i, up_server_t);
        if (!server->backup == !backup) {
            for (addr = server->addrs; addr; addr = addr->next) {
                count++;
            }
        }
    }
    return count;
}

static void fill_list(apr_pool_t *p, up_peers_t *peers, up_peerlist_t *list,
                      int backup)
{
    const apr_array_header_t *servers = peers->group->servers;
    const up_server_t *server;
    int i;

    list->peers = apr_pcalloc(p, sizeof(*list->peers) *
                              (apr_size_t)count_addresses(servers, backup));
    for (i = 0; i < servers->nelts; i++) {
        server = &APR_ARRAY_IDX(servers, i, up_server_t);
        if (!server->backup == !backup) {
            add_server(p, peers, list, server);
        }
    }
}

apr_status_t up_peers_make(apr_pool_t *p, up_group_t *group)
{
    up_peers_t *peers = apr_pcalloc(p, sizeof(*peers));
    apr_status_t rv = apr_thread_mutex_create(&peers->lock,
                                              APR_THREAD_MUTEX_DEFAULT, p);

    peers->group = group;
    peers->counts = counts_of(group, "");
    fill_list(p, peers, &peers->primary, 0);
    fill_list(p, peers, &peers->backup, 1);
    peers->single = (peers->primary.count == 1 && peers->backup.count == 0);
    if (group->queue) {
        peers->queue = up_queue_make(p, peers);
    }
    group->peers = peers;
    return rv;
}

static void make_peers(up_group_t *group, void *baton)
{
    making_t *making = baton;

    if (making->rv == APR_SUCCESS) {
        making->rv = up_peers_make(making->p, group);
    }
}

apr_status_t up_peers_child_init(apr_pool_t *p)
{
    making_t making = { .p = p, .rv = APR_SUCCESS };

    up_group_each(make_peers, &making);
    return making.rv;
}

/** More than fail_timeout since the running window began? */
static int window_over(const up_peer_t *peer, apr_time_t now)
{
    return apr_time_sec(now) - GET(&peer->state->checked) >
           apr_time_sec(peer->server->fail_timeout);
}

static int rests(const up_peer_t *peer, apr_time_t now)
{
    int max_fails = peer->server->max_fails;

    return max_fails && GET(&peer->state->fails) >= max_fails
           && !window_over(peer, now);
}

static int is_full(const up_peer_t *peer)
{
    int max_conns = GET(&peer->state->max_conns);

    return max_conns && up_peer_in_use(peer) >= max_conns;
}

int up_peer_fit_locked(const up_peer_t *peer, apr_time_t now)
{
    return GET(&peer->state->admin) == UP_ADMIN_UP
           && up_health_good(peer->state, peer->peers->group->check)
           && !rests(peer, now);
}

int up_peer_usable_locked(const up_peer_t *peer, apr_time_t now)
{
    return !is_full(peer) && up_peer_fit_locked(peer, now);
}

int up_peer_stickable_locked(const up_peer_t *peer, apr_time_t now)
{
    const up_check_t *check = peer->peers->group->check;

    return GET(&peer->state->admin) != UP_ADMIN_DOWN
           && (up_health_good(peer->state, check)
               || up_health_drains(peer->state, check))
           && !is_full(peer) && !rests(peer, now);
}

/* Of a server that rests, one request a window goes through. */
static int begin_window(up_peer_t *peer, apr_time_t now)
{
    long long checked = GET(&peer->state->checked);
    int max_fails = peer->server->max_fails;

    if (!window_over(peer, now)) {
        return !max_fails || GET(&peer->state->fails) < max_fails;
    }
    return atomic_compare_exchange_strong(&peer->state->checked, &checked,
                                          (long long)apr_time_sec(now))
           || !max_fails || GET(&peer->state->fails) < max_fails;
}

int up_peer_take_locked(up_peer_t *peer, apr_time_t now)
{
    if (!up_count_up(&peer->state->in_use, peer->cell,
                     GET(&peer->state->max_conns))) {
        return 0;
    }
    if (!begin_window(peer, now)) {
        up_count_down(&peer->state->in_use, peer->cell);
        return 0;
    }
    up_peer_hold_locked(peer);
    up_counts_gauge(peer->counts, UP_GAUGE_ACTIVE, 1);
    return 1;
}

/** Lock held. @return 1: out of service now */
static int count_failure(up_peer_t *peer, apr_time_t now)
{
    up_peerstate_t *state = peer->state;
    int max_fails = peer->server->max_fails;
    int fails = ADD(&state->fails, 1) + 1;

    SET(&state->accessed, apr_time_sec(now));
    SET(&state->checked, apr_time_sec(now));
    if (!max_fails) {
        return 0;
    }
    peer->effective -= up_peer_weight(peer) / max_fails;
    if (peer->effective < 0) {
        peer->effective = 0;
    }
    return fails >= max_fails;
}

/* Of those that see it answer again one tells. Lock held. */
static up_change_e reset_failures(up_peer_t *peer)
{
    int max_fails = peer->server->max_fails;
    int fails = atomic_exchange(&peer->state->fails, 0);

    return max_fails && fails >= max_fails ? UP_CHANGE_BACK : UP_CHANGE_NONE;
}

void up_peer_hold_locked(up_peer_t *peer)
{
    ADD(&peer->held, 1);
}

void up_peer_let_go(up_peer_t *peer)
{
    atomic_fetch_sub_explicit(&peer->held, 1, memory_order_release);
}

up_change_e up_peer_give(up_peers_t *peers, up_peer_t *peer,
                         up_outcome_e outcome, apr_time_t now)
{
    up_peerstate_t *state = peer->state;
    up_change_e change = UP_CHANGE_NONE;

    up_count_down(&state->in_use, peer->cell);
    up_counts_gauge(peer->counts, UP_GAUGE_ACTIVE, -1);
    up_queue_wake(peers->queue);
    if (outcome == UP_OUTCOME_NONE) {
        up_peer_let_go(peer);
        return UP_CHANGE_NONE;
    }
    apr_thread_mutex_lock(peers->lock);
    if (peers->single) {
        change = UP_CHANGE_NONE;
    }
    else if (outcome == UP_OUTCOME_FAILED) {
        change = count_failure(peer, now) ? UP_CHANGE_OUT : UP_CHANGE_NONE;
    }
    else if (GET(&state->accessed) < GET(&state->checked)) {
        /* chosen after its last failure, and answered */
        change = reset_failures(peer);
    }
    apr_thread_mutex_unlock(peers->lock);
    up_peer_let_go(peer);
    return change;
}
