/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The clerk: one thread a child that looks names up and changes the lists of
 * peers, so that no request does. It alone calls peers/roster.h.
 */

#ifndef UP_CLERK_H
#define UP_CLERK_H

#include "apr_pools.h"
#include "httpd.h"

/**
 * child_init, after what is told of changes: starts the thread where a group
 * has a name that can change, or a pass an expression for its host. It ends
 * with pool p, before anything that was made earlier.
 */
apr_status_t up_clerk_child_init(apr_pool_t *p, server_rec *s);

/** There is something new for it to do. Any thread; takes no lock. */
void up_clerk_call(void);

#endif
