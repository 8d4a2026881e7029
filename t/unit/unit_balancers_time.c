/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Balancing methods that measure time: what they learn, and whom they choose.
 */

#include "apr_strings.h"
#include "t/unit/balanced.h"

#define MS(n) ((apr_interval_time_t)(n) * 1000)
/* A try on the peer that is chosen, with these times. */
static up_peer_t *timed(up_peers_t *peers, apr_interval_time_t header,
                        apr_interval_time_t response, apr_time_t now)
{
    up_timing_t timing = { .header = header, .response = response };
    up_pick_t *pick = unit_seek(peers);
    up_peer_t *peer = up_balancer_pick(pick, now);

    up_balancer_head(pick, peer, header, now);
    up_balancer_done(pick, peer, UP_OUTCOME_OK, &timing, now);
    return peer;
}

/* The first server is slow, in what counts. */
static void slow_first(up_peers_t *peers, int last_byte)
{
    int i;

    for (i = 0; i < 3; i++) {
        up_peer_t *peer = peers->primary.peers[i];

        atomic_store(&peer->state->checked, 1000);
        atomic_store(last_byte ? &peer->state->response_ms
                               : &peer->state->header_ms, i ? 30 : 300);
    }
}

START_TEST(least_time)
{
    up_balancing_t balancing = { .method = UP_METHOD_LEAST_TIME,
                                 .last_byte = _i };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);
    int i;

    slow_first(peers, _i);
    for (i = 0; i < 10; i++) {
        ck_assert_int_ne(unit_answer(unit_seek(peers)), 1);
    }
    /* 300 are 320, 30 are 40: eight times as many requests make them alike */
    ck_assert_str_eq(unit_busy(peers, 14), "bccbbccbbccbbc");
    ck_assert_ptr_nonnull(strchr(unit_busy(peers, 3), 'a'));
}
END_TEST

START_TEST(least_time_means)
{
    up_balancing_t balancing = { .method = UP_METHOD_LEAST_TIME,
                                 .last_byte = 1 };
    up_peers_t *peers = unit_balanced((unit_server_t[]){ { .port = 1 }, { 0 } },
                                      &balancing);
    up_peerstate_t *state = peers->primary.peers[0]->state;

    timed(peers, MS(100), MS(200), AT(1000));
    ck_assert_int_eq(atomic_load(&state->header_ms), 100);
    ck_assert_int_eq(atomic_load(&state->response_ms), 200);
    timed(peers, MS(200), MS(400), AT(1000));
    ck_assert_int_eq(atomic_load(&state->header_ms), 105);
    ck_assert_int_eq(atomic_load(&state->response_ms), 210);
    timed(peers, -1, MS(4), AT(1000)); /* no head: nothing is learnt */
    ck_assert_int_eq(atomic_load(&state->response_ms), 210);
}
END_TEST

/* Who was slow is tried again: twice as fast with every fail_timeout. */
START_TEST(least_time_forgets)
{
    up_balancing_t balancing = { .method = UP_METHOD_LEAST_TIME };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);
    int i;

    slow_first(peers, 0);
    for (i = 1; i < 3; i++) {
        atomic_store(&peers->primary.peers[i]->state->checked, 1060);
    }
    ck_assert_int_eq(up_balancer_pick(unit_seek(peers), AT(1030))->index, 1);
    ck_assert_int_eq(up_balancer_pick(unit_seek(peers), AT(1066))->index, 0);
}
END_TEST

START_TEST(least_time_inflight)
{
    up_balancing_t balancing = { .method = UP_METHOD_LEAST_TIME,
                                 .last_byte = _i, .inflight = 1 };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);
    up_pick_t *hanging = unit_seek(peers);
    up_peer_t *first = up_balancer_pick(hanging, AT(1000));
    up_pick_t *pick;
    int i;

    ck_assert_int_eq(first->index, 0);
    ck_assert_int_eq(first->running, 1);
    for (i = 0; i < 6; i++) {
        ck_assert_ptr_ne(timed(peers, MS(50), MS(900), AT(1003)), first);
    }
    /* its head: 3 s; the body may take its time */
    up_balancer_head(hanging, first, MS(3000), AT(1003));
    ck_assert_int_eq(first->running, _i);
    ck_assert_int_eq(atomic_load(&first->state->header_ms), _i ? 0 : 3000);
    up_balancer_done(hanging, first, UP_OUTCOME_FAILED, NULL, AT(1004));
    for (i = 0; i < 3; i++) {
        ck_assert_int_eq(peers->primary.peers[i]->running, 0);
        ck_assert_int_eq(peers->primary.peers[i]->begun, 0);
    }
    /* nobody knows it as slow when it did not answer */
    ck_assert_int_eq(atomic_load(&first->state->response_ms), 0);
    pick = unit_seek(peers);
    up_balancer_done(pick, up_balancer_pick(pick, AT(1004)), UP_OUTCOME_NONE,
                     NULL, AT(1004));
}
END_TEST

