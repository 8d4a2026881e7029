/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Zones: what children share, what the dead leave behind, what outlives a
 * generation, and how long choosing a server takes.
 */

#include "peers/zone.h"

#include "apr_strings.h"
#include "config/zone.h"
#include "peers/balancer.h"
#include "t/unit/up_transport.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 4

static const unit_server_t two[] = { { .port = 1, .max_conns = 3 },
                                     { .port = 2, .weight = 5 }, { 0 } };

static void *shared(apr_size_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(base, MAP_FAILED);
    return base;
}

static up_zonemem_t *make(int servers)
{
    apr_size_t size = up_zonemem_needs(servers, CHILDREN);

    return up_zonemem_make(unit_pool, shared(size), size, CHILDREN);
}

static const up_server_t *server_of(const up_group_t *group, int n)
{
    return &APR_ARRAY_IDX(group->servers, n, up_server_t);
}

static up_peerstate_t *find(up_zonemem_t *zone, const up_group_t *group,
                            int n)
{
    return up_zonemem_find(zone, group, server_of(group, n),
                           n ? "127.0.0.1:2" : "127.0.0.1:1");
}

/* The group uses the zone from now on. */
static up_peers_t *start(up_group_t *group, up_zonemem_t *zone)
{
    up_zone_t *named = apr_pcalloc(unit_pool, sizeof(*named));

    named->name = "z";
    named->memory = zone;
    group->zone = named;
    ck_assert_int_eq(up_peers_make(unit_pool, group), APR_SUCCESS);
    return group->peers;
}

