/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The ledger: rows of servers, parts of children, what the dead leave behind;
 * and the arithmetic of counts.
 */

#include "peers/ledger.h"

#include "t/unit/up_transport.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES 4 /* three children, and one for the rest */

static void *shared(apr_size_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(base, MAP_FAILED);
    return base;
}

static up_ledger_t *make(int rows)
{
    return up_ledger_make(unit_pool, shared(up_ledger_needs(rows, PLACES)),
                          rows, PLACES, 1);
}

static long long count_of(const up_counts_t *counts, up_count_e what)
{
    up_counts_t sum;

    up_ledger_sum(counts, &sum);
    return sum.counts[what];
}

static long long gauge_of(const up_counts_t *counts, up_gauge_e what)
{
    up_counts_t sum;

    up_ledger_sum(counts, &sum);
    return sum.gauges[what];
}

/* A child that counts once and ends as it is. */
static pid_t run_child(const char *group, const char *name)
{
    int status;
    pid_t pid = fork();

    if (!pid) {
        up_counts_t *counts;

        up_ledger_enter(getpid());
        counts = up_ledger_find(group, name);
        up_counts_add(counts, UP_COUNT_RETRIES, 1);
        up_counts_gauge(counts, UP_GAUGE_ACTIVE, 1);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    return pid;
}

START_TEST(histogram)
{
    up_counts_t counts;

    memset(&counts, 0, sizeof(counts));
    up_counts_time(&counts, UP_SPAN_HEADER, -1);
    up_counts_time(&counts, UP_SPAN_HEADER, 0);
    up_counts_time(&counts, UP_SPAN_HEADER, 1000);
    up_counts_time(&counts, UP_SPAN_HEADER, 1001);
    up_counts_time(&counts, UP_SPAN_HEADER, apr_time_from_sec(61));
    ck_assert_int_eq(counts.spans[UP_SPAN_HEADER].buckets[0], 2);
    ck_assert_int_eq(counts.spans[UP_SPAN_HEADER].buckets[1], 1);
    ck_assert_int_eq(counts.spans[UP_SPAN_HEADER].buckets[UP_BOUNDS_N], 1);
    ck_assert_int_eq(counts.spans[UP_SPAN_HEADER].sum,
                     2001 + apr_time_from_sec(61));
}
END_TEST

START_TEST(classes)
{
    up_counts_t counts;
    int i;

    memset(&counts, 0, sizeof(counts));
    for (i = 0; i < 700; i += 50) {
        up_counts_answer(&counts, i);
    }
    for (i = UP_COUNT_ANSWERED_1XX; i <= UP_COUNT_ANSWERED_5XX; i++) {
        ck_assert_int_eq(counts.counts[i], 2);
    }
    ck_assert_int_eq(counts.counts[UP_COUNT_UNANSWERED], 0);
}
END_TEST

START_TEST(identity)
{
    up_counts_t *one;

    make(4);
    one = up_ledger_find("g", "a");
    ck_assert_ptr_eq(up_ledger_find("g", "a"), one);
    ck_assert_ptr_ne(up_ledger_find("g", ""), one);
    ck_assert_ptr_ne(up_ledger_find("h", "a"), one);
    ck_assert_ptr_ne(up_ledger_others(), one);
    ck_assert_ptr_eq(up_ledger_find("h", "b"), up_ledger_others());
}
END_TEST

/* Who is gone makes room, the longest one first; a new one begins at 0. */
START_TEST(places_are_given_again)
{
    up_counts_t *a, *b;

    make(3);
    a = up_ledger_find("g", "a");
    b = up_ledger_find("g", "b");
    up_counts_add(a, UP_COUNT_RETRIES, 7);
    up_ledger_leave(b);
    up_ledger_leave(a);
    ck_assert_ptr_eq(up_ledger_find("g", "a"), a);
    ck_assert_int_eq(count_of(a, UP_COUNT_RETRIES), 7);
    ck_assert_ptr_eq(up_ledger_find("g", "c"), b);
    ck_assert_ptr_eq(up_ledger_find("g", "d"), up_ledger_others());
    up_ledger_leave(a);
    ck_assert_ptr_eq(up_ledger_find("g", "d"), a);
    ck_assert_int_eq(count_of(a, UP_COUNT_RETRIES), 0);
}
END_TEST

START_TEST(children)
{
    up_counts_t *own;
    pid_t pid;

    make(4);
    pid = run_child("g", "a");
    run_child("g", "a"); /* takes the place of the first, which has ended */
    own = up_ledger_find("g", "a");
    up_counts_add(own, UP_COUNT_RETRIES, 10);
    ck_assert_int_eq(count_of(own, UP_COUNT_RETRIES), 12);
    ck_assert_int_eq(gauge_of(own, UP_GAUGE_ACTIVE), 1);
    ck_assert_int_eq(up_ledger_children(), 1);
    up_ledger_bury(pid);
    ck_assert_int_eq(up_ledger_children(), 1);
    pid = run_child("g", "a");
    up_ledger_bury(pid);
    ck_assert_int_eq(up_ledger_children(), 0);
    ck_assert_int_eq(gauge_of(own, UP_GAUGE_ACTIVE), 0);
    ck_assert_int_eq(count_of(own, UP_COUNT_RETRIES), 13);
    up_ledger_reset(own);
    ck_assert_int_eq(count_of(own, UP_COUNT_RETRIES), 0);
}
END_TEST

START_TEST(a_larger_one_inherits)
{
    up_ledger_t *small = make(3);
    up_ledger_t *large;
    up_counts_t *counts;

    run_child("g", "a");
    up_counts_add(up_ledger_find("g", "b"), UP_COUNT_RETRIES, 5);
    up_counts_add(up_ledger_find("g", "c"), UP_COUNT_RETRIES, 3);
    large = make(6);
    up_ledger_inherit(large, small);
    counts = up_ledger_find("g", "a");
    ck_assert_int_eq(count_of(counts, UP_COUNT_RETRIES), 1);
    ck_assert_int_eq(gauge_of(counts, UP_GAUGE_ACTIVE), 0);
    ck_assert_int_eq(count_of(up_ledger_find("g", "b"), UP_COUNT_RETRIES), 5);
    ck_assert_int_eq(count_of(up_ledger_find("g", "c"), UP_COUNT_RETRIES), 0);
    ck_assert_int_eq(count_of(up_ledger_others(), UP_COUNT_RETRIES), 3);
}
END_TEST

Suite *unit_ledger(void)
{
    Suite *suite = suite_create("ledger");
    TCase *tcase = unit_case(suite, "ledger");

    tcase_add_test(tcase, histogram);
    tcase_add_test(tcase, classes);
    tcase_add_test(tcase, identity);
    tcase_add_test(tcase, places_are_given_again);
    tcase_add_test(tcase, children);
    tcase_add_test(tcase, a_larger_one_inherits);
    return suite;
}
