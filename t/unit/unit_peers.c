/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Peers and round robin: nginx's golden sequences, who is chosen when, and
 * what failures do to it.
 */

#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "t/unit/up_transport.h"

#define AT(seconds) apr_time_from_sec(seconds)

static up_peers_t *start(up_group_t *group)
{
    ck_assert_int_eq(up_peers_child_init(unit_pool), APR_SUCCESS);
    return group->peers;
}

static up_pick_t *begin(up_peers_t *peers)
{
    return up_balancer_begin(unit_pool, NULL, peers, 0);
}

/* One request that is answered by the first peer. "-": there is none. */
static const char *one(up_peers_t *peers, apr_time_t now)
{
    up_pick_t *pick = begin(peers);
    up_peer_t *peer = up_balancer_pick(pick, now);

    if (peer) {
        up_balancer_done(pick, peer, UP_OUTCOME_OK, NULL, now);
    }
    return peer ? peer->name : "-";
}

/* The letters of the peers (their ports from 1 on) of n requests. */
static const char *sequence(up_peers_t *peers, int n)
{
    char *letters = apr_pcalloc(unit_pool, (apr_size_t)n + 1);
    int i;

    for (i = 0; i < n; i++) {
        letters[i] = (char)('a' - 1 + one(peers, AT(1000))[10] - '0');
    }
    return letters;
}

START_TEST(golden)
{
    static const unit_server_t rows[][4] = {
        { { .port = 1, .weight = 5 }, { .port = 2 }, { .port = 3 }, { 0 } },
        { { .port = 1, .weight = 4 }, { .port = 2, .weight = 3 },
          { .port = 3, .weight = 2 }, { 0 } },
        { { .port = 1 }, { .port = 2 }, { .port = 3 }, { 0 } },
        { { .port = 1 }, { 0 } },
    };
    static const char *const want[] = {
        "aabacaaaabacaa", "abcabacbaabcabacba", "abcabcabc", "aaa",
    };

    up_peers_t *peers = start(unit_group(rows[_i]));

    ck_assert_str_eq(sequence(peers, (int)strlen(want[_i])), want[_i]);
}
END_TEST

START_TEST(names)
{
    up_group_t *group = unit_group((unit_server_t[]){ { .port = 80 },
                                                      { 0 } });
    up_server_t *server = unit_add_server(group, unit_address("::1", 81));
    up_peers_t *peers;

    /* a name with two addresses is two peers */
    server->addrs->next = unit_address("10.0.0.1", 82);
    unit_add_server(group, NULL); /* did not resolve */
    server = unit_add_server(group, unit_unix_address("/run/app.sock"));
    server->unix_path = "/run/app.sock";

    peers = start(group);
    ck_assert_int_eq(peers->primary.count, 4);
    ck_assert_int_eq(peers->primary.usable, 4);
    ck_assert_int_eq(peers->backup.count, 0);
    ck_assert_str_eq(peers->primary.peers[0]->name, "127.0.0.1:80");
    ck_assert_str_eq(peers->primary.peers[1]->name, "[::1]:81");
    ck_assert_str_eq(peers->primary.peers[2]->name, "10.0.0.1:82");
    ck_assert_str_eq(peers->primary.peers[3]->name, "unix:/run/app.sock");
    ck_assert_ptr_eq(peers->primary.peers[1]->server,
                     peers->primary.peers[2]->server);
    ck_assert_int_eq(peers->single, 0);
}
END_TEST

START_TEST(nothing_resolved)
{
    up_group_t *group = unit_group((unit_server_t[]){ { 0 } });
    up_peers_t *peers;

    unit_add_server(group, NULL);
    peers = start(group);
    ck_assert_int_eq(begin(peers)->tries, 0);
    ck_assert_str_eq(one(peers, AT(1)), "-");
}
END_TEST

START_TEST(each_peer_once)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1, .weight = 9 }, { .port = 2 }, { .port = 3 }, { 0 } }));
    up_pick_t *pick = begin(peers);
    up_peer_t *peer;
    int i;

    for (i = 0; i < 3; i++) {
        ck_assert_int_eq(pick->tries, 3 - i);
        ck_assert(up_balancer_another(pick, AT(1)));
        peer = up_balancer_pick(pick, AT(1));
        ck_assert_int_eq(peer->index, i);
        ck_assert_int_eq(peer->state->in_use, 1);
        up_balancer_done(pick, peer, UP_OUTCOME_NEXT, NULL, AT(1));
        ck_assert_int_eq(peer->state->in_use, 0);
    }
    ck_assert_int_eq(pick->tries, 0);
    ck_assert(!up_balancer_another(pick, AT(1)));
    ck_assert_ptr_null(up_balancer_pick(pick, AT(1)));
    /* another request begins anew */
    ck_assert_ptr_nonnull(up_balancer_pick(begin(peers), AT(1)));
}
END_TEST

