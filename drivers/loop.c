/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Event loops, watchdog and side pool; see loop.h. */

#include "drivers/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "apr_atomic.h"
#include "apr_thread_mutex.h"
#include "config/clock.h"
#include "config/log.h"
#include "drivers/side.h"
#include "drivers/slow.h"
#include "drivers/wheel.h"

#define MOST_LOOPS 16
#define BATCH 64

/* The watchdog looks this often while anything is watched... */
#define LOOK apr_time_from_msec(10)
/* ...and calls a loop stuck that has not moved for this many looks. */
#define STUCK_LOOKS 2

/* Threads that may stand in for stuck ones, a loop. */
#define MOST_SPARES 8

#define READING (EPOLLIN | EPOLLRDHUP | EPOLLET)
#define EDGES (READING | EPOLLOUT)

/* A backend socket's registration with a loop. */
struct up_beacon_t {
    APR_RING_ENTRY(up_beacon_t) grave;
    up_loop_t *loop;
    up_watch_t *watch; /* whom its events are for, NULL: in the pool */
    int fd;
    int writing;       /* registered for EPOLLOUT, too */
    int lit;           /* an event came while it was nobody's */
};

APR_RING_HEAD(up_watchring_t, up_watch_t);
APR_RING_HEAD(up_beaconring_t, up_beacon_t);

struct up_loop_t {
    apr_thread_mutex_t *lock; /* all below, but epoll and wake */
    int epoll;
    int wake;                 /* eventfd */
    struct up_watchring_t all;
    struct up_watchring_t ready;
    struct up_watchring_t grave; /* gone; freed when no thread can still
                                    have an event of theirs in hand */
    struct up_beaconring_t dark; /* beacons, the same */
    up_wheel_t *wheel;
    int watched;              /* length of `all` */
    int waiting;              /* threads in epoll_wait */
    int spares;               /* threads that stand in */
    unsigned int beat;        /* grows with every run and wait */
    unsigned int seen;        /* the watchdog's: beat at its last look */
    int looks;                /* at the same beat */
    up_watch_t *running;      /* the last one whose run has begun, */
    pid_t runner;             /* the thread; NULL when the run is over */
    int stop;
    apr_thread_t *thread;
};

static struct {
    up_loop_t loops[MOST_LOOPS];
    int count;
    apr_thread_t *watchdog;
    server_rec *s;
    apr_uint32_t next;        /* loop for the next watch */
    volatile apr_uint32_t stopping;
    volatile apr_uint32_t stopped;
    volatile apr_uint32_t ended; /* no thread of ours runs any more */
} loops;

/* ------------------------------------------------------------------------ */
/* with the lock held */

static void rouse(up_loop_t *loop)
{
    apr_uint64_t one = 1;

    if (write(loop->wake, &one, sizeof(one)) < 0) {
        return; /* full: it is awake already */
    }
}

/* Notes events; the watch is run when nobody runs it. */
static void note(up_watch_t *watch, unsigned int events)
{
    watch->events |= events;
    if (!watch->busy && !watch->queued) {
        watch->queued = 1;
        APR_RING_INSERT_TAIL(&watch->loop->ready, watch, up_watch_t, ready);
    }
}

static void bury(up_loop_t *loop, up_watch_t *watch)
{
    up_wheel_remove(loop->wheel, watch);
    APR_RING_REMOVE(watch, all);
    APR_RING_INSERT_TAIL(&loop->grave, watch, up_watch_t, all);
    loop->watched--;
}

static void empty_grave(up_loop_t *loop)
{
    while (!APR_RING_EMPTY(&loop->grave, up_watch_t, all)) {
        up_watch_t *watch = APR_RING_FIRST(&loop->grave);

        APR_RING_REMOVE(watch, all); /* NOLINT(clang-analyzer-unix.Malloc) */
        free(watch);
    }
    while (!APR_RING_EMPTY(&loop->dark, up_beacon_t, grave)) {
        up_beacon_t *beacon = APR_RING_FIRST(&loop->dark);

        APR_RING_REMOVE(beacon, grave); /* NOLINT(clang-analyzer-unix.Malloc) */
        free(beacon);
    }
}

static void run_aside(apr_thread_t *thread, void *data);

/* After a run: what next? */
static void settle(up_watch_t *watch, up_turn_e turn)
{
    up_loop_t *loop = watch->loop;

    if (turn == UP_TURN_GONE) {
        bury(loop, watch);
        return;
    }
    if (turn == UP_TURN_SIDE
        && up_side_push(run_aside, watch, 0) == APR_SUCCESS) {
        return; /* it stays busy */
    }
    watch->busy = 0;
    watch->due = watch->deadline;
    up_wheel_set(loop->wheel, watch);
    if (turn != UP_TURN_WAIT) {
        note(watch, UP_EV_CALL);
    }
    else if (watch->events) {
        note(watch, 0);
    }
}

