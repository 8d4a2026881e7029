/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Unit tests of exchange/uri_map.c: raw against decoded paths, escaping.
 */

#include "exchange/uri_map.h"
#include "t/unit/up_unit.h"

/* rest NULL: no match */
static const struct {
    const char *raw;
    const char *decoded;
    apr_size_t prefix;
    const char *rest;
} matches[] = {
    { "/p/a", "/p/a", 3, "a" },
    { "/p/", "/p/", 3, "" },
    { "/p", "/p", 2, "" },
    { "/p/a?x=%20", "/p/a", 3, "a?x=%20" },
    { "/p/a#f", "/p/a", 3, "a#f" },
    { "/%70/a", "/p/a", 3, "a" },
    { "/p%2Fa", "/p%2Fa", 2, "%2Fa" },
    { "/p/a%2Fb", "/p/a%2Fb", 3, "a%2Fb" },
    { "/p/a%2fb", "/p/a/b", 3, "a%2fb" },
    { "/p/a%252Fb", "/p/a%2Fb", 3, "a%252Fb" },
    { "/p/%e2%82%ac", "/p/\xe2\x82\xac", 3, "%e2%82%ac" },
    { "/p/%25", "/p/%", 3, "%25" },
    { "", "", 0, "" },
    /* what normalising changed */
    { "/p//a", "/p/a", 3, NULL },
    { "/p/./a", "/p/a", 3, NULL },
    { "/p/x/../a", "/p/a", 3, NULL },
    { "/p/%2e/a", "/p/a", 3, NULL },
    /* one longer than the other */
    { "/p/a", "/p/ab", 3, NULL },
    { "/p/ab", "/p/a", 3, NULL },
    { "/p", "/p", 3, NULL },
    { "?x", "/", 1, NULL },
    /* prefix inside an encoded slash; NUL; a kept slash in another case */
    { "/p%2Fa", "/p%2Fa", 3, NULL },
    { "/p/%00", "/p/", 3, NULL },
    { "/p/a%2fb", "/p/a%2Fb", 3, NULL },
    /* half escapes are bytes */
    { "/p/%4", "/p/%4", 3, "%4" },
    { "/p/%", "/p/%", 3, "%" },
    { "/p/%zz", "/p/%zz", 3, "%zz" },
};

START_TEST(test_match)
{
    const char *rest;
    int matched = up_urimap_match(matches[_i].raw, matches[_i].decoded,
                                  matches[_i].prefix, &rest);

    ck_assert_int_eq(matched, matches[_i].rest != NULL);
    if (matched) {
        ck_assert_str_eq(rest, matches[_i].rest);
    }
}
END_TEST

START_TEST(test_escape)
{
    ck_assert_str_eq(up_urimap_escape(unit_pool, "", 1), "");
    ck_assert_str_eq(up_urimap_escape(unit_pool, "/a-_.~!$&'()*+,;=:@b", 1),
                     "/a-_.~!$&'()*+,;=:@b");
    ck_assert_str_eq(up_urimap_escape(unit_pool,
                                      "\"#%<>?\\^`{|} \t\x7f\xff", 1),
                     "%22%23%25%3C%3E%3F%5C%5E%60%7B%7C%7D%20%09%7F%FF");
    ck_assert_str_eq(up_urimap_escape(unit_pool, "a%2Fb%2fc%25", 1),
                     "a%2Fb%2fc%2525");
    ck_assert_str_eq(up_urimap_escape(unit_pool, "a%2Fb", 0), "a%252Fb");
    ck_assert_str_eq(up_urimap_escape(unit_pool, "\r\nX: y", 1),
                     "%0D%0AX:%20y");
}
END_TEST

