/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The inside of a zone: states of servers in memory that the children of a
 * generation share, found by group and address.
 *
 * Who looks for a state, makes or leaves one takes the zone's lock, which a
 * dying child cannot keep. Requests never do: a peer has a pointer to its
 * state and to its child's *cell* of it, and both are atomic counters.
 *
 * A cell says how much of the state's in_use is this child's, so that what a
 * child held when it died is given back (up_zonemem_bury). A child counts
 * in_use up before its cell and the cell down before in_use: if it dies in
 * between, in_use is one too high, and up_zonemem_audit finds that.
 *
 * No httpd in here but for types.
 */

#ifndef UP_PEERS_ZONE_H
#define UP_PEERS_ZONE_H

#include "config/group.h"
#include "peers/peer.h"

typedef struct up_zonemem_t up_zonemem_t;

/** What a zone needs for so many servers. */
apr_size_t up_zonemem_needs(int servers, int children);

/**
 * Makes a zone in the shared memory at `base`, for at most so many children
 * at a time. Before the children are forked.
 * @return a handle in pool p, NULL: it is too small for one server, or this
 *         system has no locks that processes can share
 */
up_zonemem_t *up_zonemem_make(apr_pool_t *p, void *base, apr_size_t size,
                              int children);

/** How many servers it has room for. */
int up_zonemem_room(const up_zonemem_t *zone);

/** In a child, before it looks for states: takes one of the places. */
void up_zonemem_enter(up_zonemem_t *zone, pid_t pid);

/** A child has ended: what it held is given back. */
void up_zonemem_bury(up_zonemem_t *zone, pid_t pid);

/**
 * The state of a server of the group at the address `name`. One that is new
 * or that comes from before a restart gets weight, max_conns and admin from
 * the configuration, but for what an operator has ordered.
 * @param server NULL: the state is not a server's, only counts in it are used
 * @return NULL: the zone is full
 */
up_peerstate_t *up_zonemem_find(up_zonemem_t *zone, const up_group_t *group,
                                const up_server_t *server, const char *name);

/** A number that each child writes for itself, and others read. */
typedef struct up_zonemarks_t {
    atomic_int *all; /* a child each, 0: nothing; NULL: no room */
    int n;
    int own; /* this child's place */
} up_zonemarks_t;

/** The marks of this name of a group. Those of the dead are 0. */
void up_zonemem_marks(up_zonemem_t *zone, const up_group_t *group,
                      const char *name, up_zonemarks_t *marks);

/** The child's cell of a state that it has found. */
atomic_int *up_zonemem_cell(const up_zonemem_t *zone, up_peerstate_t *state);

/** This child has no use for the state any more: when nobody has, another
 * server may get its place. */
void up_zonemem_leave(up_zonemem_t *zone, up_peerstate_t *state);

/** The parent's, now and then: mends in_use where no child accounts for it
 * three times in a row. @return by how much, all in all */
int up_zonemem_audit(up_zonemem_t *zone);

/**
 * All states as they are, for up_zonemem_restore in the next generation.
 * @return from malloc; NULL: there is nothing
 */
void *up_zonemem_save(up_zonemem_t *zone, apr_size_t *psize);

/** What was under way in the generation before is not counted in this one.
 * Anything that is not of this version's making is left alone. */
void up_zonemem_restore(up_zonemem_t *zone, const void *saved,
                        apr_size_t size);

#endif