static void run_next(up_loop_t *loop, apr_thread_t *thread)
{
    up_watch_t *watch = APR_RING_FIRST(&loop->ready);
    unsigned int events = watch->events;
    up_turn_e turn;

    APR_RING_REMOVE(watch, ready);
    watch->queued = 0;
    watch->events = 0;
    watch->busy = 1;
    loop->running = watch;
    loop->runner = up_slow_thread();
    loop->beat++;
    apr_thread_mutex_unlock(loop->lock);
    turn = watch->run(watch, events, thread, 0);
    apr_thread_mutex_lock(loop->lock);
    if (loop->running == watch) {
        loop->running = NULL;
    }
    settle(watch, turn);
}

static void take_event(up_loop_t *loop, const struct epoll_event *event)
{
    apr_uintptr_t data = (apr_uintptr_t)event->data.ptr;
    up_watch_t *watch = (up_watch_t *)(data & ~(apr_uintptr_t)1);
    unsigned int events = UP_EV_CLIENT
        | (event->events & ~(unsigned int)EPOLLOUT ? UP_EV_CLIENT_DATA : 0);
    apr_uint64_t count;

    if (!watch) {
        (void)!read(loop->wake, &count, sizeof(count));
        return;
    }
    if (data & 1) {
        up_beacon_t *beacon = (up_beacon_t *)watch;

        beacon->lit = 1;
        if (beacon->watch) {
            note(beacon->watch, UP_EV_BACKEND);
        }
        return;
    }
    if (event->events & EPOLLRDHUP) {
        events |= UP_EV_CLIENT_END;
    }
    if (event->events & (EPOLLHUP | EPOLLERR)) {
        events |= UP_EV_CLIENT_HUP;
    }
    note(watch, events);
}

static void expired(up_watch_t *watch)
{
    note(watch, UP_EV_TIMER);
}

/* Waits for events or the next timer, and notes what came. */
static void wait_for_events(up_loop_t *loop)
{
    struct epoll_event events[BATCH];
    int timeout = up_wheel_timeout(loop->wheel, up_clock_now());
    int n;
    int i;

    loop->waiting++;
    apr_thread_mutex_unlock(loop->lock);
    n = epoll_wait(loop->epoll, events, BATCH, timeout);
    apr_thread_mutex_lock(loop->lock);
    loop->waiting--;
    loop->beat++;
    for (i = 0; i < n; i++) {
        take_event(loop, &events[i]);
    }
    up_wheel_turn(loop->wheel, up_clock_now(), expired);
    if (!loop->waiting) {
        empty_grave(loop);
    }
}

/* Runs the loop until it stops; a spare only until another thread waits. */
static void run_loop(up_loop_t *loop, apr_thread_t *thread, int spare)
{
    apr_thread_mutex_lock(loop->lock);
    while (!loop->stop) {
        if (!APR_RING_EMPTY(&loop->ready, up_watch_t, ready)) {
            run_next(loop, thread);
        }
        else if (spare && loop->waiting) {
            break;
        }
        else {
            wait_for_events(loop);
        }
    }
    if (spare) {
        loop->spares--;
    }
    if (loop->stop && loop->waiting) {
        rouse(loop); /* the next one in epoll_wait */
    }
    apr_thread_mutex_unlock(loop->lock);
}

/* ------------------------------------------------------------------------ */
/* threads */

static void run_aside(apr_thread_t *thread, void *data)
{
    up_watch_t *watch = data;
    up_loop_t *loop = watch->loop;
    up_turn_e turn = watch->run(watch, UP_EV_CALL, thread, 1);

    apr_thread_mutex_lock(loop->lock);
    settle(watch, turn);
    if (loop->waiting) {
        rouse(loop);
    }
    apr_thread_mutex_unlock(loop->lock);
}

static void *APR_THREAD_FUNC loop_thread(apr_thread_t *thread, void *data)
{
    run_loop(data, thread, 0);
    return NULL;
}

static void stand_in(apr_thread_t *thread, void *data)
{
    run_loop(data, thread, 1);
}

/* Another thread takes the loop over. */
static void relieve_locked(up_loop_t *loop)
{
    if (loop->running && loop->running->stuck && up_slow_sleeps(loop->runner)) {
        loop->running->stuck(loop->running);
    }
    if (loop->spares < MOST_SPARES
        && up_side_push(stand_in, loop, 1) == APR_SUCCESS) {
        loop->spares++;
        loop->looks = 0;
    }
}

