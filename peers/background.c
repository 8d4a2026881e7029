/* Licensed under the Apache License, Version 2.0; see LICENSE. */

#include "peers/background.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http_core.h"
#include "httpd.h"

void up_background_call(up_background_t *background)
{
    uint64_t one = 1;

    if (background->wake >= 0
        && write(background->wake, &one, sizeof(one)) < 0) {
        return; /* full: it is awake */
    }
}

void up_background_end(up_background_t *background)
{
    atomic_store(&background->ended, 1);
    up_background_call(background);
}

void up_background_heed(up_background_t *background)
{
    uint64_t count;

    if (read(background->wake, &count, sizeof(count)) < 0) {
        return; /* somebody else has */
    }
}

static apr_status_t dismiss(void *data)
{
    up_background_t *background = data;
    apr_status_t rv;

    up_background_end(background);
    apr_thread_join(&rv, background->thread);
    close(background->wake);
    background->wake = -1;
    return APR_SUCCESS;
}

apr_status_t up_background_thread(apr_thread_t **pthread,
                                  apr_thread_start_t work, void *data,
                                  apr_pool_t *p)
{
    sigset_t all, before;
    apr_status_t rv;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rv = ap_thread_create(pthread, NULL, work, data, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rv;
}

apr_status_t up_background_start(up_background_t *background, apr_pool_t *p,
                                 apr_thread_start_t work)
{
    apr_status_t rv;

    atomic_store(&background->ended, 0);
    background->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (background->wake < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = up_background_thread(&background->thread, work, NULL, p);
    if (rv == APR_SUCCESS) {
        apr_pool_pre_cleanup_register(p, background, dismiss);
    }
    return rv;
}