static int in_child(int (*work)(void *baton), void *baton)
{
    int status;
    pid_t pid = fork();

    if (!pid) {
        _exit(work(baton));
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_ne(WIFEXITED(status), 0);
    return WEXITSTATUS(status);
}

START_TEST(identity)
{
    up_zonemem_t *zone = make(4);
    up_group_t *group = unit_group(two);
    up_group_t other = *group;
    up_peerstate_t *state = find(zone, group, 0);

    other.name = "other";
    ck_assert_int_eq(atomic_load(&state->max_conns), 3);
    ck_assert_ptr_eq(find(zone, group, 0), state);
    ck_assert_ptr_ne(find(zone, group, 1), state);
    ck_assert_ptr_ne(find(zone, &other, 0), state);
    ck_assert_int_eq(atomic_load(&find(zone, group, 1)->weight), 5);
}
END_TEST

/* The places of servers that nobody uses are given to others, the oldest
 * first. */
START_TEST(full)
{
    up_zonemem_t *zone = make(2);
    up_group_t *group = unit_group(two);
    const up_server_t *server = server_of(group, 0);
    up_peerstate_t *one = up_zonemem_find(zone, group, server, "1");
    up_peerstate_t *other = up_zonemem_find(zone, group, server, "2");

    ck_assert_int_eq(up_zonemem_room(zone), 2);
    ck_assert_ptr_null(up_zonemem_find(zone, group, server, "3"));
    atomic_store(&other->fails, 1);
    up_zonemem_leave(zone, other);
    ck_assert_ptr_eq(up_zonemem_find(zone, group, server, "2"), other);
    ck_assert_int_eq(atomic_load(&other->fails), 1);
    up_zonemem_leave(zone, other);
    up_zonemem_leave(zone, one);
    ck_assert_ptr_eq(up_zonemem_find(zone, group, server, "3"), other);
    ck_assert_int_eq(atomic_load(&other->fails), 0);
}
END_TEST

static int die_with_two(void *baton)
{
    up_group_t *group = baton;
    up_peers_t *peers;
    int i;

    up_zonemem_enter(group->zone->memory, getpid());
    peers = start(group, group->zone->memory);
    for (i = 0; i < 2; i++) {
        if (!up_peer_take_locked(peers->primary.peers[0],
                                 apr_time_from_sec(1000))) {
            return 1;
        }
    }
    atomic_fetch_add(&peers->primary.peers[1]->state->in_use, 1);
    return 0;
}

START_TEST(death)
{
    up_zonemem_t *zone = make(2);
    up_group_t *group = unit_group(two);
    up_peerstate_t *state = find(zone, group, 0);
    up_peers_t *peers;
    pid_t pid;
    int status;

    peers = start(group, zone);
    up_peer_take_locked(peers->primary.peers[0], apr_time_from_sec(1000));
    pid = fork();
    if (!pid) {
        _exit(die_with_two(group));
    }
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(atomic_load(&state->in_use), 3);
    ck_assert_int_eq(up_peer_take_locked(peers->primary.peers[0],
                                         apr_time_from_sec(1000)), 0);
    up_zonemem_bury(zone, pid);
    ck_assert_int_eq(atomic_load(&state->in_use), 1);

    /* it died between counting and noting it */
    ck_assert_int_eq(atomic_load(&find(zone, group, 1)->in_use), 1);
    ck_assert_int_eq(up_zonemem_audit(zone), 0);
    ck_assert_int_eq(up_zonemem_audit(zone), 0);
    ck_assert_int_eq(up_zonemem_audit(zone), 1);
    ck_assert_int_eq(atomic_load(&find(zone, group, 1)->in_use), 0);
    ck_assert_int_eq(atomic_load(&state->in_use), 1);
}
END_TEST

static int die_locked(void *baton)
{
    /* the lock is the first thing in the memory */
    pthread_mutex_lock(baton);
    return 0;
}

START_TEST(death_with_lock)
{
    apr_size_t size = up_zonemem_needs(2, CHILDREN);
    void *base = shared(size);
    up_zonemem_t *zone = up_zonemem_make(unit_pool, base, size, CHILDREN);
    up_group_t *group = unit_group(two);

    in_child(die_locked, base);
    ck_assert_ptr_nonnull(find(zone, group, 0));
    ck_assert_ptr_nonnull(find(zone, group, 1));
}
END_TEST

START_TEST(generations)
{
    up_group_t *group = unit_group(two);
    up_zonemem_t *before = make(3);
    up_zonemem_t *after = make(3);
    up_peerstate_t *state = find(before, group, 0);
    apr_size_t size;
    void *saved;

    atomic_store(&state->fails, 7);
    atomic_store(&state->in_use, 2);
    atomic_store(&state->weight, 9);
    state = find(before, group, 1);
    atomic_store(&state->ordered, UP_ORDERED_WEIGHT);
    atomic_store(&state->weight, 11);
    atomic_store(&state->max_conns, 12);
    saved = up_zonemem_save(before, &size);
    up_zonemem_restore(after, saved, size - 1); /* of another make */
    ck_assert_int_eq(atomic_load(&find(after, group, 0)->fails), 0);

    after = make(3);
    up_zonemem_restore(after, saved, size);
    free(saved);
    state = find(after, group, 0);
    ck_assert_int_eq(atomic_load(&state->fails), 7);
    ck_assert_int_eq(atomic_load(&state->in_use), 0);
    ck_assert_int_eq(atomic_load(&state->weight), 1);
    state = find(after, group, 1);
    ck_assert_int_eq(atomic_load(&state->weight), 11);
    ck_assert_int_eq(atomic_load(&state->max_conns), 0);
}
END_TEST

/* Each child takes what it can, all at once: never more than max_conns. */
static int contend(void *baton)
{
    up_group_t *group = baton;
    up_peers_t *peers;
    up_peer_t *peer;
    int i, most = 0;

    up_zonemem_enter(group->zone->memory, getpid());
    peers = start(group, group->zone->memory);
    peer = peers->primary.peers[0];
    for (i = 0; i < 20000; i++) {
        if (up_peer_take_locked(peer, apr_time_from_sec(1000))) {
            int n = up_peer_in_use(peer);

            most = n > most ? n : most;
            up_peer_give(peers, peer, UP_OUTCOME_NONE,
                         apr_time_from_sec(1000));
        }
    }
    return most;
}

static void fork_all(int (*work)(void *baton), void *baton, int *status)
{
    pid_t pids[CHILDREN];
    int i;

    for (i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        if (!pids[i]) {
            _exit(work(baton));
        }
    }
    for (i = 0; i < CHILDREN; i++) {
        ck_assert_int_eq(waitpid(pids[i], &status[i], 0), pids[i]);
        ck_assert_int_ne(WIFEXITED(status[i]), 0);
    }
}

START_TEST(strict)
{
    up_zonemem_t *zone = make(2);
    up_group_t *group = unit_group(two);
    int status[CHILDREN];
    int i;

    start(group, zone);
    fork_all(contend, group, status);
    for (i = 0; i < CHILDREN; i++) {
        ck_assert_int_le(WEXITSTATUS(status[i]), 3);
        ck_assert_int_ge(WEXITSTATUS(status[i]), 1);
    }
    ck_assert_int_eq(atomic_load(&find(zone, group, 0)->in_use), 0);
}
END_TEST

#define ROUNDS 100000

/* @return tens of nanoseconds of processor time for a pick and its end */
static int choose_often(void *baton)
{
    up_group_t *group = baton;
    up_peers_t *peers;
    apr_time_t now = apr_time_from_sec(1000);
    struct timespec time;
    apr_int64_t ns;
    apr_pool_t *p;
    int i;

    up_zonemem_enter(group->zone->memory, getpid());
    peers = start(group, group->zone->memory);
    apr_pool_create(&p, unit_pool);
    for (i = 0; i < ROUNDS; i++) {
        up_pick_t *pick = up_balancer_begin(p, NULL, peers, 0);
        up_peer_t *peer = up_balancer_pick(pick, now);

        up_balancer_done(pick, peer, UP_OUTCOME_OK, NULL, now);
        if (i % 64 == 0) {
            apr_pool_clear(p);
        }
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    ns = time.tv_sec * 1000000000LL + time.tv_nsec;
    ns = ns / ROUNDS / 10;
    return ns > 255 ? 255 : (int)ns;
}

START_TEST(speed)
{
    static const unit_server_t four[] = { { .port = 1 }, { .port = 2 },
                                          { .port = 3 }, { .port = 4 },
                                          { 0 } };
    up_zonemem_t *zone = make(4);
    up_group_t *group = unit_group(four);
    int status[CHILDREN];
    int i, worst = 0;

    start(group, zone);
    fork_all(choose_often, group, status);
    for (i = 0; i < CHILDREN; i++) {
        worst = WEXITSTATUS(status[i]) > worst ? WEXITSTATUS(status[i])
                                               : worst;
    }
    printf("zone: choosing a server and giving it back takes %d ns, with %d "
           "children at once\n", 10 * worst, CHILDREN);
    ck_assert_int_lt(worst, 250); /* 1000 ns is what it may take */
}
END_TEST

Suite *unit_zone(void)
{
    Suite *suite = suite_create("zone");
    TCase *tcase = unit_case(suite, "zone");

    tcase_add_test(tcase, identity);
    tcase_add_test(tcase, full);
    tcase_add_test(tcase, death);
    tcase_add_test(tcase, death_with_lock);
    tcase_add_test(tcase, generations);
    tcase_add_test(tcase, strict);
    tcase_add_test(tcase, speed);
    return suite;
}