START_TEST(peak_ewma)
{
    up_balancing_t balancing = { .method = UP_METHOD_PEAK_EWMA,
                                 .choices = 3, .decay = AT(10) };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);
    up_peerstate_t *state;
    up_peer_t *slow;
    int i;

    /* all three are tried, as nothing is known of them */
    slow = timed(peers, MS(500), MS(500), AT(1000));
    ck_assert_ptr_ne(timed(peers, MS(10), MS(10), AT(1000)), slow);
    ck_assert_ptr_ne(timed(peers, MS(10), MS(10), AT(1000)), slow);
    for (i = 0; i < 20; i++) {
        ck_assert_ptr_ne(timed(peers, MS(10), MS(10), AT(1001)), slow);
    }
    state = slow->state;
    ck_assert_int_eq(atomic_load(&state->ewma), MS(500));
    /* it is forgotten in time, as exp(-t / decay), while others are asked */
    ck_assert_ptr_ne(timed(peers, MS(10), MS(10), AT(1060)), slow);
    ck_assert_ptr_ne(timed(peers, MS(10), MS(10), AT(1060)), slow);
    ck_assert_ptr_eq(timed(peers, MS(20), MS(20), AT(1060)), slow);
    ck_assert_int_lt(atomic_load(&state->ewma), MS(22));
    /* and believed at once */
    atomic_store(&state->ewma, 1);
    ck_assert_ptr_eq(timed(peers, MS(700), MS(700), AT(1061)), slow);
    ck_assert_int_eq(atomic_load(&state->ewma), MS(700));
}
END_TEST

START_TEST(peak_ewma_failures)
{
    up_balancing_t balancing = { .method = UP_METHOD_PEAK_EWMA,
                                 .choices = 2, .decay = AT(10) };
    up_peers_t *peers = unit_balanced((unit_server_t[]){ { .port = 1 }, { 0 } },
                                      &balancing);
    up_peerstate_t *state = peers->primary.peers[0]->state;
    up_pick_t *pick;

    timed(peers, MS(100), MS(100), AT(1000));
    pick = unit_seek(peers);
    up_balancer_done(pick, up_balancer_pick(pick, AT(1000)),
                     UP_OUTCOME_FAILED, NULL, AT(1000) + MS(1));
    ck_assert_int_eq(atomic_load(&state->ewma), MS(100));
    pick = unit_seek(peers);
    up_balancer_done(pick, up_balancer_pick(pick, AT(1000)),
                     UP_OUTCOME_FAILED, NULL, AT(1002));
    ck_assert_int_eq(atomic_load(&state->ewma), MS(2000));
}
END_TEST

/* Busy servers are passed over as far as their weight says. */
START_TEST(peak_ewma_load)
{
    up_balancing_t balancing = { .method = UP_METHOD_PEAK_EWMA,
                                 .choices = 3, .decay = AT(10) };
    up_peers_t *peers = unit_balanced(unit_weighted, &balancing);
    int i;

    for (i = 0; i < 3; i++) {
        atomic_store(&peers->primary.peers[i]->state->ewma, MS(50));
        atomic_store(&peers->primary.peers[i]->state->ewma_at, AT(1000));
    }
    unit_busy(peers, 600);
    for (i = 0; i < 3; i++) {
        up_peer_t *peer = peers->primary.peers[i];

        ck_assert_int_le(abs(up_peer_in_use(peer)
                             - 100 * up_peer_weight(peer)), 3);
    }
}
END_TEST

Suite *unit_balancers_time(void)
{
    Suite *suite = suite_create("balancers by time");
    TCase *tc = unit_case(suite, "times");
    tcase_add_loop_test(tc, least_time, 0, 2);
    tcase_add_test(tc, least_time_means);
    tcase_add_test(tc, least_time_forgets);
    tcase_add_loop_test(tc, least_time_inflight, 0, 2);
    tcase_add_test(tc, peak_ewma);
    tcase_add_test(tc, peak_ewma_failures);
    tcase_add_test(tc, peak_ewma_load);
    return suite;
}
