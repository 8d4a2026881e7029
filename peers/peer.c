/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The peers of this child: made from the configured servers, one an address,
 * and the accounting of their failures (nginx's, in whole seconds).
 */

#include "httpd.h"
#include "peers/peer.h"

#include "apr_strings.h"
#include "config/group.h"

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

static void add_server(apr_pool_t *p, up_peerlist_t *list,
                       const up_server_t *server)
{
    apr_sockaddr_t *addr;
    up_peer_t *peer;

    for (addr = server->addrs; addr; addr = addr->next) {
        peer = &list->peers[list->count];
        peer->server = server;
        peer->addr = addr;
        peer->name = name_of(p, server, addr);
        peer->index = list->count++;
        peer->weight = server->weight;
        peer->effective = server->weight;
        if (!server->down) {
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

static void fill_list(apr_pool_t *p, up_peerlist_t *list,
                      const apr_array_header_t *servers, int backup)
{
    const up_server_t *server;
    int i;

    list->peers = apr_pcalloc(p, sizeof(*list->peers) *
                              (apr_size_t)count_addresses(servers, backup));
    for (i = 0; i < servers->nelts; i++) {
        server = &APR_ARRAY_IDX(servers, i, up_server_t);
        if (!server->backup == !backup) {
            add_server(p, list, server);
        }
    }
}

static void make_peers(up_group_t *group, void *baton)
{
    making_t *making = baton;
    up_peers_t *peers;

    if (making->rv != APR_SUCCESS) {
        return;
    }
    peers = apr_pcalloc(making->p, sizeof(*peers));
    peers->group = group;
    making->rv = apr_thread_mutex_create(&peers->lock,
                                         APR_THREAD_MUTEX_DEFAULT,
                                         making->p);
    fill_list(making->p, &peers->primary, group->servers, 0);
    fill_list(making->p, &peers->backup, group->servers, 1);
    peers->single = (peers->primary.count == 1 && peers->backup.count == 0);
    group->peers = peers;
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
    return apr_time_sec(now) - peer->checked >
           apr_time_sec(peer->server->fail_timeout);
}

int up_peer_usable_locked(const up_peer_t *peer, apr_time_t now)
{
    const up_server_t *server = peer->server;

    if (server->down) {
        return 0;
    }
    if (server->max_conns && peer->in_use >= server->max_conns) {
        return 0;
    }
    return !server->max_fails || peer->fails < server->max_fails ||
           window_over(peer, now);
}

void up_peer_take_locked(up_peer_t *peer, apr_time_t now)
{
    peer->in_use++;
    /* of a server that rests, one request a window goes through */
    if (window_over(peer, now)) {
        peer->checked = apr_time_sec(now);
    }
}

/** Lock held. @return 1: out of service now */
static int count_failure(up_peer_t *peer, apr_time_t now)
{
    const up_server_t *server = peer->server;

    peer->fails++;
    peer->accessed = peer->checked = apr_time_sec(now);
    if (!server->max_fails) {
        return 0;
    }
    peer->effective -= peer->weight / server->max_fails;
    if (peer->effective < 0) {
        peer->effective = 0;
    }
    return peer->fails >= server->max_fails;
}

int up_peer_give(up_peers_t *peers, up_peer_t *peer, up_outcome_e outcome,
                 apr_time_t now)
{
    int out = 0;

    apr_thread_mutex_lock(peers->lock);
    peer->in_use--;
    if (peers->single) {
        out = 0;
    }
    else if (outcome == UP_OUTCOME_FAILED) {
        out = count_failure(peer, now);
    }
    else if (outcome != UP_OUTCOME_NONE && peer->accessed < peer->checked) {
        /* chosen after its last failure, and answered */
        peer->fails = 0;
    }
    apr_thread_mutex_unlock(peers->lock);
    return out;
}
