/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Pools of backend connections, against listeners on the loopback interface:
 * what is kept, in which order it comes back, what is closed and when.
 */

#include "config/clock.h"
#include "t/unit/up_transport.h"
#include "transport/backend_pool.h"

#include <sys/socket.h>
#include <unistd.h>

static const up_poolkey_t plain;

/* A child with one group, whose servers listen. */
static apr_pool_t *child;
static up_group_t *group;
static int listeners[2];

static void prepare(int n)
{
    group = unit_listening_group(n, listeners);
}

static void start(void)
{
    child = unit_child();
}

static up_peer_t *peer_of(int i)
{
    return group->peers->primary.peers[i];
}

static up_conn_t *take(int i, const up_poolkey_t *key, int fresh)
{
    up_conn_t *conn = NULL;

    ck_assert_int_eq(up_pool_take(peer_of(i), key, fresh, &conn),
                     APR_SUCCESS);
    ck_assert_int_eq(conn->reused, conn->fd >= 0);
    conn->requests++;
    return conn;
}

static void connect_to(up_conn_t *conn, int i)
{
    ck_assert_int_eq(unit_connect(conn, peer_of(i)->addr), APR_SUCCESS);
}

/* A connection that was made for this, and the backend's end of it. */
static up_conn_t *fresh(int i, int *pother)
{
    up_conn_t *conn = take(i, &plain, 0);

    ck_assert_int_eq(conn->reused, 0);
    connect_to(conn, i);
    *pother = unit_accept(listeners[i]);
    return conn;
}

/* Is the other end closed, within a second or two? */
static int closed(int other)
{
    char c;

    return unit_readable(other, 3000) && recv(other, &c, 1, 0) == 0;
}

static int still_open(int other)
{
    return !unit_readable(other, 0);
}

START_TEST(comes_back)
{
    up_conn_t *conn;
    int other;
    int fd;

    prepare(1);
    start();
    conn = fresh(0, &other);
    fd = conn->fd;
    ck_assert_int_eq(up_pool_idle(group), 0);
    up_pool_give(conn);
    ck_assert_int_eq(up_pool_idle(group), 1);
    ck_assert(still_open(other));

    conn = take(0, &plain, 0);
    ck_assert_int_eq(conn->reused, 1);
    ck_assert_int_eq(conn->fd, fd);
    ck_assert_uint_eq(conn->requests, 2);
    ck_assert_int_eq(up_pool_idle(group), 0);
    up_pool_drop(conn);
    ck_assert(closed(other));
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);
}
END_TEST

START_TEST(last_in_first_out)
{
    up_conn_t *conns[3];
    int fds[3];
    int other;
    int i;

    prepare(1);
    start();
    for (i = 0; i < 3; i++) {
        conns[i] = fresh(0, &other);
        fds[i] = conns[i]->fd;
    }
    for (i = 0; i < 3; i++) {
        up_pool_give(conns[i]);
    }
    for (i = 2; i >= 0; i--) {
        ck_assert_int_eq(take(0, &plain, 0)->fd, fds[i]);
    }
}
END_TEST

START_TEST(peers_do_not_share)
{
    int other;

    prepare(2);
    start();
    up_pool_give(fresh(0, &other));
    ck_assert_int_eq(take(1, &plain, 0)->reused, 0);
    ck_assert_int_eq(take(0, &plain, 0)->reused, 1);
}
END_TEST

START_TEST(fresh_on_demand)
{
    up_conn_t *conns[2];
    up_conn_t *conn;
    int others[2];
    int i;

    prepare(1);
    start();
    for (i = 0; i < 2; i++) {
        conns[i] = fresh(0, &others[i]);
    }
    up_pool_give(conns[0]);
    up_pool_give(conns[1]);
    conn = take(0, &plain, 1);
    ck_assert_int_eq(conn->reused, 0);
    ck_assert_int_eq(conn->fd, -1);
    ck_assert_uint_eq(conn->requests, 1);
    ck_assert_int_eq(up_pool_idle(group), 1);
    ck_assert(closed(others[1]));
    ck_assert(still_open(others[0]));
    connect_to(conn, 0);
    up_pool_give(conn);
    ck_assert_int_eq(up_pool_idle(group), 2);
}
END_TEST

START_TEST(fresh_after_an_eviction)
{
    up_conn_t *conns[2];
    int other;

    prepare(2);
    group->keepalive = 1;
    start();
    conns[0] = fresh(0, &other);
    conns[1] = fresh(1, &other);
    up_pool_give(conns[0]);
    up_pool_give(conns[1]); /* peer 0 is left with an emptied slot */
    conns[0] = take(0, &plain, 1);
    ck_assert_int_eq(conns[0]->fd, -1);
    ck_assert_uint_eq(conns[0]->requests, 1);
    ck_assert_int_eq(up_pool_idle(group), 1);
}
END_TEST

