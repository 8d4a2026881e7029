/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What is in a table in shared memory, over a restart: the memory goes with
 * the configuration. Only the parent, at start and restart.
 */

#ifndef UP_SESSION_KEEPER_H
#define UP_SESSION_KEEPER_H

#include "config/sticky.h"
#include "httpd.h"

/** When pconf goes, what is in the table is kept, by the group's name. */
void up_keeper_watch(apr_pool_t *pconf, const up_sticky_t *sticky);

/** What is kept of the group goes back, into a table just made. */
void up_keeper_restore(apr_pool_t *p, const up_sticky_t *sticky,
                       server_rec *s);

#endif
