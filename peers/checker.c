/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the thread of the health checks: which are due, which are under way,
 * and what their results change.
 */

#include "peers/checker.h"

#include <poll.h>

#include "config/clock.h"
#include "config/group.h"
#include "config/log.h"
#include "http_main.h"
#include "peers/background.h"
#include "peers/health.h"
#include "peers/probe.h"
#include "peers/queue.h"

#define MOST 512 /* checks at a time */
#define LOOK apr_time_from_sec(1)

/* Of a peer: kept from check to check, for a connection may be. */
typedef struct up_checkjob_t {
    struct up_checkjob_t *next;
    up_peers_t *peers;
    up_peer_t *peer; /* held while a check is under way, else NULL */
    up_probe_t *probe;
    apr_time_t started;
    int seen;        /* its peer stands in a list */
} job_t;

static up_background_t checker = UP_BACKGROUND_NONE;

/* The thread's own. */
static struct {
    apr_pool_t *pool;
    job_t *jobs;
    int running;
    apr_time_t now;
    apr_time_t next; /* when to look again */
} work;

/* --- results -------------------------------------------------------------- */

static void tell(const job_t *job, const char *why)
{
    const char *group = job->peers->group->name;

    switch (atomic_load(&job->peer->state->health)) {
    case UP_HEALTH_GOOD:
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                     UPLOGNO(0911) "server %s of group %s is healthy",
                     job->peer->name, group);
        break;
    case UP_HEALTH_DRAINS:
        ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                     UPLOGNO(0912) "server %s of group %s drains, it %s",
                     job->peer->name, group, why);
        break;
    default:
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     UPLOGNO(0913) "server %s of group %s is unhealthy, the "
                     "check says: %s (UpstreamHealthCheck)", job->peer->name,
                     group, why);
        break;
    }
}

static void end_check(job_t *job)
{
    const up_check_t *check = job->peers->group->check;
    apr_time_t due = job->started + check->interval;
    up_checked_e result;
    const char *why;

    result = up_probe_result(job->probe, &why);
    if (up_health_note(job->peer->state, check, result, work.now)) {
        tell(job, why);
        up_queue_wake(job->peers->queue);
    }
    if (check->jitter >= 1000) {
        due += apr_time_from_msec(
            ap_random_pick(0, (apr_uint32_t)(check->jitter / 1000)));
    }
    if (due <= work.now) {
        due = work.now + 1; /* it took longer than the interval */
    }
    up_health_schedule(job->peer->state, due);
    if (due < work.next) {
        work.next = due;
    }
    up_peer_let_go(job->peer);
    job->peer = NULL;
    if (work.running-- == MOST) {
        work.next = work.now; /* there is room for one that is due */
    }
}

/* --- what is due ---------------------------------------------------------- */

/* What has left its list is in none ever after, so nobody asks again for a job
 * that was forgotten. */
static job_t *job_of(up_peers_t *peers, up_peer_t *peer)
{
    job_t *job = peer->checks;

    if (!job && (job = calloc(1, sizeof(*job)))) {
        job->peers = peers;
        job->probe = up_probe_make(work.pool, peers->group->check,
                                   peer->addr);
        job->next = work.jobs;
        work.jobs = job;
        peer->checks = job;
    }
    return job;
}

/* Lock held. */
static void look_at(up_peers_t *peers, up_peer_t *peer)
{
    job_t *job = job_of(peers, peer);

    if (!job) {
        return;
    }
    job->seen = 1;
    if (job->peer || work.running == MOST
        || !up_health_claim(peer->state, peers->group->check, work.now,
                            &work.next)) {
        return;
    }
    up_peer_hold_locked(peer);
    job->peer = peer;
    job->started = work.now;
    work.running++;
}

static void look_at_list(up_peers_t *peers, up_peerlist_t *list)
{
    int i;

    for (i = 0; i < list->count; i++) {
        look_at(peers, list->peers[i]);
    }
}

static void look_at_group(up_group_t *group, void *unused)
{
    (void)unused;
    if (group->check && group->peers) {
        apr_thread_mutex_lock(group->peers->lock);
        look_at_list(group->peers, &group->peers->primary);
        look_at_list(group->peers, &group->peers->backup);
        apr_thread_mutex_unlock(group->peers->lock);
    }
}

/* Starts what is due, forgets whose peers are gone. */
static void begin_checks(void)
{
    job_t **where = &work.jobs;
    job_t *job;

    for (job = work.jobs; job; job = job->next) {
        job->seen = job->peer != NULL;
    }
    up_group_each(look_at_group, NULL);
    while ((job = *where)) {
        if (job->peer && job->started == work.now) {
            up_probe_start(job->probe, work.now);
        }
        if (job->seen) {
            where = &job->next;
            continue;
        }
        *where = job->next;
        up_probe_free(job->probe);
        free(job);
    }
}

/* --- the thread ----------------------------------------------------------- */

static void wait_for_events(void)
{
    struct pollfd fds[MOST + 1] = {
        { .fd = checker.wake, .events = POLLIN }
    };
    apr_time_t until = work.next;
    nfds_t n = 1;
    job_t *job;

    for (job = work.jobs; job; job = job->next) {
        if (job->peer) {
            fds[n].fd = up_probe_fd(job->probe);
            fds[n].events = up_probe_events(job->probe);
            n++;
            if (up_probe_until(job->probe) < until) {
                until = up_probe_until(job->probe);
            }
        }
    }
    poll(fds, n, until > work.now ? (int)((until - work.now + 999) / 1000)
                                  : 0);
    if (fds[0].revents) {
        up_background_heed(&checker);
    }
}

static void step_all(void)
{
    job_t *job;

    for (job = work.jobs; job; job = job->next) {
        if (job->peer && up_probe_step(job->probe, work.now)) {
            end_check(job);
        }
    }
}

/* What is under way is given up: its lease runs out. */
static void give_up(void)
{
    job_t *job;

    while ((job = work.jobs)) {
        work.jobs = job->next;
        if (job->peer) {
            up_health_schedule(job->peer->state, work.now);
            up_peer_let_go(job->peer);
        }
        up_probe_free(job->probe);
        free(job);
    }
}

static void *APR_THREAD_FUNC check_all(apr_thread_t *thread, void *unused)
{
    (void)thread;
    (void)unused;
    work.running = 0;
    work.next = 0;
    while (!atomic_load(&checker.ended)) {
        work.now = up_clock_now();
        if (work.now >= work.next) {
            work.next = work.now + LOOK;
            begin_checks();
        }
        step_all();
        wait_for_events();
    }
    work.now = up_clock_now();
    give_up();
    return NULL;
}

static void note_check(up_group_t *group, void *any)
{
    *(int *)any |= group->check != NULL;
}

apr_status_t up_checker_child_init(apr_pool_t *p)
{
    apr_status_t rv;
    int any = 0;

    up_group_each(note_check, &any);
    if (!any) {
        return APR_SUCCESS;
    }
    rv = apr_pool_create(&work.pool, p);
    return rv == APR_SUCCESS ? up_background_start(&checker, p, check_all)
                             : rv;
}

void up_checker_stop(void)
{
    up_background_end(&checker);
}
