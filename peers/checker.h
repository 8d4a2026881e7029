/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Health checks: one thread a child for all of them, which only waits in
 * poll(). Of the children that share a zone the first one to notice makes a
 * check (peers/health.h); without a zone each child makes its own.
 */

#ifndef UP_CHECKER_H
#define UP_CHECKER_H

#include "apr_pools.h"

/** child_init: starts the thread where a group has checks. It ends with pool
 * p, before what was made earlier. */
apr_status_t up_checker_child_init(apr_pool_t *p);

/** The child is stopping: no more checks, others make them. */
void up_checker_stop(void);

#endif
