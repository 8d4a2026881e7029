/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the thread, and what it does in which order.
 */

#include "peers/clerk.h"

#include <poll.h>

#include "config/clock.h"
#include "config/pass.h"
#include "peers/adhoc.h"
#include "peers/background.h"
#include "peers/dns_clients.h"
#include "peers/names.h"

#define TIDY apr_time_from_sec(1)
#define MOST_FDS 512

static up_background_t clerk = UP_BACKGROUND_NONE;

void up_clerk_call(void)
{
    up_background_call(&clerk);
}

/* Until then, an answer of a name server, or a call. */
static void sleep_until(apr_time_t when)
{
    static struct pollfd fds[MOST_FDS];
    apr_interval_time_t left = when - up_clock_now();
    int n;

    left = up_dnsclients_patience(left > 0 ? left : 0);
    fds[0].fd = clerk.wake;
    fds[0].events = POLLIN;
    fds[0].revents = 0;
    n = 1 + up_dnsclients_fds(fds + 1, MOST_FDS - 1);
    poll(fds, (nfds_t)n, (int)((left + 999) / 1000));
    up_dnsclients_work(fds + 1);
    if (fds[0].revents) {
        up_background_heed(&clerk);
    }
}

static void *APR_THREAD_FUNC work(apr_thread_t *thread, void *data)
{
    apr_time_t tidy = up_clock_now() + TIDY;
    apr_time_t due;

    (void)thread;
    (void)data;
    while (!atomic_load(&clerk.ended)) {
        up_adhoc_welcome();
        due = up_names_turn(up_clock_now());
        sleep_until(due < tidy ? due : tidy);
        if (up_clock_now() >= tidy) {
            up_adhoc_tidy(up_clock_now());
            tidy = up_clock_now() + TIDY;
        }
    }
    up_names_close();
    return NULL;
}

apr_status_t up_clerk_child_init(apr_pool_t *p, server_rec *s)
{
    int named = up_names_child_init(s);

    up_adhoc_child_init();
    if (!named && !up_pass_any_dynamic()) {
        return APR_SUCCESS;
    }
    return up_background_start(&clerk, p, work);
}
