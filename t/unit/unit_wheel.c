/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The timer wheel: ticks of 10 ms, rounds of 1,024 of them.
 */

#include "drivers/loop.h"
#include "drivers/wheel.h"
#include "t/unit/up_unit.h"

#define MS(n) ((apr_time_t)(n) * 1000)
#define START (MS(10) * 5000000 + 3)

static up_watch_t *last; /* that expired */
static int count;

static void on_expired(up_watch_t *watch)
{
    last = watch;
    count++;
}

static up_wheel_t *make_wheel(void)
{
    last = NULL;
    count = 0;
    return up_wheel_make(unit_pool, START);
}

static void set(up_wheel_t *wheel, up_watch_t *watch, apr_time_t due)
{
    watch->due = due;
    up_wheel_set(wheel, watch);
}

/* Turns in steps of `step` until `watch` expires; returns the moment. */
static apr_time_t expiry_of(up_wheel_t *wheel, const up_watch_t *watch,
                            apr_time_t from, apr_interval_time_t step)
{
    apr_time_t now;

    last = NULL;
    for (now = from; now < from + MS(100000); now += step) {
        up_wheel_turn(wheel, now, on_expired);
        if (last == watch) {
            return now;
        }
    }
    return 0;
}

/* Never early, and late by two ticks at most; also after several rounds. */
START_TEST(expires_in_time)
{
    static const int due[] = { 1, 9, 10, 11, 500, 10230, 10240, 10250, 35000 };
    size_t i;

    for (i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        up_wheel_t *wheel = make_wheel();
        up_watch_t watch = { .tick = -1 };
        apr_time_t at;

        set(wheel, &watch, START + MS(due[i]));
        at = expiry_of(wheel, &watch, START, MS(1));
        ck_assert_int_ge(at, START + MS(due[i]));
        ck_assert_int_le(at, START + MS(due[i] + 20));
        ck_assert_int_eq(count, 1);
        ck_assert_int_eq(watch.tick, -1);
        ck_assert_int_eq(up_wheel_timeout(wheel, at), -1);
    }
}
END_TEST

START_TEST(expires_when_turned_late)
{
    static const int late[] = { 15, 300, 10240, 30000, 99990 };
    size_t i;

    for (i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        up_wheel_t *wheel = make_wheel();
        up_watch_t watches[100];
        int k;

        for (k = 0; k < 100; k++) {
            watches[k] = (up_watch_t){ .tick = -1 };
            set(wheel, &watches[k], START + MS(late[i]) * k / 200);
        }
        up_wheel_turn(wheel, START + MS(late[i]), on_expired);
        ck_assert_int_eq(count, 100);
        up_wheel_turn(wheel, START + MS(late[i]) * 2, on_expired);
        ck_assert_int_eq(count, 100);
    }
}
END_TEST

/* What is put off stays where it is and is not forgotten. */
START_TEST(can_be_put_off)
{
    up_wheel_t *wheel = make_wheel();
    up_watch_t watch = { .tick = -1 };
    apr_time_t at = START;
    int i;

    set(wheel, &watch, START + MS(50));
    for (i = 1; i <= 300; i++) {
        at = START + MS(10) * i;
        set(wheel, &watch, at + MS(50));
        up_wheel_turn(wheel, at, on_expired);
    }
    ck_assert_int_eq(count, 0);
    ck_assert_int_ge(expiry_of(wheel, &watch, at, MS(1)), at + MS(50));
}
END_TEST

START_TEST(can_be_brought_forward)
{
    up_wheel_t *wheel = make_wheel();
    up_watch_t watch = { .tick = -1 };

    set(wheel, &watch, START + MS(60000));
    set(wheel, &watch, START + MS(100));
    ck_assert_int_le(expiry_of(wheel, &watch, START, MS(1)),
                     START + MS(120));
    /* One in the past comes with the next tick. */
    set(wheel, &watch, START);
    ck_assert_int_le(expiry_of(wheel, &watch, START + MS(200), MS(1)),
                     START + MS(220));
}
END_TEST

START_TEST(can_be_dropped)
{
    up_wheel_t *wheel = make_wheel();
    up_watch_t one = { .tick = -1 };
    up_watch_t two = { .tick = -1 };

    set(wheel, &one, START + MS(50));
    set(wheel, &two, START + MS(50));
    set(wheel, &one, 0);
    up_wheel_turn(wheel, START + MS(200), on_expired);
    ck_assert_int_eq(count, 1);
    ck_assert_ptr_eq(last, &two);

    set(wheel, &one, START + MS(250));
    set(wheel, &two, START + MS(250));
    up_wheel_remove(wheel, &two);
    up_wheel_remove(wheel, &two);
    up_wheel_turn(wheel, START + MS(400), on_expired);
    ck_assert_int_eq(count, 2);
    ck_assert_ptr_eq(last, &one);
}
END_TEST

/* A thread sleeps to the next timer, but not for more than half a second. */
START_TEST(tells_how_long_to_sleep)
{
    up_wheel_t *wheel = make_wheel();
    up_watch_t near = { .tick = -1 };
    up_watch_t far = { .tick = -1 };
    int timeout;

    ck_assert_int_eq(up_wheel_timeout(wheel, START), -1);
    set(wheel, &far, START + MS(60000));
    timeout = up_wheel_timeout(wheel, START);
    ck_assert_int_gt(timeout, 0);
    ck_assert_int_le(timeout, 510);
    set(wheel, &near, START + MS(100));
    timeout = up_wheel_timeout(wheel, START);
    ck_assert_int_ge(timeout, 100);
    ck_assert_int_le(timeout, 120);
    ck_assert_int_eq(up_wheel_timeout(wheel, START + MS(500)), 0);
}
END_TEST

Suite *unit_wheel(void)
{
    Suite *suite = suite_create("wheel");
    TCase *tcase = unit_case(suite, "wheel");

    tcase_add_test(tcase, expires_in_time);
    tcase_add_test(tcase, expires_when_turned_late);
    tcase_add_test(tcase, can_be_put_off);
    tcase_add_test(tcase, can_be_brought_forward);
    tcase_add_test(tcase, can_be_dropped);
    tcase_add_test(tcase, tells_how_long_to_sleep);
    return suite;
}