/* Has this loop not moved since the last looks, with nobody waiting? Returns
 * how many watches the loop has. */
static int look_at(up_loop_t *loop)
{
    int watched;

    apr_thread_mutex_lock(loop->lock);
    watched = loop->watched;
    if (loop->waiting || loop->beat != loop->seen) {
        loop->seen = loop->beat;
        loop->looks = 0;
    }
    else if (++loop->looks >= STUCK_LOOKS) {
        relieve_locked(loop);
    }
    apr_thread_mutex_unlock(loop->lock);
    return watched;
}

static void *APR_THREAD_FUNC watchdog_thread(apr_thread_t *thread, void *data)
{
    int i;

    (void)thread;
    (void)data;
    while (!apr_atomic_read32(&loops.stopped)) {
        int watched = 0;

        for (i = 0; i < loops.count; i++) {
            watched += look_at(&loops.loops[i]);
        }
        apr_sleep(watched ? LOOK : LOOK * 10);
    }
    return NULL;
}

/* ------------------------------------------------------------------------ */
/* for others */

static apr_status_t make_loop(up_loop_t *loop, apr_pool_t *p)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
    apr_status_t rv = apr_thread_mutex_create(&loop->lock,
                                              APR_THREAD_MUTEX_DEFAULT, p);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    APR_RING_INIT(&loop->all, up_watch_t, all);
    APR_RING_INIT(&loop->ready, up_watch_t, ready);
    APR_RING_INIT(&loop->grave, up_watch_t, all);
    APR_RING_INIT(&loop->dark, up_beacon_t, grave);
    loop->wheel = up_wheel_make(p, up_clock_now());
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->epoll < 0 || loop->wake < 0
        || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event) < 0) {
        return errno;
    }
    return ap_thread_create(&loop->thread, NULL, loop_thread, loop, p);
}

static apr_status_t stop_at_end(void *unused)
{
    (void)unused;
    up_loop_stop();
    return APR_SUCCESS;
}

static apr_status_t start_threads(apr_pool_t *p, int count)
{
    apr_status_t rv = APR_SUCCESS;
    int i;

    for (i = 0; i < count && i < MOST_LOOPS && rv == APR_SUCCESS; i++) {
        rv = make_loop(&loops.loops[i], p);
        if (rv == APR_SUCCESS) {
            loops.count++;
        }
    }
    return rv == APR_SUCCESS
               ? ap_thread_create(&loops.watchdog, NULL, watchdog_thread,
                                  NULL, p)
               : rv;
}

apr_status_t up_loop_start(apr_pool_t *p, server_rec *s, int count,
                           int side_threads)
{
    sigset_t all;
    sigset_t before;
    apr_status_t rv;

    loops.s = s;
    rv = up_side_start(p, side_threads);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    apr_pool_pre_cleanup_register(p, NULL, stop_at_end);
    /* Signals are for httpd's main thread; threads inherit the mask. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rv = start_threads(p, count);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rv;
}

int up_loop_running(void)
{
    return loops.count > 0 && !apr_atomic_read32(&loops.stopped);
}

int up_loop_stopping(void)
{
    return apr_atomic_read32(&loops.stopping) != 0;
}

apr_status_t up_loop_add(up_watch_t *watch, int client_fd)
{
    apr_uint32_t n = apr_atomic_inc32(&loops.next);
    up_loop_t *loop = &loops.loops[n % (apr_uint32_t)loops.count];
    struct epoll_event event = { .events = EDGES, .data.ptr = watch };

    watch->loop = loop;
    watch->tick = -1;
    watch->beacon = NULL;
    watch->client_fd = client_fd;
    apr_thread_mutex_lock(loop->lock);
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, client_fd, &event) < 0) {
        apr_status_t rv = errno;

        apr_thread_mutex_unlock(loop->lock);
        return rv;
    }
    APR_RING_INSERT_TAIL(&loop->all, watch, up_watch_t, all);
    loop->watched++;
    note(watch, up_loop_stopping() ? UP_EV_CALL | UP_EV_STOP : UP_EV_CALL);
    if (loop->waiting) {
        rouse(loop);
    }
    apr_thread_mutex_unlock(loop->lock);
    return APR_SUCCESS;
}

void up_loop_call(up_watch_t *watch)
{
    up_loop_t *loop = watch->loop;

    apr_thread_mutex_lock(loop->lock);
    note(watch, UP_EV_CALL);
    if (loop->waiting) {
        rouse(loop);
    }
    apr_thread_mutex_unlock(loop->lock);
}

/* Closing alone does not do it while a child process that is just being made
 * has the socket, too. */
void up_loop_leave_client(up_watch_t *watch)
{
    struct epoll_event none = { .events = 0 };

    if (watch->client_fd >= 0) {
        epoll_ctl(watch->loop->epoll, EPOLL_CTL_DEL, watch->client_fd, &none);
        watch->client_fd = -1;
    }
}

/* The connection is closing, or moves to another loop. */
static void put_out(up_beacon_t *beacon)
{
    up_loop_t *loop = beacon->loop;
    struct epoll_event none = { .events = 0 };

    if (apr_atomic_read32(&loops.ended)) {
        free(beacon); /* and the lock may be gone */
        return;
    }
    apr_thread_mutex_lock(loop->lock);
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, beacon->fd, &none);
    if (beacon->watch) {
        beacon->watch->beacon = NULL;
    }
    APR_RING_INSERT_TAIL(&loop->dark, beacon, up_beacon_t, grave);
    apr_thread_mutex_unlock(loop->lock);
}

