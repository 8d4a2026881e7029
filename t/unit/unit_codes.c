/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Unit tests of config/codes.c: sets of statuses.
 */

#include "config/codes.h"
#include "t/unit/up_unit.h"

START_TEST(test_words)
{
    up_codes_t codes = { { 0 } };

    ck_assert(!up_codes_has(&codes, 404));
    ck_assert(up_codes_add(&codes, "404") == NULL);
    ck_assert(up_codes_add(&codes, "500-502") == NULL);
    ck_assert(up_codes_add(&codes, "300-300") == NULL);
    ck_assert(up_codes_add(&codes, "599") == NULL);
    ck_assert(up_codes_has(&codes, 404));
    ck_assert(up_codes_has(&codes, 300));
    ck_assert(!up_codes_has(&codes, 301));
    ck_assert(!up_codes_has(&codes, 499));
    ck_assert(up_codes_has(&codes, 500));
    ck_assert(up_codes_has(&codes, 502));
    ck_assert(!up_codes_has(&codes, 503));
    ck_assert(up_codes_has(&codes, 599));
    ck_assert(!up_codes_has(&codes, 600));
    ck_assert(!up_codes_has(&codes, 299));
    ck_assert(!up_codes_has(&codes, -1));
}
END_TEST

static const char *const bad[] = {
    "", "4", "40", "4040", "299", "600", "502-500", "500-", "-500", "500-600",
    "500-5020", "500 ", "x", "5xx", "500-502-504", "200-404"
};

START_TEST(test_bad)
{
    up_codes_t codes = { { 0 } };
    int status;

    ck_assert_msg(up_codes_add(&codes, bad[_i]) != NULL, "\"%s\"", bad[_i]);
    for (status = 0; status < 700; status++) {
        ck_assert(!up_codes_has(&codes, status));
    }
}
END_TEST

START_TEST(test_all)
{
    up_codes_t codes = { { 0 } };
    int status;

    up_codes_add_all(&codes);
    for (status = 0; status < 700; status++) {
        ck_assert_int_eq(up_codes_has(&codes, status),
                         status >= 300 && status <= 599);
    }
}
END_TEST

Suite *unit_codes(void)
{
    Suite *suite = suite_create("codes");
    TCase *tc = unit_case(suite, "sets");

    tcase_add_test(tc, test_words);
    tcase_add_loop_test(tc, test_bad, 0, COUNT(bad));
    tcase_add_test(tc, test_all);
    return suite;
}