START_TEST(closed_by_the_backend)
{
    up_conn_t *conn;
    int others[2];

    prepare(1);
    start();
    conn = fresh(0, &others[0]);
    up_pool_give(fresh(0, &others[1]));
    up_pool_give(conn);
    close(others[0]);
    usleep(10000);
    /* passed over at once; the older one still is good */
    conn = take(0, &plain, 0);
    ck_assert_int_eq(conn->reused, 1);
    ck_assert(still_open(others[1]));
    ck_assert_int_eq(up_pool_idle(group), 0);
}
END_TEST

START_TEST(unasked_data)
{
    up_conn_t *conn;
    int other;

    prepare(1);
    start();
    up_pool_give(fresh(0, &other));
    ck_assert_int_eq(write(other, "x", 1), 1);
    usleep(10000);
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);

    /* the same when it came before the connection was given */
    conn = fresh(0, &other);
    ck_assert_int_eq(write(other, "x", 1), 1);
    usleep(10000);
    up_pool_give(conn);
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);
}
END_TEST

START_TEST(not_connected_is_not_kept)
{
    int before;

    prepare(1);
    start();
    before = unit_open_files();
    up_pool_give(take(0, &plain, 0));
    up_pool_drop(take(0, &plain, 0));
    ck_assert_int_eq(up_pool_idle(group), 0);
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

START_TEST(requests_limit)
{
    up_conn_t *conn;
    int other;

    prepare(1);
    group->keepalive_requests = 3;
    start();
    up_pool_give(fresh(0, &other));
    up_pool_give(take(0, &plain, 0));
    conn = take(0, &plain, 0);
    ck_assert_uint_eq(conn->requests, 3);
    ck_assert(still_open(other));
    up_pool_give(conn);
    ck_assert(closed(other));
    ck_assert_int_eq(up_pool_idle(group), 0);
}
END_TEST

START_TEST(age_limit)
{
    up_conn_t *conn;
    int other;

    prepare(1);
    group->keepalive_time = apr_time_from_sec(5);
    start();
    conn = fresh(0, &other);
    conn->born -= apr_time_from_sec(4);
    up_pool_give(conn);
    conn = take(0, &plain, 0);
    ck_assert_int_eq(conn->reused, 1);
    conn->born -= apr_time_from_sec(2);
    up_pool_give(conn);
    ck_assert(closed(other));
}
END_TEST

START_TEST(idle_limit)
{
    int other;

    prepare(1);
    group->keepalive_timeout = apr_time_from_msec(50);
    start();
    /* taken in time, taken too late */
    up_pool_give(fresh(0, &other));
    up_pool_give(take(0, &plain, 0));
    usleep(60000);
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);
    ck_assert(closed(other));

    /* and nobody takes it: within the second that the sweep needs */
    up_pool_give(fresh(0, &other));
    ck_assert(closed(other));
    ck_assert_int_eq(up_pool_idle(group), 0);
}
END_TEST

START_TEST(backend_says_how_long)
{
    up_conn_t *conn;
    int other;

    prepare(1);
    start();
    conn = fresh(0, &other);
    conn->idle_hint = apr_time_from_sec(120);
    up_pool_give(conn); /* longer than ours: no matter */
    ck_assert_int_eq(conn->idle_until - conn->idle_since,
                     apr_time_from_sec(60));
    conn = take(0, &plain, 0);
    ck_assert_int_eq(conn->reused, 1);
    conn->idle_hint = apr_time_from_msec(50);
    up_pool_give(conn);
    usleep(60000);
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);
}
END_TEST

static void wait_for_idle(int count)
{
    int i;

    for (i = 0; up_pool_idle(group) > count && i < 300; i++) {
        usleep(10000);
    }
    ck_assert_int_eq(up_pool_idle(group), count);
}

/* More than the sweep looks at under one lock. */
START_TEST(closed_by_the_backend_while_nobody_looks)
{
    up_conn_t *conns[150];
    int others[COUNT(conns)];
    int i;

    prepare(1);
    group->keepalive = COUNT(conns);
    start();
    for (i = 0; i < COUNT(conns); i++) {
        conns[i] = fresh(0, &others[i]);
    }
    for (i = 0; i < COUNT(conns); i++) {
        up_pool_give(conns[i]);
    }
    close(others[0]);
    close(others[70]);
    close(others[COUNT(conns) - 1]);
    wait_for_idle(COUNT(conns) - 3);
    for (i = 1; i < COUNT(conns); i++) {
        close(others[i]);
    }
    wait_for_idle(0);
}
END_TEST

START_TEST(none_kept)
{
    int other;

    prepare(1);
    group->keepalive = 0;
    start();
    up_pool_give(fresh(0, &other));
    ck_assert(closed(other));
    ck_assert_int_eq(up_pool_idle(group), 0);
}
END_TEST

