/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The record of the tries and its text. The golden lists are nginx's.
 */

#include "exchange/trail.h"
#include "t/unit/up_unit.h"

#define MS(n) ((apr_interval_time_t)(n) * 1000)

static const char *text(const up_trail_t *trail, up_trail_e which)
{
    return up_trail_text(unit_pool, trail, which);
}

/* Two servers tried, then an internal redirect to a socket. */
START_TEST(joins_tries_and_legs)
{
    up_trail_t *first = up_trail_make(unit_pool, NULL);
    up_trail_t *second;
    up_try_t *try;

    try = up_trail_open(first, "10.0.0.1:80", MS(1000));
    try->status = 502;
    try = up_trail_open(first, "10.0.0.2:80", MS(1010));
    try->status = 200;
    up_trail_close(first, MS(1020));
    second = up_trail_make(unit_pool, first);
    try = up_trail_open(second, "unix:/s", MS(2000));
    try->status = 200;
    up_trail_close(second, MS(3234));

    ck_assert_str_eq(text(second, UP_TRAIL_ADDR),
                     "10.0.0.1:80, 10.0.0.2:80 : unix:/s");
    ck_assert_str_eq(text(second, UP_TRAIL_STATUS), "502, 200 : 200");
    ck_assert_str_eq(text(second, UP_TRAIL_RESPONSE_TIME),
                     "0.010, 0.010 : 1.234");
    ck_assert_str_eq(text(second, UP_TRAIL_CONNECT_TIME), "-, - : -");
    ck_assert_str_eq(text(first, UP_TRAIL_ADDR), "10.0.0.1:80, 10.0.0.2:80");
}
END_TEST

/* A stale connection and the free retry. */
START_TEST(shows_a_stale_retry)
{
    up_trail_t *trail = up_trail_make(unit_pool, NULL);
    up_try_t *try;

    try = up_trail_open(trail, "127.0.0.1:19181", MS(5000));
    try->status = 502;
    try->connect_time = 0;
    try->sent = 80;
    try = up_trail_open(trail, "127.0.0.1:19181", MS(5001));
    try->status = 200;
    try->connect_time = 499;
    try->header_time = MS(1) + 999;
    try->response_length = 12;
    try->received = 150;
    try->sent = 80;

    ck_assert_str_eq(text(trail, UP_TRAIL_ADDR),
                     "127.0.0.1:19181, 127.0.0.1:19181");
    ck_assert_str_eq(text(trail, UP_TRAIL_STATUS), "502, 200");
    ck_assert_str_eq(text(trail, UP_TRAIL_CONNECT_TIME), "0.000, 0.000");
    ck_assert_str_eq(text(trail, UP_TRAIL_HEADER_TIME), "-, 0.001");
    ck_assert_str_eq(text(trail, UP_TRAIL_RESPONSE_TIME), "0.001, -");
    ck_assert_str_eq(text(trail, UP_TRAIL_RESPONSE_LENGTH), "0, 12");
    ck_assert_str_eq(text(trail, UP_TRAIL_BYTES_RECEIVED), "0, 150");
    ck_assert_str_eq(text(trail, UP_TRAIL_BYTES_SENT), "80, 80");
}
END_TEST

START_TEST(shows_one_try)
{
    up_trail_t *trail = up_trail_make(unit_pool, NULL);
    up_try_t *try = up_trail_open(trail, "[::1]:8080", MS(1));

    ck_assert_str_eq(text(trail, UP_TRAIL_ADDR), "[::1]:8080");
    ck_assert_str_eq(text(trail, UP_TRAIL_STATUS), "-");
    ck_assert_str_eq(text(trail, UP_TRAIL_CONNECT_TIME), "-");
    ck_assert_str_eq(text(trail, UP_TRAIL_HEADER_TIME), "-");
    ck_assert_str_eq(text(trail, UP_TRAIL_RESPONSE_TIME), "-");
    ck_assert_str_eq(text(trail, UP_TRAIL_RESPONSE_LENGTH), "0");
    try->response_time = APR_USEC_PER_SEC * 3600 + MS(7);
    try->received = APR_INT64_C(5000000000);
    try->status = 204;
    ck_assert_str_eq(text(trail, UP_TRAIL_RESPONSE_TIME), "3600.007");
    ck_assert_str_eq(text(trail, UP_TRAIL_BYTES_RECEIVED), "5000000000");
    ck_assert_str_eq(text(trail, UP_TRAIL_STATUS), "204");
    try->peer = "";
    ck_assert_str_eq(text(trail, UP_TRAIL_ADDR), "");
}
END_TEST

START_TEST(says_nothing_without_tries)
{
    up_trail_t *first = up_trail_make(unit_pool, NULL);
    up_trail_t *second = up_trail_make(unit_pool, first);

    ck_assert_ptr_null(text(first, UP_TRAIL_ADDR));
    ck_assert_ptr_null(text(second, UP_TRAIL_ADDR));
    ck_assert_ptr_null(up_trail_last(first));
    up_trail_close(first, MS(1));
    ck_assert_ptr_null(up_trail_last(first));
}
END_TEST

START_TEST(keeps_the_place_of_empty_legs)
{
    up_trail_t *first = up_trail_make(unit_pool, NULL);
    up_trail_t *second = up_trail_make(unit_pool, first);
    up_trail_t *third = up_trail_make(unit_pool, second);

    up_trail_open(first, "a:1", MS(1));
    ck_assert_str_eq(text(second, UP_TRAIL_ADDR), "a:1 : ");
    up_trail_open(third, "c:3", MS(2));
    ck_assert_str_eq(text(third, UP_TRAIL_ADDR), "a:1 :  : c:3");
}
END_TEST

START_TEST(opens_and_closes)
{
    up_trail_t *trail = up_trail_make(unit_pool, NULL);
    up_try_t *try;
    int i;

    for (i = 0; i < 20; ++i) {
        try = up_trail_open(trail, "a:1", MS(10 * i));
        ck_assert_ptr_eq(try, up_trail_last(trail));
        ck_assert_int_eq(try->response_time, -1);
    }
    ck_assert_int_eq(trail->tries->nelts, 20);
    for (i = 0; i < 19; ++i) {
        ck_assert_int_eq(APR_ARRAY_IDX(trail->tries, i, up_try_t)
                             .response_time, MS(10));
    }
    up_trail_close(trail, MS(10 * 19 + 3));
    up_trail_close(trail, MS(9999));
    ck_assert_int_eq(up_trail_last(trail)->response_time, MS(3));

    try = up_trail_open(trail, "b:2", MS(500));
    up_trail_close(trail, MS(400)); /* the clock was set back */
    ck_assert_int_eq(try->response_time, 0);
}
END_TEST

Suite *unit_trail(void)
{
    Suite *suite = suite_create("trail");
    TCase *tc = unit_case(suite, "text");

    tcase_add_test(tc, joins_tries_and_legs);
    tcase_add_test(tc, shows_a_stale_retry);
    tcase_add_test(tc, shows_one_try);
    tcase_add_test(tc, says_nothing_without_tries);
    tcase_add_test(tc, keeps_the_place_of_empty_legs);
    tc = unit_case(suite, "record");
    tcase_add_test(tc, opens_and_closes);
    return suite;
}