static void enrol(up_beacon_t *beacon, int operation)
{
    struct epoll_event event = {
        .events = beacon->writing ? EDGES : READING,
        .data.ptr = (char *)beacon + 1
    };

    if (epoll_ctl(beacon->loop->epoll, operation, beacon->fd, &event) < 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR, errno, loops.s, UPLOGNO(0501)
                     "cannot watch the socket of a backend");
    }
}

/* A beacon for the socket in this loop; nothing is missed on the way: what is
 * ready when it is registered is an event. */
static void light(up_watch_t *watch, up_conn_t *conn, int writing)
{
    up_beacon_t *beacon = calloc(1, sizeof(*beacon));

    ap_assert(beacon);
    if (conn->beacon) {
        put_out(conn->beacon);
    }
    beacon->loop = watch->loop;
    beacon->watch = watch;
    beacon->fd = conn->fd;
    beacon->writing = writing;
    conn->beacon = beacon;
    conn->put_out = put_out;
    watch->beacon = beacon;
    enrol(beacon, EPOLL_CTL_ADD);
}

/* The registration is there already. */
static void adopt(up_watch_t *watch, up_beacon_t *beacon)
{
    apr_thread_mutex_lock(watch->loop->lock);
    beacon->watch = watch;
    watch->beacon = beacon;
    if (beacon->lit) {
        note(watch, UP_EV_BACKEND); /* it came before us */
    }
    apr_thread_mutex_unlock(watch->loop->lock);
}

void up_loop_watch_backend(up_watch_t *watch, up_conn_t *conn, int writing)
{
    if (!conn->beacon || conn->beacon->loop != watch->loop) {
        light(watch, conn, writing);
        return;
    }
    if (watch->beacon != conn->beacon) {
        adopt(watch, conn->beacon);
    }
    if (writing && !conn->beacon->writing) {
        conn->beacon->writing = 1;
        enrol(conn->beacon, EPOLL_CTL_MOD);
    }
}

void up_loop_leave_backend(up_watch_t *watch)
{
    if (!watch->beacon) {
        return;
    }
    apr_thread_mutex_lock(watch->loop->lock);
    watch->beacon->watch = NULL;
    watch->beacon->lit = 0;
    watch->beacon = NULL;
    apr_thread_mutex_unlock(watch->loop->lock);
}

void up_loop_stop_gracefully(void)
{
    int i;

    apr_atomic_set32(&loops.stopping, 1);
    for (i = 0; i < loops.count; i++) {
        up_loop_t *loop = &loops.loops[i];
        up_watch_t *watch;

        apr_thread_mutex_lock(loop->lock);
        APR_RING_FOREACH(watch, &loop->all, up_watch_t, all) {
            note(watch, UP_EV_STOP);
        }
        rouse(loop);
        apr_thread_mutex_unlock(loop->lock);
    }
}

void up_loop_stop(void)
{
    apr_status_t rv;
    int i;

    if (!loops.count || apr_atomic_xchg32(&loops.stopped, 1)) {
        return;
    }
    for (i = 0; i < loops.count; i++) {
        apr_thread_mutex_lock(loops.loops[i].lock);
        loops.loops[i].stop = 1;
        rouse(&loops.loops[i]);
        apr_thread_mutex_unlock(loops.loops[i].lock);
    }
    for (i = 0; i < loops.count; i++) {
        apr_thread_join(&rv, loops.loops[i].thread);
    }
    if (loops.watchdog) {
        apr_thread_join(&rv, loops.watchdog);
    }
    up_side_stop();
    apr_atomic_set32(&loops.ended, 1);
}
