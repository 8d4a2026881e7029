/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Unit tests of exchange/accel.c: the values of X-Accel-* fields.
 */

#include "exchange/accel.h"
#include "t/unit/up_unit.h"

START_TEST(test_numbers)
{
    apr_time_t now = apr_time_from_sec(1000);

    ck_assert_int_eq(up_accel_buffering("YES"), 1);
    ck_assert_int_eq(up_accel_buffering("no"), 0);
    ck_assert_int_eq(up_accel_buffering("no "), -1);
    ck_assert_int_eq(up_accel_buffering(NULL), -1);
    ck_assert_int_eq(up_accel_rate("4096"), 4096);
    ck_assert_int_eq(up_accel_rate("0"), 0);
    ck_assert_int_eq(up_accel_rate("99999999999"), APR_INT32_MAX);
    ck_assert_int_eq(up_accel_rate("99999999999999999999"), -1);
    ck_assert_int_eq(up_accel_rate("4k"), -1);
    ck_assert_int_eq(up_accel_rate("-1"), -1);
    ck_assert_int_eq(up_accel_rate(""), -1);
    ck_assert_int_eq(up_accel_rate(NULL), -1);
    ck_assert_int_eq(up_accel_expires("60", now), 60);
    ck_assert_int_eq(up_accel_expires("0", now), 0);
    ck_assert_int_eq(up_accel_expires("@1060", now), 60);
    ck_assert_int_eq(up_accel_expires("@999", now), 0);
    ck_assert_int_eq(up_accel_expires("@", now), -1);
    ck_assert_int_eq(up_accel_expires("off", now), -1);
    ck_assert_int_eq(up_accel_expires("@-5", now), -1);
    ck_assert_int_eq(up_accel_expires(NULL, now), -1);
    ck_assert_int_eq(up_accel_expires("99999999999", now), APR_INT32_MAX);
}
END_TEST

static const struct {
    const char *type, *charset, *want;
} types[] = {
    { "text/html", "utf-8", "text/html; charset=utf-8" },
    { "text/html; charset=koi8-r", "utf-8", "text/html; charset=utf-8" },
    { "text/html ;Charset = \"a;b\"; x=y", "u", "text/html; x=y; charset=u" },
    { "a/b; mycharset=1", "u", "a/b; mycharset=1; charset=u" },
    { "a/b; x=\"; charset=1\"", "u", "a/b; x=\"; charset=1\"; charset=u" },
    { "a/b;", "u", "a/b;; charset=u" },
    { "a/b; x=\"\\", "u", "a/b; x=\"\\; charset=u" },
    { "a/b", "", NULL },
    { "a/b", "u v", NULL },
    { "a/b", "u;x=1", NULL },
};

START_TEST(test_charset)
{
    const char *got = up_accel_charset(unit_pool, types[_i].type,
                                       types[_i].charset);

    if (types[_i].want) {
        ck_assert(got != NULL);
        ck_assert_str_eq(got, types[_i].want);
    }
    else {
        ck_assert(got == NULL);
    }
}
END_TEST

START_TEST(test_streams)
{
    apr_array_header_t *list = apr_array_make(unit_pool, 2, sizeof(char *));

    ck_assert(!up_accel_streams(list, "text/event-stream"));
    APR_ARRAY_PUSH(list, const char *) = "text/event-stream";
    APR_ARRAY_PUSH(list, const char *) = "application/grpc*";
    ck_assert(up_accel_streams(list, "text/event-stream"));
    ck_assert(up_accel_streams(list, "Text/Event-Stream;charset=utf-8"));
    ck_assert(up_accel_streams(list, "text/event-stream ; a=b"));
    ck_assert(!up_accel_streams(list, "text/event-streams"));
    ck_assert(!up_accel_streams(list, "text/event"));
    ck_assert(up_accel_streams(list, "application/grpc"));
    ck_assert(up_accel_streams(list, "application/grpc-web+proto"));
    ck_assert(!up_accel_streams(list, "application/gr"));
    ck_assert(!up_accel_streams(list, ""));
    ck_assert(!up_accel_streams(list, NULL));
    APR_ARRAY_PUSH(list, const char *) = "*";
    ck_assert(up_accel_streams(list, "text/plain"));
}
END_TEST

