/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Balancing methods: nginx's golden choices, who is chosen with which weights
 * and loads, and what becomes of it when servers cannot be chosen.
 */

#include "apr_strings.h"
#include "peers/hash_ring.h"
#include "t/unit/balanced.h"

static const unit_server_t one_down[] = {
    { .port = 19181 }, { .port = 19182, .down = 1 }, { .port = 19183 },
    { 0 } };
static const unit_server_t one_full[] = {
    { .port = 19181 }, { .port = 19182, .max_conns = 1 }, { .port = 19183 },
    { 0 } };

static up_pick_t *begin_key(up_peers_t *peers, const char *key)
{
    up_text_t *text = apr_pcalloc(unit_pool, sizeof(*text));

    text->literal = key;
    peers->group->balancing->key = text;
    return unit_seek(peers);
}

/* Who answers the keys 1 to n. */
static const char *answers(up_peers_t *peers, int n)
{
    const char *all = "";
    int i;

    for (i = 1; i <= n; i++) {
        up_pick_t *pick = begin_key(peers, apr_itoa(unit_pool, i));

        all = apr_psprintf(unit_pool, "%s%s%d", all, i > 1 ? " " : "",
                           unit_answer(pick));
    }
    return all;
}

/* --- hashes -------------------------------------------------------------- */

typedef struct golden_t {
    up_method_e method;
    const unit_server_t *servers;
    const char *want;
} golden_t;

static const golden_t goldens[] = {
    { UP_METHOD_HASH, unit_equal, "2 3 2 1 2 1 1 3 3 1 3 1" },
    { UP_METHOD_HASH, unit_weighted, "2 3 2 1 1 1 2 2 3 2 2 2" },
    { UP_METHOD_KETAMA, unit_equal, "3 2 3 2 3 2 2 2 2 2 2 2" },
    { UP_METHOD_KETAMA, unit_weighted, "3 2 2 2 3 2 2 2 1 2 2 2" },
};

START_TEST(golden)
{
    up_balancing_t balancing = { .method = goldens[_i].method };
    up_peers_t *peers = unit_balanced(goldens[_i].servers, &balancing);

    ck_assert_str_eq(answers(peers, 12), goldens[_i].want);
    ck_assert_str_eq(answers(peers, 12), goldens[_i].want);
}
END_TEST

static request_rec *from(const char *ip)
{
    request_rec *r = apr_pcalloc(unit_pool, sizeof(*r));

    r->useragent_addr = ip[0] == '/' ? unit_unix_address(ip)
                                     : unit_address(ip, 1);
    return r;
}

static const struct {
    const char *ip;
    int want;
} clients[] = {
    { "10.0.0.1", 1 }, { "10.0.1.9", 2 }, { "192.0.2.77", 1 },
    { "198.51.100.3", 1 }, { "203.0.113.200", 1 }, { "8.8.8.8", 3 },
    { "127.0.0.1", 3 }, { "::ffff:8.8.8.8", 3 }, { "::ffff:10.0.1.200", 2 },
};

START_TEST(golden_ip_hash)
{
    up_balancing_t balancing = { .method = UP_METHOD_IP_HASH };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);

    ck_assert_int_eq(unit_answer(up_balancer_begin(unit_pool,
                                              from(clients[_i].ip), peers, 0)),
                     clients[_i].want);
}
END_TEST

START_TEST(ip_hash_of_others)
{
    up_balancing_t balancing = { .method = UP_METHOD_IP_HASH };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);
    int first = unit_answer(up_balancer_begin(
        unit_pool, from("2001:db8::1"), peers, 0));
    int differ = 0;
    int i;

    /* all of an IPv6 address counts */
    for (i = 2; i < 30; i++) {
        differ += first != unit_answer(up_balancer_begin(
                               unit_pool, from(apr_psprintf(
                                   unit_pool, "2001:db8::%x", i)), peers, 0));
    }
    ck_assert_int_gt(differ, 5);
    ck_assert_int_gt(unit_answer(up_balancer_begin(
                         unit_pool, from("/run/s"), peers, 0)), 0);
}
END_TEST

static const up_method_e hashes[] = { UP_METHOD_IP_HASH, UP_METHOD_HASH,
                                      UP_METHOD_KETAMA, UP_METHOD_RANDOM };

