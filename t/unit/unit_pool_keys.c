/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Keys of pooled connections: they are kept apart, however many there are,
 * and leave nothing behind.
 */

#include "apr_strings.h"
#include "t/unit/up_transport.h"
#include "transport/backend_pool.h"
#include "transport/backend_shelf.h"

#include <unistd.h>

static up_group_t *group;
static int listener;

static void prepare(int keepalive)
{
    group = unit_listening_group(1, &listener);
    group->keepalive = keepalive;
    unit_child();
}

static up_peer_t *peer(void)
{
    return group->peers->primary.peers[0];
}

static up_conn_t *take(const up_poolkey_t *key)
{
    up_conn_t *conn = NULL;

    ck_assert_int_eq(up_pool_take(peer(), key, 0, &conn), APR_SUCCESS);
    return conn;
}

/* A new connection, given back at once; the backend's end. */
static int keep(const up_poolkey_t *key, int *pfd)
{
    up_conn_t *conn = take(key);

    ck_assert_int_eq(conn->reused, 0);
    ck_assert_int_eq(unit_connect(conn, peer()->addr), APR_SUCCESS);
    conn->requests++;
    *pfd = conn->fd;
    up_pool_give(conn);
    return unit_accept(listener);
}

/* More keys than the hash has buckets. */
START_TEST(apart)
{
    static const int places[4];
    up_poolkey_t keys[200] = { { 0 } };
    int fds[COUNT(keys)];
    int i;

    prepare(COUNT(keys));
    for (i = 0; i < COUNT(keys); i++) {
        keys[i].location = i % 4 ? &places[i % 4] : NULL;
        keys[i].bind = i < 4 ? NULL
                             : apr_psprintf(unit_pool, "127.0.0.%d", i / 4);
        keep(&keys[i], &fds[i]);
    }
    ck_assert_int_eq(up_pool_idle(group), COUNT(keys));
    for (i = 1; i < COUNT(keys); i++) {
        ck_assert_int_eq(take(&keys[i])->fd, fds[i]);
    }
    keys[0].bind = ""; /* the same as none */
    ck_assert_int_eq(take(&keys[0])->fd, fds[0]);
}
END_TEST

START_TEST(transparent_is_apart)
{
    up_poolkey_t bound = { .bind = "127.0.0.2" };
    up_poolkey_t transparent = { .bind = "127.0.0.2", .transparent = 1 };
    up_poolkey_t none = { .bind = "", .transparent = 1 };
    int fds[3];

    prepare(10);
    keep(&bound, &fds[0]);
    keep(&transparent, &fds[1]);
    keep(&none, &fds[2]);
    ck_assert_int_eq(take(&transparent)->fd, fds[1]);
    ck_assert_int_eq(take(&transparent)->reused, 0);
    ck_assert_int_eq(take(&bound)->fd, fds[0]);
    none.transparent = 0; /* no address, no difference */
    ck_assert_int_eq(take(&none)->fd, fds[2]);
}
END_TEST

static int count_shelves(void)
{
    up_pool_t *pool = peer()->pool;
    up_shelf_t *shelf;
    int count = 0;
    int i;

    apr_thread_mutex_lock(pool->lock);
    for (i = 0; i < UP_SHELF_BUCKETS; i++) {
        for (shelf = pool->keyed[i]; shelf; shelf = shelf->next) {
            count++;
        }
    }
    apr_thread_mutex_unlock(pool->lock);
    return count;
}

static void wait_for_shelves(int count)
{
    int i;

    for (i = 0; count_shelves() > count && i < 300; i++) {
        usleep(10000);
    }
    ck_assert_int_eq(count_shelves(), count);
}

/* A local address of the client's makes as many keys as there are clients. */
START_TEST(do_not_pile_up)
{
    up_poolkey_t key = { .bind = "127.0.0.9" };
    up_conn_t *out;
    int other;
    int fd;
    int i;

    prepare(1000);
    out = take(&key);
    for (i = 0; i < 500; i++) {
        key.bind = apr_psprintf(unit_pool, "127.0.%d.1", i);
        up_pool_drop(take(&key));
    }
    other = keep(&key, &fd);
    ck_assert_int_ge(count_shelves(), 2);
    /* one is in use, one has an idle connection */
    wait_for_shelves(2);
    ck_assert(!unit_readable(other, 0));
    up_pool_drop(out);
    close(other);
    wait_for_shelves(0);
}
END_TEST

Suite *unit_pool_keys(void)
{
    Suite *suite = suite_create("pool keys");
    TCase *tc = unit_case(suite, "keys");

    tcase_add_test(tc, apart);
    tcase_add_test(tc, transparent_is_apart);
    tcase_add_test(tc, do_not_pile_up);
    return suite;
}
