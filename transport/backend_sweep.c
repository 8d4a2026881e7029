/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The sweep: a look at every idle connection, a few under one lock, so that
 * those who take and give do not wait long.
 */

#include "transport/backend_sweep.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "apr_thread_cond.h"
#include "apr_thread_proc.h"
#include "config/clock.h"

#define STEP 64 /* connections looked at under one lock */
#define INTERVAL apr_time_from_sec(1)

struct up_sweep_t {
    up_house_t *house;
    apr_thread_t *thread;
    apr_thread_mutex_t *lock; /* of the next four */
    apr_thread_cond_t *wake;
    int hurry;
    int empty;
    int ended;
    apr_uint32_t round; /* the thread's own */
};

/** Those that this round has not looked at, the oldest first. Lock held. */
static int collect_locked(up_room_t *room, apr_uint32_t round,
                          up_slot_t **slots)
{
    up_slot_t *slot = APR_RING_LAST(&room->ring);
    int n = 0;

    while (slot != APR_RING_SENTINEL(&room->ring, up_slot_t, link) &&
           n < STEP) {
        if (slot->seen != round) {
            slot->seen = round;
            slots[n++] = slot;
        }
        slot = APR_RING_PREV(slot, link);
    }
    return n;
}

/**
 * Takes out those that are too old or have something to read, or all.
 * Lock held.
 * @param fds what to close
 */
static int empty_locked(up_slot_t **slots, int n, int all, int *fds)
{
    struct pollfd pfds[STEP];
    apr_time_t now = up_clock_now();
    int nfds = 0;
    int i;

    for (i = 0; i < n; i++) {
        pfds[i].fd = slots[i]->conn->fd;
        pfds[i].events = POLLIN | POLLRDHUP;
        pfds[i].revents = 0;
    }
    poll(pfds, (nfds_t)n, 0);
    for (i = 0; i < n; i++) {
        if (all || (pfds[i].revents && !up_conn_alive(slots[i]->conn))
            || slots[i]->conn->idle_until <= now) {
            up_room_leave_locked(slots[i]);
            fds[nfds++] = up_conn_disown(slots[i]->conn);
        }
    }
    return nfds;
}

/** One round. */
typedef struct round_t {
    apr_uint32_t number;
    int all;
} round_t;

static void sweep_room(up_room_t *room, void *baton)
{
    const round_t *round = baton;
    up_slot_t *slots[STEP];
    int fds[STEP];
    int nfds;
    int n;
    int i;

    do {
        apr_thread_mutex_lock(room->lock);
        n = collect_locked(room, round->number, slots);
        nfds = empty_locked(slots, n, round->all, fds);
        apr_thread_mutex_unlock(room->lock);
        for (i = 0; i < nfds; i++) {
            close(fds[i]);
        }
    } while (n == STEP);
}

static void sweep_rooms(up_sweep_t *sweep, int all)
{
    round_t round = { .number = ++sweep->round, .all = all };

    up_house_each_room(sweep->house, sweep_room, &round);
    up_house_each_pool(sweep->house, up_shelf_clear_out);
}

static void *APR_THREAD_FUNC run(apr_thread_t *thread, void *data)
{
    up_sweep_t *sweep = data;
    int all;

    (void)thread;
    apr_thread_mutex_lock(sweep->lock);
    while (!sweep->ended) {
        if (!sweep->hurry) {
            apr_thread_cond_timedwait(sweep->wake, sweep->lock, INTERVAL);
        }
        sweep->hurry = 0;
        if (!sweep->ended) {
            all = sweep->empty;
            apr_thread_mutex_unlock(sweep->lock);
            sweep_rooms(sweep, all);
            apr_thread_mutex_lock(sweep->lock);
        }
    }
    apr_thread_mutex_unlock(sweep->lock);
    return NULL;
}

apr_status_t up_sweep_start(apr_pool_t *p, up_house_t *house,
                            up_sweep_t **psweep)
{
    up_sweep_t *sweep = apr_pcalloc(p, sizeof(*sweep));
    sigset_t before;
    apr_status_t rv;

    sweep->house = house;
    rv = apr_thread_mutex_create(&sweep->lock, APR_THREAD_MUTEX_DEFAULT, p);
    if (rv == APR_SUCCESS) {
        rv = apr_thread_cond_create(&sweep->wake, p);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    /* the process's signals are not for this thread: an MPM's handlers
     * expect to run in its own, and would wait for the end of this one */
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    apr_setup_signal_thread();
    rv = ap_thread_create(&sweep->thread, NULL, run, sweep, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *psweep = sweep;
    return rv;
}

static void hurry(up_sweep_t *sweep, int *flag)
{
    apr_thread_mutex_lock(sweep->lock);
    sweep->hurry = 1;
    *flag = 1;
    apr_thread_cond_signal(sweep->wake);
    apr_thread_mutex_unlock(sweep->lock);
}

void up_sweep_empty(up_sweep_t *sweep)
{
    hurry(sweep, &sweep->empty);
}

void up_sweep_end(up_sweep_t *sweep)
{
    apr_status_t rv;

    hurry(sweep, &sweep->ended);
    apr_thread_join(&rv, sweep->thread);
}
