/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Unit tests of exchange/etags.c: lists of entity tags.
 */

#include "exchange/etags.h"
#include "t/unit/up_unit.h"

static const struct {
    const char *list, *want;
} lists[] = {
    { "\"a-gzip\"", "\"a\"" },
    { "W/\"a-gzip\", \"b\",\"c-gzip\"", "W/\"a\", \"b\",\"c\"" },
    { "\"a-gzip-gzip\"", "\"a-gzip\"" },
    { "\"-gzip\"", "\"-gzip\"" },
    { "\"a-gzipb\"", "\"a-gzipb\"" },
    { "\"a\"-gzip\"b\"", "\"a\"-gzip\"b\"" },
    { "a-gzip\"", "a-gzip\"" },
    { "\"a-gzip", "\"a-gzip" },
    { "*", "*" },
    { "", "" },
};

START_TEST(test_strip)
{
    ck_assert_str_eq(up_etags_strip(unit_pool, lists[_i].list, "-gzip"),
                     lists[_i].want);
}
END_TEST

Suite *unit_etags(void)
{
    Suite *suite = suite_create("etags");
    TCase *tc = unit_case(suite, "lists");

    tcase_add_loop_test(tc, test_strip, 0, COUNT(lists));
    return suite;
}
