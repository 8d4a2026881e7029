/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Which exchanges go to a loop, and when; see drive_loop.h. */

#include "drivers/drive_loop.h"

#include <sched.h>

#include "ap_mpm.h"
#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "config/pass.h"
#include "config/process.h"
#include "config/settings.h"
#include "drivers/adopted.h"
#include "drivers/drive_sync.h"
#include "drivers/head_limit.h"
#include "drivers/loop.h"
#include "drivers/slot.h"
#include "drivers/slow.h"
#include "exchange/jump.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include "mpm_common.h"
#include "transport/client.h"

#define FEW_SIDE_THREADS 16

/* A limit below this is worth a word at start. */
#define FEW_CONNECTIONS 1000

/* Only event suspends connections, and only as this module needs it. */
static int mpm_suspends(void)
{
    int async = 0;

    return ap_mpm_query(AP_MPMQ_IS_ASYNC, &async) == APR_SUCCESS && async
           && strcmp(ap_show_mpm(), "event") == 0;
}

/* Can a request on this connection turn it into an HTTP/2 one? */
static int may_be_upgraded(request_rec *r)
{
    const apr_array_header_t *upgrades = NULL;

    return ap_get_protocol_upgrades(r->connection, r, r->server, 0, &upgrades)
               == APR_SUCCESS
           && upgrades && upgrades->nelts > 0;
}

/* The most connections that the MPM lets a child have; 0: not known. */
static int most_connections;

/* Nearly full: what waits for a client's next request keeps others out. */
static int is_crowded(void)
{
    return most_connections
           && up_adopted_count() >= most_connections - most_connections / 5;
}

static int too_many(void)
{
    int most = up_process()->max_suspended;

    return most && up_adopted_parked() >= most;
}

/* May the exchange wait in a loop? Where what it runs blocks, the loop has
 * its steps run on the side. */
static int may_wait(request_rec *r)
{
    conn_rec *c = r->connection;

    if (!up_loop_running() || !up_settings_of(r)->async || r->main || r->prev
        || c->master || !c->cs || c->clogging_input_filters
        || !up_clientnet_of(c) || too_many()) {
        return 0;
    }
    return up_adopted_of(c) || !may_be_upgraded(r);
}

/* May the loop's own thread begin it? */
static int fits(request_rec *r)
{
    return may_wait(r) && !up_slow_is(up_slow_key(r, UP_SLOW_STEPS));
}

/* On a loop the question has been answered, before the handler: were it asked
 * again, another answer would block the loop. */
int up_drive_loop_fits(request_rec *r)
{
    return up_adopted_on_loop(r) || may_wait(r);
}

int up_drive_loop_divert(request_rec *r, int ours)
{
    if (r->prev) {
        up_adopted_refuse_body(r); /* of an error page: not diverted */
    }
    if (ours && (!up_adopted_of(r->connection) || fits(r))) {
        return DECLINED;
    }
    return up_adopted_divert(r);
}

/* The exchange has ended without waiting, or on a worker. */
static int over(request_rec *r, int status)
{
    int result = up_adopted_divert_end(r, status);

    return result == SUSPENDED ? SUSPENDED : up_jump_run(r, status);
}

int up_drive_loop(up_request_t *ur, request_rec *r)
{
    conn_rec *c = r->connection;
    up_adopted_t *adopted = up_adopted_of(c);
    up_verdict_e verdict;

    if (is_crowded()) {
        c->keepalive = AP_CONN_CLOSE;
    }
    if (adopted) {
        verdict = up_drive_sync_until(ur, c, 1);
    }
    else {
        /* A connection of few requests is better off with its worker: the
         * way to a loop is one-way and costs more than a short answer. */
        verdict = up_drive_sync_until(
            ur, c, c->keepalives ? 1
                                 : up_clock_now() + up_process()->async_delay);
    }
    if (verdict == UP_DONE) {
        return over(r, up_request_result(ur));
    }
    if (adopted) {
        up_adopted_park(adopted, r, ur);
        return SUSPENDED;
    }
    if (c->aborted) {
        return up_drive_sync(ur, r); /* the MPM would close it, not suspend */
    }
    return up_adopted_make(r, ur) ? SUSPENDED : up_drive_sync(ur, r);
}

/* ------------------------------------------------------------------------ */
/* hooks */

