/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Names whose addresses change: each is asked for again when its answer's
 * time is over, and the groups that use it get their new peers.
 *
 * What rules:
 *   - An answer with addresses counts at once, for all groups with the name.
 *   - No answer (silence, an error of the server) changes nothing.
 *   - "No such name" changes nothing the first UP_NAMES_MISSES times in a
 *     row; then the group has no peer of this name. One that name servers have
 *     never known, but the system has, keeps the addresses of the start.
 *   - A service counts when all its new targets have been looked up.
 *
 * All of it is the clerk's thread's, but up_names_wait.
 */

#ifndef UP_NAMES_H
#define UP_NAMES_H

#include "config/group.h"
#include "httpd.h"
#include "peers/bell.h"
#include "peers/peer.h"

#define UP_NAMES_MISSES 10

/** Before the thread runs: is there a group of the configuration with a name
 * that may change? Takes up all of them, and gives services their peers. */
int up_names_child_init(server_rec *s);

/** A group of the run time: its name is asked for. */
void up_names_add(up_group_t *group);

/** The group's end. */
void up_names_remove(up_group_t *group);

/** Asks what is due, and gives groups their peers. @return when to come again,
 * if nothing happens before */
apr_time_t up_names_turn(apr_time_t now);

/** The thread's end. */
void up_names_close(void);

/** Any thread: is the first look-up of this group's name under way? */
int up_names_pending(up_peers_t *peers);

/** Any thread: the same, and then `bell` is rung when it is over. */
int up_names_wait(up_peers_t *peers, up_bell_t *bell);

#endif