/* Whatever cannot be chosen: all others are, each once. */
START_TEST(every_peer_once)
{
    up_balancing_t balancing = { .method = hashes[_i / 3] };
    up_peers_t *peers = unit_balanced(_i % 3 == 0   ? unit_equal
                                      : _i % 3 == 1 ? one_down
                                                    : one_full,
                                      &balancing);
    int n = _i % 3 == 0 ? 3 : 2;
    int key;

    if (_i % 3 == 2) {
        up_peer_take_locked(peers->primary.peers[1], AT(1000));
    }
    for (key = 0; key < 20; key++) {
        up_pick_t *pick = begin_key(peers, apr_itoa(unit_pool, key));
        int seen = 0;
        int i;

        for (i = 0; i < n; i++) {
            up_peer_t *peer = up_balancer_pick(pick, AT(1000));

            ck_assert_ptr_nonnull(peer);
            seen |= 1 << peer->index;
            up_balancer_done(pick, peer, UP_OUTCOME_NEXT, NULL, AT(1000));
        }
        ck_assert_int_eq(seen, n == 3 ? 7 : 5);
        ck_assert_ptr_null(up_balancer_pick(pick, AT(1000)));
    }
}
END_TEST

START_TEST(no_key)
{
    up_balancing_t balancing = { .method = hashes[1 + _i] };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);
    int i;

    for (i = 0; i < 6; i++) {
        ck_assert_int_eq(unit_answer(begin_key(peers, i % 2 ? "" : NULL)),
                         i % 3 + 1);
    }
}
END_TEST

/* One of four servers goes: keys of others stay where they are. */
START_TEST(consistent)
{
    static const unit_server_t rows[] = {
        { .port = 1 }, { .port = 2 }, { .port = 3 }, { .port = 4 }, { 0 } };
    up_balancing_t balancing = { .method = UP_METHOD_KETAMA };
    up_peers_t *peers = unit_balanced(rows, &balancing);
    int before[400];
    int counts[5] = { 0 };
    int i;

    for (i = 0; i < 400; i++) {
        before[i] = unit_answer(begin_key(peers, apr_itoa(unit_pool, i)));
        counts[before[i]]++;
    }
    for (i = 1; i <= 4; i++) {
        ck_assert_int_gt(counts[i], 50);
    }
    atomic_store(&peers->primary.peers[1]->state->admin, UP_ADMIN_DOWN);
    for (i = 0; i < 400; i++) {
        int now = unit_answer(begin_key(peers, apr_itoa(unit_pool, i)));

        ck_assert_int_ne(now, 2);
        ck_assert(before[i] == 2 || now == before[i]);
    }
    /* a weight that is ordered makes another ring */
    atomic_store(&peers->primary.peers[1]->state->admin, UP_ADMIN_UP);
    atomic_store(&peers->primary.peers[1]->state->weight, 9);
    memset(counts, 0, sizeof(counts));
    for (i = 0; i < 400; i++) {
        counts[unit_answer(begin_key(peers, apr_itoa(unit_pool, i)))]++;
    }
    ck_assert_int_gt(counts[2], 250);
}
END_TEST

/* All ask for the same: no server has more than its share of one and a half,
 * and no more servers than needed are asked. */
START_TEST(bounded_load)
{
    static const unit_server_t rows[] = {
        { .port = 1 }, { .port = 2, .weight = 2 }, { .port = 3 }, { 0 } };
    up_balancing_t balancing = { .method = UP_METHOD_KETAMA, .balance = 150 };
    up_peers_t *peers = unit_balanced(rows, &balancing);
    up_peer_t *first = up_balancer_pick(begin_key(peers, "hot"), AT(1));
    int i;
    int k;

    for (i = 2; i <= 400; i++) {
        ck_assert_ptr_nonnull(up_balancer_pick(begin_key(peers, "hot"),
                                               AT(1)));
        for (k = 0; k < 3; k++) {
            up_peer_t *peer = peers->primary.peers[k];

            ck_assert_int_le(up_peer_in_use(peer),
                             i * 3 * up_peer_weight(peer) / 8 + 1);
        }
    }
    ck_assert_int_ge(up_peer_in_use(first),
                     400 * 3 * up_peer_weight(first) / 8 - 1);
}
END_TEST

START_TEST(ring)
{
    static const up_ringnode_t nodes[] = {
        { "a:1", 1 }, { "b", 2 }, { "a:1", 1 }, { "unix:/x:1", 1 },
        { "[::1]:80", 1 }, { "[::1]", 1 } };
    up_ring_t *made = up_ring_make(nodes, 6);
    apr_size_t i;

    /* what is written alike shares its points */
    ck_assert_uint_eq(made->owner[2], 0);
    ck_assert_uint_eq(made->owner[5], 5);
    ck_assert_uint_le(made->count, 160 * 6);
    ck_assert_uint_ge(made->count, 160 * 6 - 3);
    for (i = 1; i < made->count; i++) {
        ck_assert_uint_lt(made->points[i - 1].hash, made->points[i].hash);
        ck_assert_uint_ne(made->points[i].node, 2);
    }
    up_ring_free(made);
    made = up_ring_make(nodes, 0);
    ck_assert_uint_eq(made->count, 0);
    ck_assert_uint_eq(up_ring_find(made, "k", 1), 0);
    up_ring_free(made);
}
END_TEST

