/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the thread, and what it does in which order.
 */

#include "peers/clerk.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "apr_thread_proc.h"
#include "config/pass.h"
#include "peers/adhoc.h"

#define TIDY apr_time_from_sec(1)

static struct {
    int wake; /* eventfd, -1: no thread */
    atomic_int ended;
    apr_thread_t *thread;
} clerk = { .wake = -1 };

void up_clerk_call(void)
{
    uint64_t one = 1;

    if (clerk.wake >= 0 && write(clerk.wake, &one, sizeof(one)) < 0) {
        return; /* full: it is awake */
    }
}

static void sleep_until(apr_time_t when)
{
    struct pollfd fd = { .fd = clerk.wake, .events = POLLIN };
    apr_interval_time_t left = when - apr_time_now();
    uint64_t count;

    poll(&fd, 1, left > 0 ? (int)((left + 999) / 1000) : 0);
    if (fd.revents && read(clerk.wake, &count, sizeof(count)) < 0) {
        return;
    }
}

static void *APR_THREAD_FUNC work(apr_thread_t *thread, void *data)
{
    apr_time_t tidy = apr_time_now() + TIDY;

    (void)thread;
    (void)data;
    while (!atomic_load(&clerk.ended)) {
        sleep_until(tidy);
        if (apr_time_now() >= tidy) {
            up_adhoc_tidy(apr_time_now());
            tidy = apr_time_now() + TIDY;
        }
    }
    return NULL;
}

static apr_status_t dismiss(void *unused)
{
    apr_status_t rv;

    (void)unused;
    atomic_store(&clerk.ended, 1);
    up_clerk_call();
    apr_thread_join(&rv, clerk.thread);
    close(clerk.wake);
    clerk.wake = -1;
    return APR_SUCCESS;
}

/* Signals are for httpd's own threads. */
static apr_status_t start_thread(apr_pool_t *p)
{
    sigset_t all, before;
    apr_status_t rv;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rv = ap_thread_create(&clerk.thread, NULL, work, NULL, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rv;
}

apr_status_t up_clerk_child_init(apr_pool_t *p, server_rec *s)
{
    apr_status_t rv;

    (void)s;
    up_adhoc_child_init();
    if (!up_pass_any_dynamic()) {
        return APR_SUCCESS;
    }
    atomic_store(&clerk.ended, 0);
    clerk.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (clerk.wake < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    rv = start_thread(p);
    if (rv == APR_SUCCESS) {
        apr_pool_pre_cleanup_register(p, NULL, dismiss);
    }
    return rv;
}
