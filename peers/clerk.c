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
#include "peers/dns_clients.h"
#include "peers/names.h"

#define TIDY apr_time_from_sec(1)
#define MOST_FDS 512

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

/* Until then, an answer of a name server, or a call. */
static void sleep_until(apr_time_t when)
{
    static struct pollfd fds[MOST_FDS];
    apr_interval_time_t left = when - apr_time_now();
    uint64_t count;
    int n;

    left = up_dnsclients_patience(left > 0 ? left : 0);
    fds[0].fd = clerk.wake;
    fds[0].events = POLLIN;
    fds[0].revents = 0;
    n = 1 + up_dnsclients_fds(fds + 1, MOST_FDS - 1);
    poll(fds, (nfds_t)n, (int)((left + 999) / 1000));
    up_dnsclients_work(fds + 1);
    if (fds[0].revents && read(clerk.wake, &count, sizeof(count)) < 0) {
        return;
    }
}

static void *APR_THREAD_FUNC work(apr_thread_t *thread, void *data)
{
    apr_time_t tidy = apr_time_now() + TIDY;
    apr_time_t due;

    (void)thread;
    (void)data;
    while (!atomic_load(&clerk.ended)) {
        up_adhoc_welcome();
        due = up_names_turn(apr_time_now());
        sleep_until(due < tidy ? due : tidy);
        if (apr_time_now() >= tidy) {
            up_adhoc_tidy(apr_time_now());
            tidy = apr_time_now() + TIDY;
        }
    }
    up_names_close();
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

    int named = up_names_child_init(s);

    up_adhoc_child_init();
    if (!named && !up_pass_any_dynamic()) {
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
