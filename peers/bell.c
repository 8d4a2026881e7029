/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The bell. Its lock orders a ring with the end of the exchange, and is the
 * last but a loop's own.
 */

#include "peers/bell.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct up_bell_t {
    atomic_int refs;
    pthread_mutex_t lock; /* of the rest */
    int rung;             /* and not heeded */
    int fd;               /* -1: nobody has asked for it */
    void (*wake)(void *baton);
    void *baton;
};

apr_status_t up_bell_make(up_bell_t **pbell)
{
    up_bell_t *bell = calloc(1, sizeof(*bell));

    if (!bell) {
        return APR_ENOMEM;
    }
    atomic_init(&bell->refs, 1);
    pthread_mutex_init(&bell->lock, NULL);
    bell->fd = -1;
    *pbell = bell;
    return APR_SUCCESS;
}

up_bell_t *up_bell_hold(up_bell_t *bell)
{
    atomic_fetch_add(&bell->refs, 1);
    return bell;
}

void up_bell_drop(up_bell_t *bell)
{
    if (atomic_fetch_sub(&bell->refs, 1) > 1) {
        return;
    }
    if (bell->fd >= 0) {
        close(bell->fd);
    }
    pthread_mutex_destroy(&bell->lock);
    free(bell);
}

static void signal_fd(const up_bell_t *bell)
{
    uint64_t one = 1;

    if (bell->fd >= 0 && write(bell->fd, &one, sizeof(one)) < 0) {
        return; /* full: it is readable */
    }
}

void up_bell_ring(up_bell_t *bell)
{
    pthread_mutex_lock(&bell->lock);
    if (!bell->rung) {
        bell->rung = 1;
        signal_fd(bell);
        if (bell->wake) {
            bell->wake(bell->baton);
        }
    }
    pthread_mutex_unlock(&bell->lock);
}

int up_bell_heed(up_bell_t *bell)
{
    uint64_t count;
    int rung;

    pthread_mutex_lock(&bell->lock);
    rung = bell->rung;
    bell->rung = 0;
    if (rung && bell->fd >= 0 && read(bell->fd, &count, sizeof(count)) < 0) {
        rung = 1; /* nothing to take back */
    }
    pthread_mutex_unlock(&bell->lock);
    return rung;
}

int up_bell_fd(up_bell_t *bell)
{
    int fd;

    pthread_mutex_lock(&bell->lock);
    if (bell->fd < 0) {
        bell->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (bell->rung) {
            signal_fd(bell);
        }
    }
    fd = bell->fd;
    pthread_mutex_unlock(&bell->lock);
    return fd;
}

void up_bell_attach(up_bell_t *bell, void (*wake)(void *baton), void *baton)
{
    pthread_mutex_lock(&bell->lock);
    bell->wake = wake;
    bell->baton = baton;
    if (bell->rung) {
        wake(baton);
    }
    pthread_mutex_unlock(&bell->lock);
}

void up_bell_mute(up_bell_t *bell)
{
    pthread_mutex_lock(&bell->lock);
    bell->wake = NULL;
    pthread_mutex_unlock(&bell->lock);
}
