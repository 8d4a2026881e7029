/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Event loops: threads that wait for many connections at once.
 *
 * A loop is a monitor: its lists and timers belong to its lock, and any
 * thread may run it. As a rule one does. A connection ("watch") is run by at
 * most one thread at a time, without the lock; when a run takes too long, the
 * watchdog lets a second thread run the loop, so that the other connections
 * never wait for it. What is known to block is run on the side pool.
 *
 * Sockets are registered once, edge-triggered: after a run that met
 * EAGAIN, the next readiness makes the next run. Timers have ticks of 10 ms.
 *
 * Everything here belongs to a child process.
 */

#ifndef UP_LOOP_H
#define UP_LOOP_H

#include "apr_ring.h"
#include "apr_thread_proc.h"
#include "apr_time.h"
#include "httpd.h"
#include "transport/backend_conn.h"

/* Why a watch is run. Bits. */
#define UP_EV_BACKEND 0x01u    /* the backend's socket: ready, end or error */
#define UP_EV_CLIENT 0x02u     /* the client's socket is ready */
#define UP_EV_CLIENT_END 0x04u /* its stream has ended (FIN) */
#define UP_EV_CLIENT_HUP 0x08u /* it is reset, or closed both ways */
#define UP_EV_TIMER 0x10u      /* watch->deadline has passed */
#define UP_EV_CALL 0x20u       /* added, or asked to be run again */
#define UP_EV_CLIENT_DATA 0x80u /* and that not only for writing */
#define UP_EV_STOP 0x40u       /* the child is stopping gracefully */

/** What a run wants next. */
typedef enum up_turn_e {
    UP_TURN_WAIT,  /* for events, or watch->deadline */
    UP_TURN_AGAIN, /* after the others that are ready */
    UP_TURN_SIDE,  /* at once, on a thread that may block */
    UP_TURN_GONE   /* the watch is not used any more; the loop frees it */
} up_turn_e;

typedef struct up_loop_t up_loop_t;
typedef struct up_watch_t up_watch_t;

struct up_watch_t {
    /** `side`: this thread may block. */
    up_turn_e (*run)(up_watch_t *watch, unsigned int events,
                     apr_thread_t *thread, int side);
    apr_time_t deadline; /* set by run, 0: none */

    /** The watchdog: the loop's thread sleeps in a run of this watch. Called
     * with the loop's lock held, from another thread; it may only take note.
     * NULL: does not care. */
    void (*stuck)(up_watch_t *watch);

    /* the loop's own */
    APR_RING_ENTRY(up_watch_t) all;
    APR_RING_ENTRY(up_watch_t) ready;
    APR_RING_ENTRY(up_watch_t) slot;
    up_loop_t *loop;
    apr_time_t due;      /* deadline, as of the last run */
    apr_int64_t tick;    /* in the wheel for this tick, -1: not */
    unsigned int events; /* since the last run */
    int queued;          /* in the ready list */
    int busy;            /* being run */
    up_beacon_t *beacon; /* of the backend's connection, NULL: none */
    int client_fd;       /* -1: not watched any more */
};

/**
 * child_init: `loops` loops, at least one, the watchdog, and a side pool of
 * at most `side_threads`. They end with pool p.
 */
apr_status_t up_loop_start(apr_pool_t *p, server_rec *s, int loops,
                           int side_threads);

/** Are there loops, and is this child not stopping at once? */
int up_loop_running(void);

/**
 * Hands a watch (from malloc) and a client socket to a loop, which first runs
 * it with UP_EV_CALL. Any thread; from now on only runs touch the watch.
 * @return APR_SUCCESS, or why it cannot be watched: it is still the caller's
 */
apr_status_t up_loop_add(up_watch_t *watch, int client_fd);

/** Runs a watch with UP_EV_CALL, soon. Any thread, while the watch is there;
 * takes the loop's lock. */
void up_loop_call(up_watch_t *watch);

/**
 * During a run: watches a backend's socket for readiness to read, with
 * `writing` for readiness to write as well. The registration stays with the
 * connection while it is open, also in the pool: to watch one again that this
 * loop has watched before is free.
 */
void up_loop_watch_backend(up_watch_t *watch, up_conn_t *conn, int writing);

/** During a run: the backend's connection is not watched any more. */
void up_loop_leave_backend(up_watch_t *watch);

/** During a run, before the client's socket is closed. */
void up_loop_leave_client(up_watch_t *watch);

/** Graceful stop: every watch is run once with UP_EV_STOP. */
void up_loop_stop_gracefully(void);

/** Ends the threads at once; watches stay as they are. */
void up_loop_stop(void);

/** Is a graceful stop under way? */
int up_loop_stopping(void);

#endif
