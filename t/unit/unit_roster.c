/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Lists of peers that change while they are used: who stays, who goes, and
 * when; and the connections of those that go.
 */

#include <unistd.h>

#include "config/clock.h"
#include "peers/roster.h"
#include "t/unit/up_transport.h"
#include "transport/backend_pool.h"

static const up_poolkey_t plain;

/* Entries of the group's first server. */
static int set(up_group_t *group, const char *const *ips, int n, int backups)
{
    up_entry_t entries[8];
    int i;

    for (i = 0; i < n; i++) {
        entries[i].server = &APR_ARRAY_IDX(group->servers, 0, up_server_t);
        entries[i].addr = unit_address(ips[i], 80);
        entries[i].weight = 1 + i;
        entries[i].backup = i >= n - backups;
    }
    return up_roster_set(group->peers, entries, n);
}

static up_group_t *start(void)
{
    up_group_t *group = unit_group((unit_server_t[]){ { .port = 80 },
                                                      { 0 } });

    unit_child();
    return group;
}

static up_peer_t *at(up_group_t *group, int i)
{
    return group->peers->primary.peers[i];
}

START_TEST(who_stays_is_the_same)
{
    up_group_t *group = start();
    up_peers_t *peers = group->peers;
    up_peer_t *first = at(group, 0);
    unsigned int version = peers->primary.version;

    ck_assert_int_eq(peers->single, 1);
    ck_assert_int_eq(set(group, (const char *[]){ "127.0.0.1" }, 1, 0), 0);
    ck_assert_int_eq(peers->primary.version, version);
    ck_assert_int_eq(set(group, (const char *[]){ "127.0.0.2", "127.0.0.1" },
                         2, 0), 1);
    ck_assert(peers->primary.version != version);
    ck_assert_int_eq(peers->primary.count, 2);
    ck_assert_int_eq(peers->single, 0);
    ck_assert_ptr_eq(at(group, 1), first);
    ck_assert_int_eq(first->index, 1);
    ck_assert_int_eq(up_peer_weight(first), 2);
    ck_assert_str_eq(at(group, 0)->name, "127.0.0.2:80");
    ck_assert(at(group, 0)->serial != first->serial);
    ck_assert_int_eq(set(group, (const char *[]){ "127.0.0.2", "::1" }, 2, 1),
                     2);
    ck_assert_int_eq(peers->primary.count, 1);
    ck_assert_int_eq(peers->backup.count, 1);
    ck_assert_str_eq(peers->backup.peers[0]->name, "[::1]:80");
    ck_assert_int_eq(set(group, NULL, 0, 0), 2);
    ck_assert_int_eq(peers->primary.count + peers->backup.count, 0);
    up_roster_reap(peers);
    ck_assert_ptr_null(peers->gone);
}
END_TEST

START_TEST(who_is_held_is_there)
{
    up_group_t *group = start();
    up_peers_t *peers = group->peers;
    up_pick_t *pick = up_balancer_begin(unit_pool, NULL, peers, 0);
    apr_time_t now = up_clock_now();
    up_peer_t *peer;

    set(group, (const char *[]){ "127.0.0.5" }, 1, 0);
    peer = up_balancer_pick(pick, now);
    ck_assert_str_eq(peer->name, "127.0.0.5:80");
    set(group, (const char *[]){ "127.0.0.6" }, 1, 0);
    up_roster_reap(peers);
    ck_assert_ptr_eq(peers->gone, peer);
    ck_assert_str_eq(peer->name, "127.0.0.5:80");
    /* the next try of the same request sees the new list */
    up_balancer_recount(pick, 0);
    ck_assert_str_eq(up_balancer_pick(pick, now)->name, "127.0.0.6:80");
    up_balancer_done(pick, peer, UP_OUTCOME_FAILED, NULL, now);
    up_roster_reap(peers);
    ck_assert_ptr_null(peers->gone);
}
END_TEST

/* A taken connection and an idle one of a peer that goes. */
START_TEST(connections_go_with_it)
{
    int listener;
    up_group_t *group = unit_listening_group(1, &listener);
    int before = unit_open_files();
    up_pick_t *pick;
    up_peer_t *peer;
    up_conn_t *idle, *busy;
    int ends[2];

    unit_child();
    pick = up_balancer_begin(unit_pool, NULL, group->peers, 0);
    peer = up_balancer_pick(pick, up_clock_now());
    up_pool_take(peer, &plain, 0, &idle);
    up_pool_take(peer, &plain, 0, &busy);
    ck_assert_int_eq(unit_connect(idle, peer->addr), APR_SUCCESS);
    ck_assert_int_eq(unit_connect(busy, peer->addr), APR_SUCCESS);
    ends[0] = unit_accept(listener);
    ends[1] = unit_accept(listener);
    up_pool_give(idle);
    ck_assert_int_eq(up_pool_idle(group), 1);
    set(group, (const char *[]){ "127.0.0.9" }, 1, 0);
    ck_assert_int_eq(up_pool_idle(group), 0);
    ck_assert_int_eq(unit_readable(ends[0], 1000), 1);
    ck_assert_int_eq(unit_readable(ends[1], 0), 0);
    up_roster_reap(group->peers);
    up_pool_give(busy);
    ck_assert_int_eq(up_pool_idle(group), 0);
    ck_assert_int_eq(unit_readable(ends[1], 1000), 1);
    up_balancer_done(pick, peer, UP_OUTCOME_OK, NULL, up_clock_now());
    up_roster_reap(group->peers);
    ck_assert_ptr_null(group->peers->gone);
    close(ends[0]);
    close(ends[1]);
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

START_TEST(a_group_that_closes)
{
    up_group_t *group = start();
    up_conn_t *conn;

    up_pool_take(at(group, 0), &plain, 0, &conn);
    up_pool_drop(conn);
    up_roster_close(group->peers);
    ck_assert_int_eq(group->peers->primary.count, 0);
}
END_TEST

Suite *unit_roster(void)
{
    Suite *suite = suite_create("roster");
    TCase *tcase = unit_case(suite, "roster");

    tcase_add_test(tcase, who_stays_is_the_same);
    tcase_add_test(tcase, who_is_held_is_there);
    tcase_add_test(tcase, connections_go_with_it);
    tcase_add_test(tcase, a_group_that_closes);
    return suite;
}