/* --- loads --------------------------------------------------------------- */

START_TEST(least_conn)
{
    up_balancing_t balancing = { .method = UP_METHOD_LEAST_CONN };
    up_peers_t *peers = unit_balanced(unit_weighted, &balancing);
    up_pick_t *pick = unit_seek(peers);
    up_peer_t *peer;

    /* 2, 3, 1: of each round as many as the weight */
    ck_assert_str_eq(unit_busy(peers, 6), "bacbab");
    ck_assert_int_eq(up_peer_in_use(peers->primary.peers[0]), 2);
    ck_assert_int_eq(up_peer_in_use(peers->primary.peers[1]), 3);
    peer = up_balancer_pick(pick, AT(1));
    up_balancer_done(pick, peer, UP_OUTCOME_NEXT, NULL, AT(1));
    ck_assert_ptr_ne(up_balancer_pick(pick, AT(1)), peer);
}
END_TEST

START_TEST(least_conn_takes_turns)
{
    up_balancing_t balancing = { .method = UP_METHOD_LEAST_CONN };
    up_peers_t *peers = unit_balanced(unit_equal, &balancing);
    int i;

    for (i = 0; i < 9; i++) {
        ck_assert_int_eq(unit_answer(unit_seek(peers)), i % 3 + 1);
    }
    up_peer_take_locked(peers->primary.peers[0], AT(1));
    for (i = 0; i < 8; i++) {
        ck_assert_int_ne(unit_answer(unit_seek(peers)), 1);
    }
}
END_TEST

static const up_method_e with_backup[] = {
    UP_METHOD_LEAST_CONN, UP_METHOD_LEAST_TIME, UP_METHOD_PEAK_EWMA };

START_TEST(backups)
{
    static const unit_server_t rows[] = {
        { .port = 1 }, { .port = 2, .backup = 1 },
        { .port = 3, .backup = 1 }, { 0 } };
    up_balancing_t balancing = { .method = with_backup[_i],
                                 .choices = 2, .decay = AT(10) };
    up_peers_t *peers = unit_balanced(rows, &balancing);
    up_pick_t *pick = unit_seek(peers);
    int i;

    for (i = 0; i < 3; i++) {
        up_peer_t *peer = up_balancer_pick(pick, AT(1));

        ck_assert_int_eq(peer->server->backup, i > 0);
        up_balancer_done(pick, peer, UP_OUTCOME_FAILED, NULL, AT(1));
    }
    ck_assert_ptr_null(up_balancer_pick(pick, AT(1)));
}
END_TEST

/* Ten thousand lots: within three in a hundred. */
START_TEST(random_weights)
{
    up_balancing_t balancing = { .method = UP_METHOD_RANDOM };
    up_peers_t *peers = unit_balanced(unit_weighted, &balancing);
    int counts[4] = { 0 };
    int i;

    for (i = 0; i < 9000; i++) {
        counts[unit_answer(unit_seek(peers))]++;
    }
    ck_assert_int_le(abs(counts[1] - 3000), 150);
    ck_assert_int_le(abs(counts[2] - 4500), 150);
    ck_assert_int_le(abs(counts[3] - 1500), 150);
}
END_TEST

START_TEST(random_two)
{
    up_balancing_t balancing = { .method = UP_METHOD_RANDOM, .two = 1 };
    up_peers_t *peers = unit_balanced(unit_weighted, &balancing);
    int i;

    unit_busy(peers, 600);
    /* about 200, 300, 100: far nearer than lots alone */
    for (i = 0; i < 3; i++) {
        up_peer_t *peer = peers->primary.peers[i];

        ck_assert_int_le(abs(up_peer_in_use(peer)
                             - 100 * up_peer_weight(peer)), 6);
    }
    /* the busiest is never chosen, as the other one is always less busy */
    for (i = 0; i < 50; i++) {
        up_peer_take_locked(peers->primary.peers[2], AT(1));
    }
    for (i = 0; i < 30; i++) {
        ck_assert_int_ne(unit_answer(unit_seek(peers)), 3);
    }
}
END_TEST

/* --- who sticks to a server ---------------------------------------------- */

static const unit_server_t routes[] = {
    { .port = 1, .route = "a", .weight = 2 },
    { .port = 2, .route = "b", .weight = 2, .max_conns = 1 },
    { .port = 3, .route = "c", .drain = 1 },
    { .port = 4, .route = "d", .down = 1 },
    { .port = 5, .route = "e", .backup = 1 }, { 0 } };

static int stick(up_peers_t *peers, const char *id)
{
    up_pick_t *pick = unit_seek(peers);

    pick->stick = id;
    return unit_answer(pick);
}