START_TEST(backups_come_last_and_stay)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1 }, { .port = 2 }, { .port = 3, .backup = 1 },
        { .port = 4, .backup = 1, .weight = 3 }, { 0 } }));
    up_pick_t *pick = begin(peers);

    ck_assert_int_eq(pick->tries, 4);
    ck_assert_str_eq(up_balancer_pick(pick, AT(1))->name, "127.0.0.1:1");
    ck_assert_str_eq(up_balancer_pick(pick, AT(1))->name, "127.0.0.1:2");
    ck_assert(up_balancer_another(pick, AT(1)));
    ck_assert_int_eq(pick->on_backup, 0);
    /* the same places in the list as those tried before */
    ck_assert_str_eq(up_balancer_pick(pick, AT(1))->name, "127.0.0.1:4");
    ck_assert_int_eq(pick->on_backup, 1);
    ck_assert(up_balancer_another(pick, AT(1)));
    ck_assert_str_eq(up_balancer_pick(pick, AT(1))->name, "127.0.0.1:3");
    ck_assert(!up_balancer_another(pick, AT(1)));
    ck_assert_ptr_null(up_balancer_pick(pick, AT(1)));
    /* others still get the primaries, in their order */
    ck_assert_str_eq(one(peers, AT(1)), "127.0.0.1:2");
    ck_assert_str_eq(one(peers, AT(1)), "127.0.0.1:1");
}
END_TEST

START_TEST(one_primary_with_backup_is_not_single)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1 }, { .port = 2, .backup = 1 }, { 0 } }));
    up_pick_t *pick = begin(peers);

    ck_assert_int_eq(peers->single, 0);
    ck_assert_int_eq(up_balancer_done(pick, up_balancer_pick(pick, AT(50)),
                                      UP_OUTCOME_FAILED, NULL, AT(50)), 1);
    ck_assert_int_eq(pick->tries, 1);
    ck_assert_str_eq(one(peers, AT(50)), "127.0.0.1:2");
    ck_assert_str_eq(one(peers, AT(61)), "127.0.0.1:1");
}
END_TEST

START_TEST(down_is_never_chosen)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1, .down = 1, .weight = 9 }, { .port = 2 },
        { .port = 3, .down = 1, .backup = 1 }, { 0 } }));
    up_pick_t *pick = begin(peers);

    ck_assert_int_eq(pick->tries, 1);
    ck_assert_str_eq(sequence(peers, 4), "bbbb");
    ck_assert_ptr_nonnull(up_balancer_pick(pick, AT(1)));
    ck_assert(!up_balancer_another(pick, AT(1)));
    ck_assert_ptr_null(up_balancer_pick(pick, AT(1)));
}
END_TEST

START_TEST(down_single)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1, .down = 1 }, { 0 } }));

    ck_assert_int_eq(begin(peers)->tries, 0);
    ck_assert_str_eq(one(peers, AT(1)), "-");
}
END_TEST

START_TEST(max_conns)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1, .weight = 9, .max_conns = 2 }, { .port = 2 }, { 0 } }));
    up_pick_t *first = begin(peers);
    up_peer_t *peer = up_balancer_pick(first, AT(1));

    ck_assert_int_eq(peer->index, 0);
    ck_assert_int_eq(up_balancer_pick(begin(peers), AT(1))->index, 0);
    ck_assert_str_eq(sequence(peers, 3), "bbb");
    up_balancer_done(first, peer, UP_OUTCOME_OK, NULL, AT(1));
    ck_assert_str_eq(sequence(peers, 3), "aaa");
}
END_TEST

START_TEST(max_conns_single)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1, .max_conns = 1 }, { 0 } }));
    up_pick_t *first = begin(peers);
    up_peer_t *peer = up_balancer_pick(first, AT(1));

    ck_assert_str_eq(one(peers, AT(1)), "-");
    up_balancer_done(first, peer, UP_OUTCOME_OK, NULL, AT(1));
    ck_assert_str_eq(one(peers, AT(1)), "127.0.0.1:1");
}
END_TEST

static int failed(up_peers_t *peers, up_peer_t *peer, apr_time_t now)
{
    up_peer_take_locked(peer, now);
    return up_peer_give(peers, peer, UP_OUTCOME_FAILED, now);
}

static up_peers_t *two(int max_fails, int weight)
{
    return start(unit_group((unit_server_t[]){
        { .port = 1, .max_fails = max_fails, .weight = weight },
        { .port = 2 }, { 0 } }));
}

