/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Rates: what may move at which moment.
 */

#include "config/units.h"
#include "exchange/pace.h"
#include "t/unit/up_unit.h"

#define START apr_time_from_sec(1700000000)
#define MS(n) ((apr_time_t)(n) * 1000)

START_TEST(no_rate_is_no_limit)
{
    static const apr_off_t rates[] = { 0, -1 };
    up_pace_t zeroes = { 0 };
    int i;

    ck_assert(up_pace_room(&zeroes, START) == UP_OFF_MAX);
    for (i = 0; i < COUNT(rates); i++) {
        up_pace_t pace;

        up_pace_begin(&pace, rates[i], START);
        up_pace_moved(&pace, UP_OFF_MAX);
        up_pace_moved(&pace, UP_OFF_MAX);
        ck_assert(up_pace_room(&pace, START) == UP_OFF_MAX);
        ck_assert(up_pace_until(&pace) == 0);
        ck_assert(!up_pace_limits(&pace));
    }
}
END_TEST

START_TEST(a_pause_as_long_as_what_moved_takes)
{
    up_pace_t pace;

    up_pace_begin(&pace, 1000, START);
    ck_assert(up_pace_limits(&pace));
    ck_assert_int_eq(up_pace_room(&pace, START), 1000);
    up_pace_moved(&pace, 250);
    ck_assert_int_eq(up_pace_room(&pace, START + MS(249)), 0);
    ck_assert(up_pace_until(&pace) == START + MS(250));
    ck_assert_int_eq(up_pace_room(&pace, START + MS(250)), 750);
    ck_assert(up_pace_until(&pace) == 0);
}
END_TEST

START_TEST(lost_time_is_made_up_for)
{
    up_pace_t pace;

    up_pace_begin(&pace, 1000, START);
    up_pace_moved(&pace, 10);
    ck_assert_int_eq(up_pace_room(&pace, START + MS(3500)), 3990);
}
END_TEST

/* Never more than a second's worth ahead, whatever is taken when. */
START_TEST(keeps_the_rate)
{
    static const apr_off_t rates[] = { 1, 7, 1000, 4096, 1000000 };
    int i;

    for (i = 0; i < COUNT(rates); i++) {
        apr_off_t total = 0;
        apr_time_t now = START;
        up_pace_t pace;

        up_pace_begin(&pace, rates[i], START);
        while (now < START + apr_time_from_sec(20)) {
            apr_off_t room = up_pace_room(&pace, now);
            apr_time_t passed = now - START;

            if (room == 0) {
                ck_assert(up_pace_until(&pace) > now);
                now = up_pace_until(&pace);
                continue;
            }
            room = room > 3000 ? 3000 : room;
            up_pace_moved(&pace, room);
            total += room;
            ck_assert(total <= rates[i] * (passed / APR_USEC_PER_SEC + 1));
        }
        ck_assert(total >= rates[i] * 19);
    }
}
END_TEST

START_TEST(large_numbers)
{
    up_pace_t pace;

    up_pace_begin(&pace, UP_OFF_MAX, START);
    ck_assert(up_pace_room(&pace, START) >= APR_INT64_C(1000000000000));
    up_pace_moved(&pace, APR_INT64_C(7999999999999));
    ck_assert_int_eq(up_pace_room(&pace, START), 0);
    ck_assert(up_pace_until(&pace) > START + apr_time_from_sec(7));
    ck_assert(up_pace_until(&pace) <= START + apr_time_from_sec(8));
    up_pace_begin(&pace, 1, 0);
    ck_assert(up_pace_room(&pace, START) > 0);
    up_pace_begin(&pace, APR_INT64_C(1000000000000), 0);
    ck_assert(up_pace_room(&pace, START) == UP_OFF_MAX);
}
END_TEST

Suite *unit_pace(void)
{
    Suite *suite = suite_create("pace");
    TCase *rates = unit_case(suite, "rates");

    tcase_add_test(rates, no_rate_is_no_limit);
    tcase_add_test(rates, a_pause_as_long_as_what_moved_takes);
    tcase_add_test(rates, lost_time_is_made_up_for);
    tcase_add_test(rates, keeps_the_rate);
    tcase_add_test(rates, large_numbers);
    return suite;
}
