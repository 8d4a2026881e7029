/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The end of an adopted connection; see adopted_state.h. */

#include "config/clock.h"
#include "config/log.h"
#include "drivers/adopted_state.h"
#include "http_connection.h"

static volatile apr_uint32_t adopted_count;

void up_adopted_count_in(void)
{
    apr_atomic_inc32(&adopted_count);
}

int up_adopted_count(void)
{
    return (int)apr_atomic_read32(&adopted_count);
}

void up_adopted_forget(up_adopted_t *a)
{
    /* The MPM counts it as suspended until its pool goes. */
    a->c->cs->state = CONN_STATE_SUSPENDED;
    apr_pool_destroy(a->c->pool);
    apr_atomic_dec32(&adopted_count);
}

/* As httpd's lingering close. */
#define LINGER_GAP apr_time_from_sec(2)
#define LINGER_MOST apr_time_from_sec(30)

/* The worker that suspended it still writes two fields of the connection
 * after our hook has returned. */
static int worker_is_gone(const up_adopted_t *a, apr_time_t now)
{
    return apr_atomic_read32(&a->worker->at) != a->worker_at
           || now >= a->adopted_at + UP_ADOPTED_GRACE;
}

up_turn_e up_adopted_destroy(up_adopted_t *a)
{
    if (!worker_is_gone(a, up_clock_now())) {
        a->phase = UP_PHASE_DOOMED;
        a->watch.deadline = a->adopted_at + UP_ADOPTED_GRACE;
        return UP_TURN_WAIT;
    }
    up_adopted_forget(a);
    return UP_TURN_GONE;
}

up_turn_e up_adopted_close(up_adopted_t *a)
{
    up_loop_leave_backend(&a->watch);
    up_loop_leave_client(&a->watch);
    apr_socket_close(a->sock);
    return up_adopted_destroy(a);
}

/* Reads and drops what the client still sends, so that it gets our last
 * bytes before a reset. */
up_turn_e up_adopted_linger_on(up_adopted_t *a)
{
    char dropped[8192];
    apr_status_t rv = APR_SUCCESS;
    apr_time_t now = up_clock_now();
    int i;

    for (i = 0; i < 32 && rv == APR_SUCCESS; i++) {
        apr_size_t len = sizeof(dropped);

        rv = apr_socket_recv(a->sock, dropped, &len);
    }
    if (rv == APR_SUCCESS && now < a->linger_by) {
        return UP_TURN_AGAIN;
    }
    if (!APR_STATUS_IS_EAGAIN(rv) || now >= a->linger_by) {
        return up_adopted_close(a);
    }
    a->watch.deadline = now + LINGER_GAP;
    return UP_TURN_WAIT;
}

/* Everything is written, or never will be. */
up_turn_e up_adopted_shut(up_adopted_t *a)
{
    conn_rec *c = a->c;
    int quick = apr_table_get(c->notes, "short-lingering-close") != NULL;

    if (c->aborted
        || apr_socket_shutdown(a->sock, APR_SHUTDOWN_WRITE) != APR_SUCCESS) {
        return up_adopted_close(a);
    }
    a->phase = UP_PHASE_LINGERING;
    a->linger_by = up_clock_now() + (quick ? LINGER_GAP : LINGER_MOST);
    return up_adopted_linger_on(a);
}

/* httpd's ap_start_lingering_close, which waits for a slow client. */
up_turn_e up_adopted_linger(up_adopted_t *a)
{
    conn_rec *c = a->c;

    ap_log_cerror(APLOG_MARK, APLOG_TRACE1, 0, c, "closing from phase %d, "
                  "state %d, keepalive %d%s%s", (int)a->phase,
                  (int)c->cs->state, (int)c->keepalive,
                  c->aborted ? ", aborted" : "",
                  a->stopping ? ", stopping" : "");
    a->closing = 1;
    apr_socket_timeout_set(a->sock, 0);
    ap_prep_lingering_close(c);
    ap_flush_conn(c); /* our filter keeps it; TLS says goodbye here */
    return up_adopted_write_on(a);
}
