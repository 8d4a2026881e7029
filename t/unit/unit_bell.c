/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The bell: no ring is lost, none comes after the end, whoever rings.
 */

#include <stdatomic.h>

#include "apr_thread_proc.h"
#include "peers/bell.h"
#include "t/unit/up_transport.h"

static void count(void *baton)
{
    atomic_fetch_add((atomic_int *)baton, 1);
}

START_TEST(rung_before_anybody_waits)
{
    up_bell_t *bell;
    atomic_int wakes;

    atomic_init(&wakes, 0);
    ck_assert_int_eq(up_bell_make(&bell), APR_SUCCESS);
    ck_assert_int_eq(up_bell_heed(bell), 0);
    up_bell_ring(bell);
    ck_assert_int_eq(unit_readable(up_bell_fd(bell), 0), 1);
    up_bell_attach(bell, count, &wakes);
    ck_assert_int_eq(atomic_load(&wakes), 1);
    ck_assert_int_eq(up_bell_heed(bell), 1);
    ck_assert_int_eq(up_bell_heed(bell), 0);
    ck_assert_int_eq(unit_readable(up_bell_fd(bell), 0), 0);
    up_bell_mute(bell);
    up_bell_drop(bell);
}
END_TEST

START_TEST(one_wake_a_heed)
{
    up_bell_t *bell;
    atomic_int wakes;

    atomic_init(&wakes, 0);
    ck_assert_int_eq(up_bell_make(&bell), APR_SUCCESS);
    up_bell_attach(bell, count, &wakes);
    ck_assert_int_eq(unit_readable(up_bell_fd(bell), 0), 0);
    up_bell_ring(bell);
    up_bell_ring(bell);
    ck_assert_int_eq(atomic_load(&wakes), 1);
    up_bell_heed(bell);
    up_bell_ring(bell);
    ck_assert_int_eq(atomic_load(&wakes), 2);
    ck_assert_int_eq(unit_readable(up_bell_fd(bell), 0), 1);
    up_bell_mute(bell);
    up_bell_heed(bell);
    up_bell_ring(bell);
    ck_assert_int_eq(atomic_load(&wakes), 2);
    up_bell_drop(bell);
}
END_TEST

START_TEST(the_last_reference_closes)
{
    int before = unit_open_files();
    up_bell_t *bell;

    ck_assert_int_eq(up_bell_make(&bell), APR_SUCCESS);
    up_bell_fd(bell);
    up_bell_hold(bell);
    up_bell_drop(bell);
    up_bell_ring(bell); /* by who still has one */
    ck_assert_int_eq(unit_readable(up_bell_fd(bell), 0), 1);
    up_bell_drop(bell);
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

#define ROUNDS 2000

/* Rings a bell whose exchange ends at the same time. */
static void *APR_THREAD_FUNC ring_once(apr_thread_t *thread, void *data)
{
    (void)thread;
    up_bell_ring(data);
    up_bell_drop(data);
    return NULL;
}

START_TEST(the_end_meets_a_ring)
{
    atomic_int wakes;
    apr_status_t rv;
    int after;
    int i;

    for (i = 0; i < ROUNDS / 20; i++) {
        apr_thread_t *thread;
        up_bell_t *bell;

        atomic_init(&wakes, 0);
        ck_assert_int_eq(up_bell_make(&bell), APR_SUCCESS);
        up_bell_attach(bell, count, &wakes);
        ck_assert_int_eq(apr_thread_create(&thread, NULL, ring_once,
                                           up_bell_hold(bell), unit_pool),
                         APR_SUCCESS);
        up_bell_mute(bell);
        after = atomic_load(&wakes);
        up_bell_drop(bell);
        apr_thread_join(&rv, thread);
        ck_assert_int_eq(atomic_load(&wakes), after);
    }
}
END_TEST

typedef struct talk_t {
    up_bell_t *bell;
    atomic_int news;
} talk_t;

static void *APR_THREAD_FUNC tell(apr_thread_t *thread, void *data)
{
    talk_t *talk = data;
    int i;

    (void)thread;
    for (i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&talk->news, 1);
        up_bell_ring(talk->bell);
    }
    return NULL;
}

/* Waits as a driver does: none of the news may be missed. */
START_TEST(no_ring_is_lost)
{
    apr_thread_t *thread;
    apr_status_t rv;
    talk_t talk;

    atomic_init(&talk.news, 0);
    ck_assert_int_eq(up_bell_make(&talk.bell), APR_SUCCESS);
    up_bell_fd(talk.bell);
    apr_thread_create(&thread, NULL, tell, &talk, unit_pool);
    for (;;) {
        up_bell_heed(talk.bell);
        if (atomic_load(&talk.news) == ROUNDS) {
            break;
        }
        ck_assert_int_eq(unit_readable(up_bell_fd(talk.bell), 5000), 1);
    }
    apr_thread_join(&rv, thread);
    up_bell_drop(talk.bell);
}
END_TEST

Suite *unit_bell(void)
{
    Suite *suite = suite_create("bell");
    TCase *tcase = unit_case(suite, "bell");

    tcase_add_test(tcase, rung_before_anybody_waits);
    tcase_add_test(tcase, one_wake_a_heed);
    tcase_add_test(tcase, the_last_reference_closes);
    tcase_add_test(tcase, the_end_meets_a_ring);
    tcase_add_test(tcase, no_ring_is_lost);
    return suite;
}