static const up_method_e all_methods[] = {
    UP_METHOD_ROUND_ROBIN, UP_METHOD_LEAST_CONN, UP_METHOD_LEAST_TIME,
    UP_METHOD_PEAK_EWMA, UP_METHOD_RANDOM, UP_METHOD_HASH,
    UP_METHOD_IP_HASH, UP_METHOD_KETAMA };

START_TEST(sticks)
{
    up_text_t key = { .literal = "key" };
    up_balancing_t balancing = { .method = all_methods[_i], .key = &key,
                                 .choices = 2, .decay = AT(10) };
    up_peers_t *peers = unit_balanced(routes, &balancing);
    up_pick_t *pick = unit_seek(peers);
    int i;

    /* drain counts as little as down where tries are counted */
    ck_assert_int_eq(pick->tries, 3);
    for (i = 0; i < 9; i++) {
        ck_assert_int_eq(stick(peers, "b"), 2);
        ck_assert_int_eq(stick(peers, "c"), 3);
        ck_assert_int_le(stick(peers, "d"), 2);
        ck_assert_int_le(stick(peers, "e"), 2); /* not while it is backup */
        ck_assert_int_le(stick(peers, ""), 2);
        ck_assert_int_le(unit_answer(unit_seek(peers)), 2);
    }
    /* full, and failed */
    up_peer_take_locked(peers->primary.peers[1], AT(1000));
    ck_assert_int_eq(stick(peers, "b"), 1);
    up_peer_take_locked(peers->primary.peers[2], AT(1000));
    up_peer_give(peers, peers->primary.peers[2], UP_OUTCOME_FAILED, AT(1000));
    ck_assert_int_eq(stick(peers, "c"), 1);
}
END_TEST

/* Once a request, and then the backup of that name. */
START_TEST(sticks_once)
{
    up_peers_t *peers = unit_balanced(routes, &(up_balancing_t){ 0 });
    up_pick_t *pick = unit_seek(peers);
    int i;

    pick->stick = "e";
    for (i = 0; i < 3; i++) {
        up_peer_t *peer = up_balancer_pick(pick, AT(1));

        ck_assert_int_eq(peer->server->backup, i == 2);
        up_balancer_done(pick, peer, UP_OUTCOME_NEXT, NULL, AT(1));
    }
    ck_assert_ptr_null(up_balancer_pick(pick, AT(1)));
}
END_TEST

/* Requests that stick count in the round robin, but not without end. */
START_TEST(sticks_are_counted)
{
    static const unit_server_t rows[] = {
        { .port = 1, .route = "a" }, { .port = 2, .route = "b" }, { 0 } };
    up_peers_t *peers = unit_balanced(rows, &(up_balancing_t){ 0 });
    int i;

    for (i = 0; i < 50; i++) {
        ck_assert_int_eq(stick(peers, "a"), 1);
    }
    ck_assert_int_eq(unit_answer(unit_seek(peers)), 2);
    ck_assert_int_ge(peers->primary.peers[0]->current, -3);
    for (i = 0; i < 3; i++) {
        unit_answer(unit_seek(peers));
    }
    ck_assert_int_ne(unit_answer(unit_seek(peers)),
                     unit_answer(unit_seek(peers)));
}
END_TEST

/* nginx's ids. */
START_TEST(ids)
{
    up_peers_t *peers = unit_balanced(
        (unit_server_t[]){ { .port = 19199 }, { 0 } },
        &(up_balancing_t){ 0 });

    ck_assert_str_eq(peers->primary.peers[0]->route,
                     "06d52dad4a35edf81e6af981d4b865bb");
}
END_TEST

Suite *unit_balancers(void)
{
    Suite *suite = suite_create("balancers");
    TCase *tc = unit_case(suite, "hashes");

    tcase_add_loop_test(tc, golden, 0, 4);
    tcase_add_loop_test(tc, golden_ip_hash, 0, 9);
    tcase_add_test(tc, ip_hash_of_others);
    tcase_add_loop_test(tc, every_peer_once, 0, 12);
    tcase_add_loop_test(tc, no_key, 0, 2);
    tcase_add_test(tc, consistent);
    tcase_add_test(tc, bounded_load);
    tcase_add_test(tc, ring);

    tc = unit_case(suite, "loads");
    tcase_add_test(tc, least_conn);
    tcase_add_test(tc, least_conn_takes_turns);
    tcase_add_loop_test(tc, backups, 0, 3);
    tcase_add_test(tc, random_weights);
    tcase_add_test(tc, random_two);

    tc = unit_case(suite, "sticky");
    tcase_add_loop_test(tc, sticks, 0, 8);
    tcase_add_test(tc, sticks_once);
    tcase_add_test(tc, sticks_are_counted);
    tcase_add_test(tc, ids);
    return suite;
}