START_TEST(rests_for_fail_timeout)
{
    up_peers_t *peers = two(1, 1);
    up_peer_t *peer = peers->primary.peers[0];
    up_pick_t *pick;

    ck_assert_int_eq(failed(peers, peer, AT(100) + 999999), 1);
    ck_assert(!up_peer_usable_locked(peer, AT(101)));
    /* whole seconds, and more than fail_timeout */
    ck_assert(!up_peer_usable_locked(peer, AT(110) + 999999));
    ck_assert(up_peer_usable_locked(peer, AT(111)));

    /* one request a window goes through */
    pick = begin(peers);
    while (up_balancer_pick(pick, AT(111)) != peer) {
        ck_assert(up_balancer_another(pick, AT(111)));
    }
    ck_assert(!up_peer_usable_locked(peer, AT(111)));
    ck_assert(!up_peer_usable_locked(peer, AT(121)));
    ck_assert(up_peer_usable_locked(peer, AT(122)));
    /* its success clears the failures */
    up_balancer_done(pick, peer, UP_OUTCOME_OK, NULL, AT(112));
    ck_assert_int_eq(peer->state->fails, 0);
    ck_assert(up_peer_usable_locked(peer, AT(112)));
}
END_TEST

START_TEST(probe_that_fails)
{
    up_peers_t *peers = two(1, 1);
    up_peer_t *peer = peers->primary.peers[0];

    ck_assert_int_eq(failed(peers, peer, AT(100)), 1);
    ck_assert_int_eq(failed(peers, peer, AT(111)), 1);
    ck_assert(!up_peer_usable_locked(peer, AT(121)));
    ck_assert(up_peer_usable_locked(peer, AT(122)));
}
END_TEST

START_TEST(failures_within_the_window)
{
    up_peers_t *peers = two(2, 1);
    up_peer_t *peer = peers->primary.peers[0];

    ck_assert_int_eq(failed(peers, peer, AT(100)), 0);
    ck_assert(up_peer_usable_locked(peer, AT(100)));
    /* chosen in the same window: a success forgives nothing */
    up_peer_take_locked(peer, AT(105));
    up_peer_give(peers, peer, UP_OUTCOME_OK, AT(105));
    ck_assert_int_eq(peer->state->fails, 1);
    /* chosen in a new window: it does, as does an answer that was refused */
    up_peer_take_locked(peer, AT(111));
    up_peer_give(peers, peer, UP_OUTCOME_NEXT, AT(111));
    ck_assert_int_eq(peer->state->fails, 0);
    ck_assert_int_eq(failed(peers, peer, AT(112)), 0);
    ck_assert_int_eq(failed(peers, peer, AT(113)), 1);
}
END_TEST

START_TEST(max_fails_zero)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1, .no_max_fails = 1, .weight = 2 }, { .port = 2 },
        { 0 } }));
    up_peer_t *peer = peers->primary.peers[0];
    int i;

    for (i = 0; i < 20; i++) {
        ck_assert_int_eq(failed(peers, peer, AT(100)), 0);
        ck_assert(up_peer_usable_locked(peer, AT(100)));
    }
    ck_assert_int_eq(peer->effective, 2);
}
END_TEST

START_TEST(effective_weight)
{
    up_peers_t *peers = two(3, 10);
    up_peer_t *peer = peers->primary.peers[0];

    failed(peers, peer, AT(100));
    ck_assert_int_eq(peer->effective, 7);
    failed(peers, peer, AT(100));
    failed(peers, peer, AT(100));
    ck_assert_int_eq(peer->effective, 1);
    failed(peers, peer, AT(100));
    ck_assert_int_eq(peer->effective, 0);
    /* resting servers are passed over and do not recover */
    one(peers, AT(101));
    ck_assert_int_eq(peer->effective, 0);
    /* one a choice comes back, whoever is chosen */
    one(peers, AT(111));
    ck_assert_int_eq(peer->effective, 1);
}
END_TEST

START_TEST(single_is_never_taken_out)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){ { .port = 1 },
                                                            { 0 } }));
    up_peer_t *peer = peers->primary.peers[0];
    up_pick_t *pick;
    int i;

    ck_assert_int_eq(peers->single, 1);
    for (i = 0; i < 3; i++) {
        pick = begin(peers);
        ck_assert_int_eq(pick->tries, 1);
        ck_assert_ptr_eq(up_balancer_pick(pick, AT(100)), peer);
        ck_assert_int_eq(up_balancer_done(pick, peer, UP_OUTCOME_FAILED, NULL,
                                          AT(100)), 0);
        ck_assert_int_eq(pick->tries, 0);
        ck_assert_int_eq(peer->state->fails, 0);
        ck_assert_int_eq(peer->effective, 1);
        ck_assert_int_eq(peer->state->in_use, 0);
    }
}
END_TEST

