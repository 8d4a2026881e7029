/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A thread of a child's own that works in the background and sleeps in
 * poll(), where others can wake it.
 */

#ifndef UP_BACKGROUND_H
#define UP_BACKGROUND_H

#include <stdatomic.h>

#include "apr_pools.h"
#include "apr_thread_proc.h"

typedef struct up_background_t {
    int wake; /* for poll(); -1: no thread */
    atomic_int ended;
    apr_thread_t *thread;
} up_background_t;

#define UP_BACKGROUND_NONE { .wake = -1 }

/**
 * Starts the thread. It is told to end and joined
 * when pool p goes, before anything that was made earlier in it.
 */
apr_status_t up_background_start(up_background_t *background, apr_pool_t *p,
                                 apr_thread_start_t work);

/** A thread with all signals blocked: they are for httpd's own. The caller
 * joins it. */
apr_status_t up_background_thread(apr_thread_t **pthread,
                                  apr_thread_start_t work, void *data,
                                  apr_pool_t *p);

/** Wakes it. Any thread; takes no lock; nothing when there is none. */
void up_background_call(up_background_t *background);

/** It is to end, soon. */
void up_background_end(up_background_t *background);

/** The thread's: poll() says that `wake` is readable. */
void up_background_heed(up_background_t *background);

#endif
