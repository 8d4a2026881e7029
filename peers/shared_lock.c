/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Robust mutexes. */

#include "peers/shared_lock.h"

#include <errno.h>

int up_sharedlock_make(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    int failed;

    if (pthread_mutexattr_init(&attr)) {
        return 0;
    }
    failed = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED)
             || pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST)
             || pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return !failed;
}

void up_sharedlock_take(pthread_mutex_t *lock)
{
    if (pthread_mutex_lock(lock) == EOWNERDEAD) {
        pthread_mutex_consistent(lock);
    }
}

void up_sharedlock_give(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
}
