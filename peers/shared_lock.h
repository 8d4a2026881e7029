/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A lock in memory that processes share, which a dying process cannot keep:
 * what stands behind it must be whole at every moment.
 */

#ifndef UP_SHARED_LOCK_H
#define UP_SHARED_LOCK_H

#include <pthread.h>

/** Before the children are forked. @return 0: this system has none */
int up_sharedlock_make(pthread_mutex_t *lock);

void up_sharedlock_take(pthread_mutex_t *lock);

void up_sharedlock_give(pthread_mutex_t *lock);

#endif
