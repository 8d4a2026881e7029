/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * What results of checks make of a server, and who makes the next check.
 */

#include "peers/health.h"
#include "t/unit/up_transport.h"

#define SECOND apr_time_from_sec(1)

static int note(up_peerstate_t *state, const up_check_t *check,
                const char *results)
{
    int changed = 0;

    for (; *results; results++) {
        changed = up_health_note(state, check,
                                 *results == '+' ? UP_CHECK_PASSED
                                 : *results == '-' ? UP_CHECK_FAILED
                                                   : UP_CHECK_DRAINS, SECOND);
    }
    return changed;
}

START_TEST(in_a_row)
{
    const up_check_t check = { .fails = 3, .passes = 2 };
    up_peerstate_t state = { .fails = 0 };

    ck_assert_int_eq(up_health_good(&state, &check), 1);
    ck_assert_int_eq(note(&state, &check, "--+--"), 0);
    ck_assert_int_eq(up_health_good(&state, &check), 1);
    ck_assert_int_eq(note(&state, &check, "-"), 1);
    ck_assert_int_eq(up_health_good(&state, &check), 0);
    ck_assert_int_eq(note(&state, &check, "-+-+"), 0);
    ck_assert_int_eq(up_health_good(&state, &check), 0);
    atomic_store(&state.fails, 7);
    ck_assert_int_eq(note(&state, &check, "+"), 1);
    ck_assert_int_eq(up_health_good(&state, &check), 1);
    ck_assert_int_eq(atomic_load(&state.fails), 0);
    ck_assert_int_eq(note(&state, &check, "+"), 0);
}
END_TEST

START_TEST(mandatory_and_restarts)
{
    const up_check_t check = { .fails = 1, .passes = 3, .mandatory = 1 };
    const up_check_t kept = { .mandatory = 1, .persistent = 1 };
    up_peerstate_t state = { .fails = 0 };

    ck_assert_int_eq(up_health_good(&state, &check), 0);
    ck_assert_int_eq(note(&state, &check, "+"), 1);
    ck_assert_int_eq(up_health_good(&state, &check), 1);
    up_health_restored(&state, &kept);
    ck_assert_int_eq(up_health_good(&state, &kept), 1);
    up_health_restored(&state, &check);
    ck_assert_int_eq(up_health_good(&state, &check), 0);
    ck_assert_int_eq(note(&state, &check, "-"), 1);
    ck_assert_int_eq(up_health_good(&state, NULL), 1);
}
END_TEST

START_TEST(drains)
{
    const up_check_t check = { .fails = 2, .passes = 1, .drain = 404 };
    up_peerstate_t state = { .fails = 0 };

    ck_assert_int_eq(note(&state, &check, "+d"), 1);
    ck_assert_int_eq(up_health_good(&state, &check), 0);
    ck_assert_int_eq(up_health_drains(&state, &check), 1);
    ck_assert_int_eq(up_health_drains(&state, NULL), 0);
    ck_assert_int_eq(note(&state, &check, "d"), 0);
    ck_assert_int_eq(note(&state, &check, "-"), 0);
    ck_assert_int_eq(note(&state, &check, "-"), 1);
    ck_assert_int_eq(up_health_drains(&state, &check), 0);
    ck_assert_int_eq(note(&state, &check, "+"), 1);
    ck_assert_int_eq(up_health_good(&state, &check), 1);
}
END_TEST

START_TEST(leases)
{
    const up_check_t check = { .timeout = 2 * SECOND,
                               .interval = 5 * SECOND };
    up_peerstate_t state = { .fails = 0 };
    apr_time_t next = 100 * SECOND;
    apr_time_t now = 50 * SECOND;

    ck_assert_int_eq(up_health_claim(&state, &check, now, &next), 1);
    /* somebody else, while it is under way */
    ck_assert_int_eq(up_health_claim(&state, &check, now, &next), 0);
    ck_assert(next == now + 3 * SECOND);
    /* the first one has died */
    ck_assert_int_eq(up_health_claim(&state, &check, next, &next), 1);
    up_health_schedule(&state, now + 5 * SECOND);
    next = 100 * SECOND;
    ck_assert_int_eq(up_health_claim(&state, &check, now, &next), 0);
    ck_assert(next == now + 5 * SECOND);
    /* the clock has been set back by a lot */
    ck_assert_int_eq(up_health_claim(&state, &check, SECOND, &next), 1);
}
END_TEST

Suite *unit_health(void)
{
    Suite *suite = suite_create("health");
    TCase *tests = tcase_create("health");

    tcase_add_test(tests, in_a_row);
    tcase_add_test(tests, mandatory_and_restarts);
    tcase_add_test(tests, drains);
    tcase_add_test(tests, leases);
    suite_add_tcase(suite, tests);
    return suite;
}
