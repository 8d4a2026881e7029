/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The thread that closes idle connections which are too old or which the
 * backend has closed: once a second, and when it is told to hurry. One a
 * child.
 */

#ifndef UP_BACKEND_SWEEP_H
#define UP_BACKEND_SWEEP_H

#include "apr_pools.h"
#include "transport/backend_shelf.h"

typedef struct up_sweep_t up_sweep_t;

/** Starts the thread. */
apr_status_t up_sweep_start(apr_pool_t *p, up_house_t *house,
                            up_sweep_t **psweep);

/**
 * A sweep now, which closes every idle connection, as do all that follow.
 * Does not wait for it.
 */
void up_sweep_empty(up_sweep_t *sweep);

/** Ends the thread and waits for its end. */
void up_sweep_end(up_sweep_t *sweep);

#endif
