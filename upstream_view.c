/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The exchange as other modules see it: the optional functions of
 * mod_upstream_proxy.h, and where the hooks change what the machine does. */

#include <string.h>

#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "config/phase_hooks.h"
#include "exchange/fields.h"
#include "exchange/request_head.h"
#include "peers/named.h"
#include "upstream_machine.h"

static void describe_try(const up_try_t *tried, up_view_t *view)
{
    view->server = tried->peer;
    view->reused = tried->reused;
    view->error = tried->error;
    view->kind = tried->fail;
    view->status = tried->status;
    view->started = tried->started;
    view->connect_time = tried->connect_time;
    view->header_time = tried->header_time;
    view->response_time = tried->response_time;
    view->sent = tried->sent;
    view->received = tried->received;
}

void up_request_view(const up_request_t *ur, up_view_t *view, apr_size_t size)
{
    const up_try_t *tried = up_trail_last(ur->trail);
    up_view_t all = {
        .group = ur->pass->group->name,
        .target = ur->target,
        .stage = ur->stage,
        .tries = ur->trail->tries->nelts,
        .fd = up_request_backend_fd(ur),
        .connect_time = -1,
        .header_time = -1,
        .response_time = -1,
        .client_gone = ur->trail->client_aborted
    };

    if (tried) {
        describe_try(tried, &all);
    }
    if (all.error) {
        all.reason = ur->reason;
        all.rv = ur->rv;
    }
    if (ur->leg.conn) {
        all.sent = ur->leg.sent;
        all.received = ur->leg.received;
    }
    memset(view, 0, size);
    memcpy(view, &all, size < sizeof(all) ? size : sizeof(all));
}

apr_array_header_t *up_request_servers(const up_request_t *ur, apr_pool_t *p)
{
    return up_named_list(ur->pick, p, up_clock_now());
}

const char *up_request_field(const up_request_t *ur, const char *name)
{
    const up_head_t *head = ur->trail->head;
    int i;

    for (i = 0; head && i < head->nfields; i++) {
        if (up_field_is(head->fields[i].name, name)) {
            return head->fields[i].value;
        }
    }
    return NULL;
}

void up_request_register(void)
{
    APR_REGISTER_OPTIONAL_FN(up_request_view);
    APR_REGISTER_OPTIONAL_FN(up_request_servers);
    APR_REGISTER_OPTIONAL_FN(up_request_field);
}

/* ------------------------------------------------------------------------ */
/* where hooks have a say */

void up_machine_wish(up_request_t *ur)
{
    if (!ur->asked) {
        ur->asked = 1;
        ur->wish = up_hooks_select_peer(ur->r, ur,
                                        ur->trail->tries->nelts + 1);
    }
}

up_peer_t *up_machine_pick(up_request_t *ur, apr_time_t now)
{
    up_peer_t *peer = NULL;

    if (ur->wish) {
        peer = up_named_pick(ur->pick, ur->wish, now);
    }
    return peer ? peer : up_balancer_pick(ur->pick, now);
}

/* @return OK; else the exchange ends with that */
static int edit_head(up_request_t *ur)
{
    apr_table_t *fields = up_reqhead_fields(ur->r->pool, ur->head);
    apr_bucket *bucket;
    int status = up_hooks_request_out(ur->r, ur, fields);

    if (status != OK) {
        return status;
    }
    if (up_reqhead_rewrite(ur->r, ur->head, fields,
                           ur->r->connection->bucket_alloc, &bucket)
        != APR_SUCCESS) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    up_reqbody_exchange_head(ur->body, bucket);
    return OK;
}

up_verdict_e up_machine_ready(up_request_t *ur, const char *why)
{
    int status = OK;

    up_hooks_connected(ur->r, ur);
    if (ur->head) {
        status = edit_head(ur);
    }
    return status == OK ? up_machine_go(ur, UP_SEND, why)
                        : up_machine_finish(ur, status, "refused by a hook");
}

up_retry_e up_machine_decide(up_request_t *ur, up_retry_facts_t *facts)
{
    up_retry_e decision = up_retry_decide(facts);
    int retry = decision != UP_RETRY_STOP;
    int wanted = ur->stage < UP_STAGE_SEND
                     ? up_hooks_connect_failed(ur->r, ur, retry)
                     : up_hooks_try_failed(ur->r, ur, retry);

    if (!wanted == !retry) {
        return decision;
    }
    if (!wanted) {
        facts->vetoed = 1;
        return UP_RETRY_STOP;
    }
    facts->enabled |= facts->fail | UP_FAIL_NON_IDEMPOTENT;
    facts->enabled &= ~(unsigned int)UP_FAIL_OFF;
    return up_retry_decide(facts);
}

void up_machine_tell_failed(up_request_t *ur)
{
    const up_try_t *tried = up_trail_last(ur->trail);

    if (ap_is_HTTP_ERROR(ur->result) && ur->result != UP_STATUS_CLIENT_GONE
        && tried && tried->error && !ur->client->header_out) {
        ur->result = up_hooks_failed(ur->r, ur, ur->result);
    }
}