START_TEST(test_protect)
{
    ck_assert_str_eq(up_urimap_protect(unit_pool, "a%7Bb%7D%20c%25d", 16),
                     "a%7Bb%7D%20c%25d");
    ck_assert_str_eq(up_urimap_protect(unit_pool, "a{b}|%7b\xe9?", 10),
                     "a%7Bb%7D%7C%7b%E9%3F");
    ck_assert_str_eq(up_urimap_protect(unit_pool, "100%", 4), "100%25");
    /* an escape that the length cuts is none */
    ck_assert_str_eq(up_urimap_protect(unit_pool, "%41", 2), "%254");
    ck_assert_str_eq(up_urimap_protect(unit_pool, "abc", 0), "");
}
END_TEST

START_TEST(test_clean)
{
    ck_assert(up_urimap_clean("/a%20b?c#\xff\x80"));
    ck_assert(!up_urimap_clean("/a b"));
    ck_assert(!up_urimap_clean("/a\tb"));
    ck_assert(!up_urimap_clean("/a\r\nb"));
    ck_assert(!up_urimap_clean("/a\x7f"));
    ck_assert(!up_urimap_clean("/?a b"));
}
END_TEST

START_TEST(test_climbs)
{
    ck_assert(up_urimap_climbs("/p/..%2Fb"));
    ck_assert(up_urimap_climbs("/p/..%2fb"));
    ck_assert(up_urimap_climbs("/p%2F../b"));
    ck_assert(up_urimap_climbs("/p%2F.."));
    ck_assert(up_urimap_climbs("/p/%2e%2E%2Fb"));
    ck_assert(up_urimap_climbs("/a%2Fb/../c"));
    ck_assert(!up_urimap_climbs("/p/a%2Fb"));
    ck_assert(!up_urimap_climbs("/p/../b"));
    ck_assert(!up_urimap_climbs("/p/...%2Fb"));
    ck_assert(!up_urimap_climbs("/p/a..%2Fb"));
    ck_assert(!up_urimap_climbs("/p/..a%2Fb"));
    ck_assert(!up_urimap_climbs("/p/b?x=..%2F"));
    ck_assert(!up_urimap_climbs("/p/b#..%2F"));
    ck_assert(!up_urimap_climbs("*"));
}
END_TEST

START_TEST(test_target)
{
    ck_assert_str_eq(up_urimap_protect_target(unit_pool, "/a b?c d?e#f"),
                     "/a%20b?c%20d?e%23f");
    ck_assert_str_eq(up_urimap_protect_target(unit_pool, "/%41%zz\r\n"),
                     "/%41%25zz%0D%0A");
    ck_assert_str_eq(up_urimap_protect_target(unit_pool, ""), "");
}
END_TEST

START_TEST(test_parent)
{
    ck_assert(up_urimap_has_parent("/.."));
    ck_assert(up_urimap_has_parent("/a/../b"));
    ck_assert(up_urimap_has_parent("/a/%2e%2E/b"));
    ck_assert(up_urimap_has_parent("/a/.%2e"));
    ck_assert(up_urimap_has_parent("/a%2F..%2Fb"));
    ck_assert(!up_urimap_has_parent("/a/.../b"));
    ck_assert(!up_urimap_has_parent("/a/..b"));
    ck_assert(!up_urimap_has_parent("/a?b=/../"));
    ck_assert(!up_urimap_has_parent("/%252e%252e/"));
}
END_TEST

START_TEST(test_double)
{
    ck_assert(up_urimap_has_double("/a%252Fb"));
    ck_assert(up_urimap_has_double("/a%25%252fb"));
    ck_assert(!up_urimap_has_double("/a%2Fb%25"));
    ck_assert(!up_urimap_has_double("/a%252"));
}
END_TEST

Suite *unit_uri_map(void)
{
    Suite *suite = suite_create("uri_map");
    TCase *tc = unit_case(suite, "uri_map");

    tcase_add_loop_test(tc, test_match, 0, COUNT(matches));
    tcase_add_test(tc, test_escape);
    tcase_add_test(tc, test_protect);
    tcase_add_test(tc, test_clean);
    tcase_add_test(tc, test_climbs);
    tcase_add_test(tc, test_target);
    tcase_add_test(tc, test_parent);
    tcase_add_test(tc, test_double);
    return suite;
}
