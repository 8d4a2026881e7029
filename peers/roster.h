/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Which peers a group has, when that changes at run time: lists are replaced
 * whole, peers that stay keep their place in the round robin, their
 * connections and what is known of them.
 *
 * One thread a child changes lists: that of peers/clerk.h. Requests see the
 * old list or the new one. A peer that is in no list is given no new request;
 * those under way end normally, and then it goes.
 */

#ifndef UP_ROSTER_H
#define UP_ROSTER_H

#include "config/group.h"
#include "peers/peer.h"

/** An address that a group is to have. */
typedef struct up_entry_t {
    const up_server_t *server;
    apr_sockaddr_t *addr; /* with its port */
    int weight;
    int backup;
} up_entry_t;

/**
 * Makes `n` entries the lists of the group, in this order. Addresses of
 * entries are copied where a peer is made.
 * @return how many peers came and went; 0: the same as before
 */
int up_roster_set(up_peers_t *peers, const up_entry_t *entries, int n);

/** Frees the peers that are gone and that nobody holds any more. */
void up_roster_reap(up_peers_t *peers);

/** The group's end: it has no request. Its memory is the caller's. */
void up_roster_close(up_peers_t *peers);

/** What a higher layer does about it. Called without a lock. */
typedef struct up_roster_news_t {
    void (*gone)(up_peer_t *peer);    /* in no list: nothing is kept of it */
    void (*ended)(up_peer_t *peer);   /* held by nobody: freed next */
    void (*closed)(up_peers_t *peers); /* all its peers have ended */
} up_roster_news_t;

/** child_init: who is told. The structure stays the caller's. */
void up_roster_tell(const up_roster_news_t *news);

#endif
