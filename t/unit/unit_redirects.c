/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Unit tests of exchange/redirects.c: URLs in fields.
 */

#include "exchange/redirects.h"
#include "t/unit/up_unit.h"

static void same(const char *got, const char *want)
{
    if (want) {
        ck_assert(got != NULL);
        ck_assert_str_eq(got, want);
    }
    else {
        ck_assert(got == NULL);
    }
}

START_TEST(test_refresh)
{
    same(up_redirect_refresh("5; url=http://b/x"), "http://b/x");
    same(up_redirect_refresh("5;URL=\"http://b/x\""), "http://b/x\"");
    same(up_redirect_refresh("0;Url='/x'"), "/x'");
    same(up_redirect_refresh("0;url=/a?url=/b"), "/a?url=/b");
    same(up_redirect_refresh("url="), "");
    same(up_redirect_refresh("ur"), NULL);
    same(up_redirect_refresh("5"), NULL);
    same(up_redirect_refresh(""), NULL);
}
END_TEST

START_TEST(test_swap)
{
    same(up_redirect_swap(unit_pool, "http://b/x", "http://b/", "/p/"),
         "/p/x");
    same(up_redirect_swap(unit_pool, "http://b", "http://b/", "/p/"), NULL);
    same(up_redirect_swap(unit_pool, "HTTP://b/", "http://b/", "/p/"), NULL);
    same(up_redirect_swap(unit_pool, "/a", "/a", ""), "");
    same(up_redirect_swap(unit_pool, "/a", "", "/b"), NULL);
}
END_TEST

START_TEST(test_expand)
{
    static const up_capture_t found[] = { { 0, 5 }, { 1, 3 }, { -1, -1 },
                                          { 4, 4 } };

    same(up_redirect_expand(unit_pool, "<$0|$1|$2|$3|$4|$9>", "abcde", found,
                            4), "<abcde|bc||||>");
    same(up_redirect_expand(unit_pool, "$10$", "abcde", found, 4), "bc0$");
    same(up_redirect_expand(unit_pool, "$$1 $x ${1}", "abcde", found, 4),
         "$bc $x ${1}");
    same(up_redirect_expand(unit_pool, "", "abcde", found, 4), "");
}
END_TEST

Suite *unit_redirects(void)
{
    Suite *suite = suite_create("redirects");
    TCase *tc = unit_case(suite, "values");

    tcase_add_test(tc, test_refresh);
    tcase_add_test(tc, test_swap);
    tcase_add_test(tc, test_expand);
    return suite;
}