/* The value of a directive outside all sections: the last one counts. */
static const char *directive_value(const char *name)
{
    const ap_directive_t *at;
    const char *value = NULL;

    for (at = ap_conftree; at; at = at->next) {
        if (strcasecmp(at->directive, name) == 0) {
            value = at->args;
        }
    }
    return value;
}

/* The MPM stops accepting when a child has this many connections. */
static int connections_a_child(int threads)
{
    const char *factor = directive_value("AsyncRequestWorkerFactor");

    return threads + (int)(threads * (factor ? atof(factor) : 2.0));
}

/* What keeps exchanges from waiting without a thread, said once a start. */
static int on_post_config(apr_pool_t *pconf, apr_pool_t *plog,
                          apr_pool_t *ptemp, server_rec *s)
{
    int threads = 0;
    int limit = 0;

    (void)plog;
    (void)ptemp;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG
        || !up_pass_any()) {
        return OK;
    }
    if (!mpm_suspends()) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, UPLOGNO(0521)
                     "with the %s MPM every exchange that waits holds a "
                     "thread; the event MPM lets it wait without one",
                     ap_show_mpm());
        return OK;
    }
    up_headlimit_read(pconf, s);
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    ap_mpm_query(AP_MPMQ_HARD_LIMIT_THREADS, &limit);
    most_connections = connections_a_child(threads);
    if (most_connections < FEW_CONNECTIONS) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, UPLOGNO(0522)
                     "a child takes about %d connections, those that wait "
                     "without a thread included; raise "
                     "AsyncRequestWorkerFactor for more",
                     most_connections);
    }
    if (limit <= threads) {
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, s, UPLOGNO(0523)
                     "mod_status does not count requests that are served "
                     "from event loops: it would if ThreadLimit were at "
                     "least %d", threads + 8);
    }
    return OK;
}

static int on_pre_connection(conn_rec *c, void *csd)
{
    (void)c;
    (void)csd;
    up_adopted_thread_moved_on();
    return OK;
}

static int on_process_connection(conn_rec *c)
{
    (void)c;
    up_adopted_thread_moved_on();
    return DECLINED;
}

static void on_suspend_connection(conn_rec *c, request_rec *r)
{
    (void)r;
    if (!c->master) {
        up_adopted_enter(c);
    }
}

static int on_quick_handler(request_rec *r, int lookup)
{
    return lookup ? DECLINED : up_adopted_divert_slow(r);
}

static void on_insert_error_filter(request_rec *r)
{
    up_adopted_refuse_body(r);
}

static void on_child_stopping(apr_pool_t *p, int graceful)
{
    (void)p;
    if (!up_loop_running()) {
        return;
    }
    if (graceful) {
        up_loop_stop_gracefully();
    }
    else {
        up_loop_stop();
        up_slot_stop();
    }
}

void up_drive_loop_register(void)
{
    ap_hook_post_config(on_post_config, NULL, NULL, APR_HOOK_LAST);
    ap_hook_pre_connection(on_pre_connection, NULL, NULL,
                           APR_HOOK_REALLY_FIRST);
    ap_hook_process_connection(on_process_connection, NULL, NULL,
                               APR_HOOK_REALLY_FIRST);
    ap_hook_suspend_connection(on_suspend_connection, NULL, NULL,
                               APR_HOOK_REALLY_LAST);
    ap_hook_quick_handler(on_quick_handler, NULL, NULL,
                          APR_HOOK_REALLY_FIRST);
    ap_hook_insert_error_filter(on_insert_error_filter, NULL, NULL,
                                APR_HOOK_REALLY_FIRST);
    ap_hook_child_stopping(on_child_stopping, NULL, NULL, APR_HOOK_MIDDLE);
}

/* Loops where UpstreamLoops does not say how many. */
static int usual_loops(void)
{
    cpu_set_t set;
    int processors = 1;

    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        processors = CPU_COUNT(&set);
    }
    return processors < 1 ? 1 : processors > 4 ? 4 : processors;
}

apr_status_t up_drive_loop_child_init(apr_pool_t *p, server_rec *s)
{
    int loops = up_process()->loops;
    int threads = 0;

    if (!mpm_suspends()) {
        return APR_SUCCESS;
    }
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    up_slot_start(p);
    return up_loop_start(p, s, loops > 0 ? loops : usual_loops(),
                         threads > FEW_SIDE_THREADS ? threads
                                                    : FEW_SIDE_THREADS);
}