START_TEST(all_resting)
{
    up_peers_t *peers = two(1, 1);
    up_pick_t *pick = begin(peers);

    failed(peers, peers->primary.peers[0], AT(100));
    failed(peers, peers->primary.peers[1], AT(100));
    /* the tries are counted without regard to failures, as nginx does */
    ck_assert_int_eq(pick->tries, 2);
    ck_assert(!up_balancer_another(pick, AT(110)));
    ck_assert_ptr_null(up_balancer_pick(pick, AT(110)));
    ck_assert_str_eq(one(peers, AT(111)), "127.0.0.1:1");
}
END_TEST

START_TEST(capped_tries)
{
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1 }, { .port = 2 }, { .port = 3, .backup = 1 }, { 0 } }));

    ck_assert_int_eq(up_balancer_begin(unit_pool, NULL, peers, 0)->tries, 3);
    ck_assert_int_eq(up_balancer_begin(unit_pool, NULL, peers, 2)->tries, 2);
    ck_assert_int_eq(up_balancer_begin(unit_pool, NULL, peers, 9)->tries, 3);
}
END_TEST

/* --- many threads -------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 3000

typedef struct worker_t {
    up_peers_t *peers;
    int picked[3];
} worker_t;

static void *APR_THREAD_FUNC work(apr_thread_t *thread, void *data)
{
    worker_t *worker = data;
    apr_pool_t *p;
    up_pick_t *pick;
    up_peer_t *peer;
    int i;

    (void)thread;
    apr_pool_create(&p, NULL);
    for (i = 0; i < ROUNDS; i++) {
        pick = up_balancer_begin(p, NULL, worker->peers, 0);
        peer = up_balancer_pick(pick, AT(1));
        worker->picked[peer->index]++;
        up_balancer_done(pick, peer, UP_OUTCOME_OK, NULL, AT(1));
        apr_pool_clear(p);
    }
    apr_pool_destroy(p);
    return NULL;
}

START_TEST(distribution)
{
    worker_t workers[THREADS] = { { 0 } };
    apr_thread_t *threads[THREADS];
    up_peers_t *peers = start(unit_group((unit_server_t[]){
        { .port = 1, .weight = 3 }, { .port = 2, .weight = 2 },
        { .port = 3 }, { 0 } }));
    int sum[3] = { 0 };
    apr_status_t rv;
    int i;
    int k;

    for (i = 0; i < THREADS; i++) {
        workers[i].peers = peers;
        ck_assert_int_eq(apr_thread_create(&threads[i], NULL, work,
                                           &workers[i], unit_pool),
                         APR_SUCCESS);
    }
    for (i = 0; i < THREADS; i++) {
        apr_thread_join(&rv, threads[i]);
        for (k = 0; k < 3; k++) {
            sum[k] += workers[i].picked[k];
        }
    }
    /* exact: the sequence is the same whoever takes the next of it */
    ck_assert_int_eq(sum[0], THREADS * ROUNDS / 6 * 3);
    ck_assert_int_eq(sum[1], THREADS * ROUNDS / 6 * 2);
    ck_assert_int_eq(sum[2], THREADS * ROUNDS / 6);
    for (k = 0; k < 3; k++) {
        ck_assert_int_eq(peers->primary.peers[k]->state->in_use, 0);
    }
}
END_TEST

Suite *unit_peers(void)
{
    Suite *suite = suite_create("peers");
    TCase *tc = unit_case(suite, "round robin");

    tcase_add_loop_test(tc, golden, 0, 4);
    tcase_add_test(tc, names);
    tcase_add_test(tc, nothing_resolved);
    tcase_add_test(tc, each_peer_once);
    tcase_add_test(tc, backups_come_last_and_stay);
    tcase_add_test(tc, one_primary_with_backup_is_not_single);
    tcase_add_test(tc, down_is_never_chosen);
    tcase_add_test(tc, down_single);
    tcase_add_test(tc, max_conns);
    tcase_add_test(tc, max_conns_single);
    tcase_add_test(tc, capped_tries);
    tcase_add_test(tc, distribution);

    tc = unit_case(suite, "failures");
    tcase_add_test(tc, rests_for_fail_timeout);
    tcase_add_test(tc, probe_that_fails);
    tcase_add_test(tc, failures_within_the_window);
    tcase_add_test(tc, max_fails_zero);
    tcase_add_test(tc, effective_weight);
    tcase_add_test(tc, single_is_never_taken_out);
    tcase_add_test(tc, all_resting);
    return suite;
}
