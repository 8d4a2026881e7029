/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The pool under many threads: no connection is ever in two hands, none is
 * lost, and whatever the pool hands out fresh is fresh.
 */

#include "apr_atomic.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_thread_proc.h"
#include "t/unit/up_transport.h"
#include "transport/backend_pool.h"
#include "transport/backend_shelf.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 2000
#define MAX_FDS 1024

/* Which threads hold a descriptor: 0 or 1. */
static volatile apr_uint32_t held[MAX_FDS];
static volatile apr_uint32_t trouble;
static volatile apr_uint32_t reuses;
static volatile apr_uint32_t over;

static up_group_t *group;
static int listeners[2];

/* Echoes single bytes; closes a connection after every 50th. */
static void serve(struct pollfd *pfds, int *pn, int *pcount)
{
    char c;
    int i;

    for (i = *pn - 1; i > 1; i--) {
        if (!pfds[i].revents) {
            continue;
        }
        if (recv(pfds[i].fd, &c, 1, 0) != 1 ||
            send(pfds[i].fd, &c, 1, MSG_NOSIGNAL) != 1 ||
            ++*pcount % 50 == 0) {
            close(pfds[i].fd);
            pfds[i] = pfds[--*pn];
        }
    }
    for (i = 0; i < 2 && *pn < MAX_FDS; i++) {
        if (pfds[i].revents) {
            pfds[*pn].fd = accept(pfds[i].fd, NULL, NULL);
            pfds[*pn].events = POLLIN;
            pfds[(*pn)++].revents = 0;
        }
    }
}

static void *APR_THREAD_FUNC backend(apr_thread_t *thread, void *data)
{
    static struct pollfd pfds[MAX_FDS];
    int count = 0;
    int n = 2;
    int i;

    (void)thread;
    (void)data;
    for (i = 0; i < 2; i++) {
        pfds[i].fd = listeners[i];
        pfds[i].events = POLLIN;
    }
    while (!apr_atomic_read32(&over)) {
        if (poll(pfds, (nfds_t)n, 50) > 0) {
            serve(pfds, &n, &count);
        }
    }
    for (i = 2; i < n; i++) {
        close(pfds[i].fd);
    }
    return NULL;
}

/* @return 0: what a stale connection may come to, but no fresh one */
static int exchange(up_conn_t *conn, char c)
{
    struct iovec vec = { .iov_base = &c, .iov_len = 1 };
    apr_size_t len;
    char answer = 0;

    if (up_conn_send(conn, &vec, 1, &len) != APR_SUCCESS ||
        !unit_readable(conn->fd, 5000)) {
        return 0;
    }
    len = 1;
    return up_conn_recv(conn, &answer, &len) == APR_SUCCESS && answer == c;
}

/* One request. */
static void run_one(up_peer_t *peer, const up_poolkey_t *key,
                    unsigned int *pseed)
{
    up_conn_t *conn;
    int good;

    if (up_pool_take(peer, key, rand_r(pseed) % 50 == 0, &conn) ||
        (!conn->reused && unit_connect(conn, peer->addr))) {
        apr_atomic_inc32(&trouble);
        return;
    }
    conn->requests++;
    if (apr_atomic_inc32(&held[conn->fd]) != 0) {
        apr_atomic_inc32(&trouble); /* two threads with one connection */
    }
    good = exchange(conn, (char)rand_r(pseed));
    if (conn->reused) {
        apr_atomic_inc32(&reuses);
    }
    else if (!good) {
        apr_atomic_inc32(&trouble);
    }
    conn->idle_hint = rand_r(pseed) % 4 ? 0 : 1000;
    apr_atomic_dec32(&held[conn->fd]);
    if (good && rand_r(pseed) % 10) {
        up_pool_give(conn);
    }
    else {
        up_pool_drop(conn);
    }
}

static void *APR_THREAD_FUNC work(apr_thread_t *thread, void *data)
{
    static const up_poolkey_t plain;
    static const up_poolkey_t bound = { .bind = "127.0.0.1" };
    unsigned int seed = (unsigned int)(apr_uintptr_t)data + 1;
    int i;

    (void)thread;
    for (i = 0; i < ROUNDS; i++) {
        run_one(group->peers->primary.peers[i & 1],
                rand_r(&seed) % 4 ? &plain : &bound, &seed);
    }
    return NULL;
}

START_TEST(many_threads)
{
    apr_thread_t *threads[THREADS + 1];
    apr_pool_t *child;
    apr_status_t rv;
    int before;
    int i;

    group = unit_listening_group(2, listeners);
    group->keepalive = 4;
    before = unit_open_files();
    child = unit_child();
    ck_assert_int_eq(apr_thread_create(&threads[THREADS], NULL, backend, NULL,
                                       unit_pool), APR_SUCCESS);
    for (i = 0; i < THREADS; i++) {
        ck_assert_int_eq(apr_thread_create(&threads[i], NULL, work,
                                           (void *)(apr_uintptr_t)i,
                                           unit_pool), APR_SUCCESS);
    }
    for (i = 0; i < THREADS; i++) {
        apr_thread_join(&rv, threads[i]);
    }
    ck_assert_int_le(up_pool_idle(group), 4);
    for (i = 0; i < 2; i++) {
        ck_assert_uint_eq(
            apr_reslist_acquired_count(
                group->peers->primary.peers[i]->pool->plain->list), 0);
    }
    apr_pool_destroy(child);
    apr_atomic_set32(&over, 1);
    apr_thread_join(&rv, threads[THREADS]);
    ck_assert_uint_eq(trouble, 0);
    ck_assert_uint_gt(reuses, ROUNDS);
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

/* Signals that a thread blocks, as /proc shows them. */
static apr_uint64_t blocked_in(const char *task)
{
    char *name = apr_psprintf(unit_pool, "/proc/self/task/%s/status", task);
    FILE *file = fopen(name, "r");
    unsigned long long mask = 0;
    char line[128];

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "SigBlk: %llx", &mask) == 1) {
            break;
        }
    }
    fclose(file);
    return mask;
}

/* An MPM's signal handlers expect to run in its own threads. */
START_TEST(sweep_gets_no_signals)
{
    static const int names[] = { SIGTERM, SIGHUP, SIGUSR1, SIGINT };
    const char *self = apr_psprintf(unit_pool, "%d", (int)getpid());
    apr_uint64_t mask;
    struct dirent *entry;
    int found = 0;
    DIR *dir;
    int i;

    group = unit_listening_group(1, listeners);
    unit_child();
    usleep(50000); /* a thread begins with all of them blocked */
    dir = opendir("/proc/self/task");
    while ((entry = readdir(dir))) {
        if (!apr_isdigit(entry->d_name[0])) {
            continue;
        }
        mask = blocked_in(entry->d_name);
        found += strcmp(entry->d_name, self) != 0;
        for (i = 0; i < COUNT(names); i++) {
            ck_assert_int_eq((mask >> (names[i] - 1)) & 1,
                             strcmp(entry->d_name, self) != 0);
        }
    }
    closedir(dir);
    ck_assert_int_ge(found, 1);
}
END_TEST

Suite *unit_pool_threads(void)
{
    Suite *suite = suite_create("pool threads");
    TCase *tc = unit_case(suite, "threads");

    tcase_add_test(tc, many_threads);
    tcase_add_test(tc, sweep_gets_no_signals);
    return suite;
}
