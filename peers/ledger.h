/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Where counts (peers/counts.h) stand: in memory that all children share,
 * whether a group has a zone or not, a row a server and a row a group, and
 * in it a part for each child. So a child counts where nobody else writes, and
 * whoever reads adds up what all children have counted.
 *
 * The memory is there as long as the server, and outlives restarts: numbers
 * go on. Looking for a row takes a lock that processes share; counting and
 * reading do not.
 *
 * No httpd in here; ledger_memory.h has the rest.
 */

#ifndef UP_LEDGER_H
#define UP_LEDGER_H

#include "apr_pools.h"
#include "peers/counts.h"

typedef struct up_ledger_t up_ledger_t;

/** Bytes for so many rows and children. */
apr_size_t up_ledger_needs(int rows, int places);

/**
 * A handle in pool p for the ledger at `base`, and from now on what
 * up_ledger_find uses. In the parent.
 * @param fresh 1: the memory is new, 0: from before a restart
 * @return NULL: this system has no locks that processes can share
 */
up_ledger_t *up_ledger_make(apr_pool_t *p, void *base, int rows, int places,
                            int fresh);

/** Adds the numbers of another one, of which no row is found here yet. */
void up_ledger_inherit(up_ledger_t *ledger, const up_ledger_t *from);

/** In a child, before it looks for rows: takes a part. With more children
 * than parts several have the last one. */
void up_ledger_enter(pid_t pid);

/** In the parent: a child has ended. */
void up_ledger_bury(pid_t pid);

/** Children that count. */
int up_ledger_children(void);

/**
 * This child's counts of a server of the group, or with "" for its name, of
 * the group itself. Never NULL: without a ledger, or when it is full, they
 * are those of up_ledger_others.
 */
up_counts_t *up_ledger_find(const char *group, const char *name);

/** What has no row of its own. */
up_counts_t *up_ledger_others(void);

/** This child looks at the row no more: when nobody does, another server may
 * get it. */
void up_ledger_leave(up_counts_t *counts);

/** What all children have counted in the row of these. */
void up_ledger_sum(const up_counts_t *counts, up_counts_t *sum);

/** All children's numbers in it to 0. */
void up_ledger_reset(const up_counts_t *counts);

#endif
