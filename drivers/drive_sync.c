/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Step, wait, step; see drive_sync.h. */


#include "drivers/drive_sync.h"

#include <poll.h>

#include "ap_mpm.h"
#include "apr_atomic.h"
#include "config/clock.h"
#include "config/process.h"
#include "exchange/jump.h"

/* How often a stream without a socket is asked whether it is still wanted, and
 * a bell without a descriptor whether it was rung. */
#define LOOK_MS 100

/* How often is looked whether the child stops. */
#define STOP_MS 1000

#define HANGUP (POLLERR | POLLHUP | POLLNVAL)

static volatile apr_uint32_t ending; /* the child, at once */

void up_drive_sync_stop(int graceful)
{
    if (!graceful) {
        apr_atomic_set32(&ending, 1);
    }
}

static short poll_events(apr_int16_t want)
{
    return (short)((want & APR_POLLIN ? POLLIN : 0)
                   | (want & APR_POLLOUT ? POLLOUT : 0));
}

/* Milliseconds until `when`, rounded up; -1: for ever. */
static int millis_until(apr_time_t when)
{
    apr_interval_time_t left;

    if (!when) {
        return -1;
    }
    left = when - up_clock_now();
    if (left <= 0) {
        return 0;
    }
    left = (left + 999) / 1000;
    return left > 3600000 ? 3600000 : (int)left;
}

static int is_due(const up_want_t *want)
{
    return want->until && up_clock_now() >= want->until;
}

/* Must the client be looked after, for nothing says that it has left? */
static int look_after(const conn_rec *c, int client_fd)
{
    return client_fd < 0 || c->master;
}

/* The shorter of two times to wait, the first may be -1: for ever. */
static int sooner(int timeout, int other)
{
    return timeout < 0 || timeout > other ? other : timeout;
}

/* Waits for what the exchange wants, at most until `until`. */
static void wait_for_events(up_request_t *ur, conn_rec *c, apr_time_t until)
{
    const up_want_t *want = up_request_want(ur);
    struct pollfd fds[3];
    int client_fd = up_request_client_fd(ur);
    int timeout;
    int n;

    if (!until || (want->until && want->until < until)) {
        until = want->until;
    }
    timeout = millis_until(until);
    fds[0].fd = want->backend ? up_request_backend_fd(ur) : -1;
    fds[0].events = poll_events(want->backend);
    fds[0].revents = 0;
    fds[1].fd = client_fd;
    fds[1].events = poll_events(want->client);
    fds[1].revents = 0;
    if (up_request_watches_client(ur)) {
        fds[1].events |= POLLRDHUP;
    }
    fds[2].fd = want->bell ? up_bell_fd(want->bell) : -1;
    fds[2].events = POLLIN;
    timeout = sooner(timeout, look_after(c, client_fd)
                                      || (want->bell && fds[2].fd < 0)
                                  ? LOOK_MS : STOP_MS);
    n = poll(fds, 3, timeout);
    if (n > 0 && (fds[1].revents & (POLLRDHUP | HANGUP))) {
        up_request_client_end(ur, (fds[1].revents & HANGUP) != 0);
    }
    else if (n <= 0 && is_due(want)) {
        up_request_expire(ur);
    }
    else if (look_after(c, client_fd) && c->aborted) {
        up_request_client_end(ur, 1);
    }
}

/* UpstreamShutdownTimeout, from the moment on when the stop was noticed. */
static void heed_stop(up_request_t *ur, conn_rec *c, apr_time_t *pstop_by)
{
    apr_interval_time_t timeout = up_process()->shutdown_timeout;
    int state = 0;

    if (apr_atomic_read32(&ending)) {
        c->aborted = 1;
        up_request_client_end(ur, 1);
        return;
    }
    if (timeout && !*pstop_by
        && ap_mpm_query(AP_MPMQ_MPM_STATE, &state) == APR_SUCCESS
        && state == AP_MPMQ_STOPPING) {
        *pstop_by = up_clock_now() + timeout;
    }
    if (*pstop_by && up_clock_now() >= *pstop_by) {
        up_request_abort(ur);
    }
}

up_verdict_e up_drive_sync_until(up_request_t *ur, conn_rec *c,
                                 apr_time_t until)
{
    apr_time_t stop_by = 0;
    up_verdict_e verdict;

    while ((verdict = up_request_step(ur)) != UP_DONE) {
        if (verdict == UP_WAIT) {
            if (until && until <= up_clock_now()) {
                return UP_WAIT;
            }
            up_counts_gauge(up_request_counts(ur), UP_GAUGE_THREADS, 1);
            wait_for_events(ur, c, until);
            up_counts_gauge(up_request_counts(ur), UP_GAUGE_THREADS, -1);
            heed_stop(ur, c, &stop_by);
        }
    }
    return UP_DONE;
}

int up_drive_sync(up_request_t *ur, request_rec *r)
{
    up_drive_sync_until(ur, r->connection, 0);
    return up_jump_run(r, up_request_result(ur));
}
