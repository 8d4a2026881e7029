/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* SELECT: a server, or a place in the queue for one. */

#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "upstream_machine.h"

up_verdict_e up_machine_refuse(up_request_t *ur, const char *reason)
{
    apr_time_t now = up_clock_now();

    up_trail_open(ur->trail, ur->pass->group->name, now);
    up_trail_last(ur->trail)->queue_time = ur->queue_time;
    up_trail_last(ur->trail)->status = HTTP_SERVICE_UNAVAILABLE;
    up_trail_last(ur->trail)->error = "connection_limit_reached";
    up_trail_close(ur->trail, now);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ur->r, UPLOGNO(0804)
                  "group %s takes no more, answering 503: %s",
                  ur->pass->group->name, reason);
    apr_table_setn(ur->r->err_headers_out, "Retry-After", "1");
    return up_machine_finish(ur, HTTP_SERVICE_UNAVAILABLE, reason);
}

static void leave_queue(up_request_t *ur, apr_time_t now)
{
    ur->queue_time = now > ur->place.since ? now - ur->place.since : 0;
    up_counts_time(up_machine_counts(ur), UP_SPAN_QUEUE, ur->queue_time);
    up_queue_leave(&ur->place);
}

void up_machine_unqueue(up_request_t *ur)
{
    up_queue_leave(&ur->place);
}

int up_machine_queue_expire(up_request_t *ur)
{
    apr_time_t now = up_clock_now();

    if (!ur->place.queue || now < ur->queue_until) {
        return 0;
    }
    leave_queue(ur, now);
    up_counts_add(up_machine_counts(ur), UP_COUNT_QUEUE_TIMEOUTS, 1);
    up_machine_refuse(ur, "no server became free in time (timeout= of "
                      "UpstreamQueue)");
    return 1;
}

void up_machine_select_expire(up_request_t *ur, const char *reason)
{
    apr_time_t now = up_clock_now();
    up_try_t *tried;

    if (ur->place.queue) {
        leave_queue(ur, now);
    }
    ur->awaits_name = 0;
    tried = up_trail_open(ur->trail, ur->pass->group->name, now);
    tried->queue_time = ur->queue_time;
    tried->status = HTTP_GATEWAY_TIME_OUT;
    tried->error = "http_response_timeout";
    up_trail_close(ur->trail, now);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ur->r, UPLOGNO(0835)
                  "group %s: no server in time, answering 504: %s",
                  ur->pass->group->name, reason);
    up_machine_finish(ur, HTTP_GATEWAY_TIME_OUT, reason);
}

/* At the end of the queue. */
static up_verdict_e line_up(up_request_t *ur, up_queue_t *queue,
                            apr_time_t now)
{
    const up_group_t *group = ur->pass->group;
    up_bell_t *bell = up_machine_bell(ur);

    if (!bell) {
        return up_machine_finish(ur, HTTP_INTERNAL_SERVER_ERROR, "no bell");
    }
    if (!up_queue_join(queue, &ur->place, bell, now)) {
        up_counts_add(up_machine_counts(ur), UP_COUNT_QUEUE_OVERFLOWS, 1);
        return up_machine_refuse(ur, apr_psprintf(ur->r->pool, "all servers "
                                 "are busy, and %d requests wait "
                                 "(UpstreamQueue)", group->queue));
    }
    ur->queue_until = now + group->queue_timeout;
    return UP_AGAIN;
}

/* The first in the queue looks. @return 1: there is a server, or none can be
 * waited for */
static int look(up_request_t *ur, apr_time_t now)
{
    if (!up_queue_turn(&ur->place)) {
        return 0;
    }
    if (up_balancer_another(ur->pick, now) && up_queue_yield(&ur->place)) {
        return 0;
    }
    ur->peer = up_machine_pick(ur, now);
    return ur->peer || !up_balancer_full(ur->pick, now);
}

static up_verdict_e wait_in_queue(up_request_t *ur, apr_time_t now)
{
    apr_interval_time_t patience = up_queue_patience(&ur->place);

    ur->deadline = ur->queue_until;
    if (patience && now + patience < ur->deadline) {
        ur->deadline = now + patience;
    }
    return up_machine_wait_bell(ur);
}

up_verdict_e up_machine_choose(up_request_t *ur, apr_time_t now)
{
    up_queue_t *queue = ur->pick->peers->queue;

    if (!queue || ur->pick->ntried) {
        ur->peer = up_machine_pick(ur, now);
        return UP_AGAIN;
    }
    if (!ur->place.queue) {
        if (!up_queue_busy(queue)) {
            ur->peer = up_machine_pick(ur, now);
            if (ur->peer || !up_balancer_full(ur->pick, now)) {
                return UP_AGAIN;
            }
        }
        line_up(ur, queue, now);
        if (!ur->place.queue) {
            return UP_AGAIN; /* answered */
        }
    }
    up_bell_heed(ur->bell);
    if (!look(ur, now)) {
        return wait_in_queue(ur, now);
    }
    leave_queue(ur, now);
    return UP_AGAIN;
}