static const struct {
    const char *value, *want;
} controls[] = {
    { NULL, "s-maxage=9" },
    { "", "s-maxage=9" },
    { "max-age=60", "s-maxage=9, max-age=60" },
    { "S-Maxage=1,max-age=60 , s-maxage =2", "s-maxage=9, max-age=60 " },
    { "private=\"a, s-maxage=1\", public",
      "s-maxage=9, private=\"a, s-maxage=1\", public" },
    { "s-maxagex=1", "s-maxage=9, s-maxagex=1" },
    { ",, ,", "s-maxage=9" },
    { "a=\"", "s-maxage=9, a=\"" },
};

START_TEST(test_control)
{
    ck_assert_str_eq(up_accel_cache_control(unit_pool, controls[_i].value, 9),
                     controls[_i].want);
}
END_TEST

static const struct {
    const char *value, *path, *args;
} paths[] = {
    { "/a/b", "/a/b", NULL },
    { "/a%20b?c%20d", "/a b", "c%20d" },
    { "/a%3Fb?", "/a?b", "" },
    { "/a?b?c", "/a", "b?c" },
    { "/100%", "/100%", NULL },
    { "/100%2", "/100%2", NULL },
    { "/%zz", "/%zz", NULL },
    { "/%252e%252e/", "/%2e%2e/", NULL },
    { "/a..b/...", "/a..b/...", NULL },
    { "/caf\xc3\xa9", "/caf\xc3\xa9", NULL },
    { "/..", NULL, NULL },
    { "/a/../b", NULL, NULL },
    { "/a/%2e%2E/b", NULL, NULL },
    { "/a%2f..", NULL, NULL },
    { "/a%00b", NULL, NULL },
    { "/a%0d%0aX: y", NULL, NULL },
    { "", NULL, NULL },
    { "a/b", NULL, NULL },
    { "?a", NULL, NULL },
    { "http://x/", NULL, NULL },
};

START_TEST(test_path)
{
    const char *args = "unset";
    const char *path = up_accel_path(unit_pool, paths[_i].value, &args);

    if (paths[_i].path == NULL) {
        ck_assert_msg(path == NULL, "%s", paths[_i].value);
        return;
    }
    ck_assert_msg(path != NULL, "%s", paths[_i].value);
    ck_assert_str_eq(path, paths[_i].path);
    if (paths[_i].args) {
        ck_assert_str_eq(args, paths[_i].args);
    }
    else {
        ck_assert(args == NULL);
    }
}
END_TEST

START_TEST(test_named)
{
    ck_assert(up_accel_named("@a"));
    ck_assert(up_accel_named("@fall-back_2.x"));
    ck_assert(!up_accel_named("@"));
    ck_assert(!up_accel_named("a"));
    ck_assert(!up_accel_named(""));
    ck_assert(!up_accel_named("@a/b"));
    ck_assert(!up_accel_named("@.."));
    ck_assert(!up_accel_named("@a b"));
    ck_assert(!up_accel_named("@a?b"));
    ck_assert(!up_accel_named("@\xe9"));
}
END_TEST

Suite *unit_accel(void)
{
    Suite *suite = suite_create("accel");
    TCase *tc = unit_case(suite, "values");

    tcase_add_test(tc, test_numbers);
    tcase_add_loop_test(tc, test_charset, 0, COUNT(types));
    tcase_add_test(tc, test_streams);
    tcase_add_loop_test(tc, test_control, 0, COUNT(controls));
    tcase_add_loop_test(tc, test_path, 0, COUNT(paths));
    tcase_add_test(tc, test_named);
    return suite;
}