START_TEST(the_least_recently_used_makes_room)
{
    up_conn_t *a[2];
    up_conn_t *b;
    int others[3];
    int fd;

    prepare(2);
    group->keepalive = 2;
    start();
    a[0] = fresh(0, &others[0]);
    a[1] = fresh(0, &others[1]);
    b = fresh(1, &others[2]);
    fd = a[1]->fd;
    up_pool_give(a[0]);
    up_pool_give(a[1]);
    up_pool_give(b);
    /* the limit is the group's, not the peer's */
    ck_assert_int_eq(up_pool_idle(group), 2);
    ck_assert(closed(others[0]));
    ck_assert(still_open(others[1]));
    ck_assert(still_open(others[2]));
    ck_assert_int_eq(take(0, &plain, 0)->fd, fd);
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);
    ck_assert_int_eq(take(1, &plain, 0)->reused, 1);
}
END_TEST

START_TEST(stopping)
{
    up_conn_t *out;
    int others[2];

    prepare(1);
    start();
    out = fresh(0, &others[0]);
    up_pool_give(fresh(0, &others[1]));
    up_pool_stopping();
    /* at once, not at the next full second */
    ck_assert(unit_readable(others[1], 500));
    ck_assert(closed(others[1]));
    ck_assert(still_open(others[0]));
    up_pool_give(out);
    ck_assert_int_eq(up_pool_idle(group), 0);
    ck_assert(closed(others[0]));
    /* exchanges that are under way may still need one */
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);
}
END_TEST

START_TEST(ends_with_its_pool)
{
    up_poolkey_t key = { .bind = "127.0.0.2" };
    up_conn_t *out[2];
    int before;
    int others[3];

    prepare(1);
    before = unit_open_files();
    start();
    out[0] = fresh(0, &others[0]);
    out[1] = take(0, &key, 0);
    connect_to(out[1], 0);
    others[1] = unit_accept(listeners[0]);
    up_pool_give(fresh(0, &others[2]));

    /* what is out is closed as well, and giving it back comes too late */
    apr_pool_destroy(child);
    ck_assert(closed(others[0]));
    ck_assert(closed(others[1]));
    ck_assert(closed(others[2]));
    close(others[0]);
    close(others[1]);
    close(others[2]);
    ck_assert_int_eq(unit_open_files(), before);
    up_pool_drop(out[0]);
    up_pool_give(out[1]);
}
END_TEST

START_TEST(stops_quickly)
{
    apr_time_t before = up_clock_now();

    prepare(1);
    start();
    apr_pool_destroy(child);
    ck_assert_int_lt(up_clock_now() - before, apr_time_from_msec(900));
}
END_TEST

START_TEST(no_peers)
{
    group = unit_group((unit_server_t[]){ { 0 } });
    start();
    ck_assert_int_eq(up_pool_idle(group), 0);
    up_pool_stopping();
    apr_pool_destroy(child);
}
END_TEST

/* Emptied slots of the busier peer must not grow in number. */
START_TEST(emptied_slots_do_not_pile_up)
{
    up_conn_t *conns[40];
    int before;
    int round;
    int i;

    prepare(1);
    group->keepalive = 4;
    start();
    before = unit_open_files();
    for (round = 0; round < 10; round++) {
        for (i = 0; i < COUNT(conns); i++) {
            conns[i] = take(0, &plain, 0);
            if (!conns[i]->reused) {
                connect_to(conns[i], 0);
                unit_accept(listeners[0]);
            }
        }
        for (i = 0; i < COUNT(conns); i++) {
            up_pool_give(conns[i]);
        }
        ck_assert_int_eq(up_pool_idle(group), 4);
    }
    /* ours, without the other ends: 40 and then 36 new ones a round */
    ck_assert_int_eq(unit_open_files() - before - (40 + 9 * 36), 4);
    for (i = 0; i < 4; i++) {
        ck_assert_int_eq(take(0, &plain, 0)->reused, 1);
    }
    ck_assert_int_eq(take(0, &plain, 0)->reused, 0);
}
END_TEST

Suite *unit_pool_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *tc = unit_case(suite, "reuse");

    tcase_add_test(tc, comes_back);
    tcase_add_test(tc, last_in_first_out);
    tcase_add_test(tc, peers_do_not_share);
    tcase_add_test(tc, fresh_on_demand);
    tcase_add_test(tc, fresh_after_an_eviction);
    tcase_add_test(tc, closed_by_the_backend);
    tcase_add_test(tc, unasked_data);
    tcase_add_test(tc, not_connected_is_not_kept);

    tc = unit_case(suite, "limits");
    tcase_add_test(tc, requests_limit);
    tcase_add_test(tc, age_limit);
    tcase_add_test(tc, idle_limit);
    tcase_add_test(tc, backend_says_how_long);
    tcase_add_test(tc, closed_by_the_backend_while_nobody_looks);
    tcase_add_test(tc, none_kept);
    tcase_add_test(tc, the_least_recently_used_makes_room);
    tcase_add_test(tc, emptied_slots_do_not_pile_up);

    tc = unit_case(suite, "end");
    tcase_add_test(tc, stopping);
    tcase_add_test(tc, ends_with_its_pool);
    tcase_add_test(tc, stops_quickly);
    tcase_add_test(tc, no_peers);
    return suite;
}
