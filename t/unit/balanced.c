/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What tests of balancing methods share. */

#include "t/unit/balanced.h"

#include "apr_strings.h"

#define SEED 42

const unit_server_t unit_equal[] = {
    { .port = 19181 }, { .port = 19182 }, { .port = 19183 }, { 0 } };
const unit_server_t unit_weighted[] = {
    { .port = 19181, .weight = 2 }, { .port = 19182, .weight = 3 },
    { .port = 19183, .weight = 1 }, { 0 } };
up_peers_t *unit_balanced(const unit_server_t *rows,
                         const up_balancing_t *balancing)
{
    up_group_t *group = unit_group(rows);
    int i;

    for (i = 0; i < group->servers->nelts; i++) {
        up_server_t *server = &APR_ARRAY_IDX(group->servers, i, up_server_t);

        server->text = apr_psprintf(unit_pool, "127.0.0.1:%d", rows[i].port);
        server->fail_timeout = AT(10);
    }
    group->balancing = apr_pmemdup(unit_pool, balancing, sizeof(*balancing));
    ck_assert_int_eq(up_peers_child_init(unit_pool), APR_SUCCESS);
    group->peers->lots = SEED;
    return group->peers;
}

up_pick_t *unit_seek(up_peers_t *peers)
{
    return up_balancer_begin(unit_pool, NULL, peers, 0);
}

int unit_answer(up_pick_t *pick)
{
    up_peer_t *peer = up_balancer_pick(pick, AT(1000));

    if (peer) {
        up_balancer_done(pick, peer, UP_OUTCOME_OK, NULL, AT(1000));
    }
    return peer ? peer->index + 1 : 0;
}

const char *unit_busy(up_peers_t *peers, int n)
{
    char *all = apr_pcalloc(unit_pool, (apr_size_t)n + 1);
    int i;

    for (i = 0; i < n; i++) {
        all[i] = (char)('a'
                        + up_balancer_pick(unit_seek(peers), AT(1000))->index);
    }
    return all;
}
