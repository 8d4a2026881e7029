/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Unit tests of exchange/cookies.c: Set-Cookie fields taken apart.
 */

#include <string.h>

#include "apr_cstr.h"
#include "apr_strings.h"
#include "exchange/cookies.h"
#include "t/unit/up_unit.h"

/* Parts as "name|value" (no |: no value), joined with newlines; NULL: not to
 * be touched. */
static const struct {
    const char *line, *parts;
} lines[] = {
    { "a=1", "a|1" },
    { " a = 1 ;Path=/x ; Secure", "a|1\nPath|/x\nSecure" },
    { "a=", "a|" },
    { "=1", "|1" },
    { "a=b=c; x=y=z", "a|b=c\nx|y=z" },
    { "a=1;", "a|1\n" },
    { "a=1;;x", "a|1\n\nx" },
    { "a=\"x; Path=/y\"; Path=/z", "a|\"x; Path=/y\"\nPath|/z" },
    { "a=\"x\\\"; y\"; z", "a|\"x\\\"; y\"\nz" },
    { "a=\"x; Path=/y", "a|\"x\nPath|/y" },
    { "a=\"x\"y; z\"; b", "a|\"x\"y\nz\"\nb" },
    { "a=x\"y; z\"", "a|x\"y\nz\"" },
    { "a=\"\\", "a|\"\\" },
    { "a=1; path = \"/x\" ", "a|1\npath|\"/x\"" },
    { "a", NULL },
    { "", NULL },
    { "; a=1", NULL },
    { "Secure; a=1", NULL },
};

START_TEST(test_parse)
{
    const char *got = NULL;
    up_cookie_t cookie;
    int i;

    if (!up_cookie_parse(unit_pool, lines[_i].line, &cookie)) {
        ck_assert_msg(lines[_i].parts == NULL, "%s", lines[_i].line);
        return;
    }
    for (i = 0; i < cookie.parts->nelts; i++) {
        const up_cookie_part_t *part =
            &APR_ARRAY_IDX(cookie.parts, i, up_cookie_part_t);

        got = apr_pstrcat(unit_pool, got ? got : "", i ? "\n" : "",
                          part->name, part->value ? "|" : "",
                          part->value ? part->value : "", NULL);
    }
    ck_assert_msg(lines[_i].parts != NULL, "%s", lines[_i].line);
    ck_assert_str_eq(got, lines[_i].parts);
    ck_assert(!cookie.changed);
}
END_TEST

START_TEST(test_replace)
{
    up_cookie_t cookie;

    ck_assert(up_cookie_parse(unit_pool,
                              "Path=/v; xPath=/a; Path=/b ;path=\"/c\"; path",
                              &cookie));
    ck_assert(!up_cookie_is(&cookie, 0, "Path"));
    ck_assert(!up_cookie_is(&cookie, 1, "Path"));
    ck_assert(up_cookie_is(&cookie, 2, "Path"));
    ck_assert(up_cookie_is(&cookie, 3, "Path"));
    ck_assert(!up_cookie_is(&cookie, 4, "Path"));
    ck_assert_str_eq(up_cookie_value(&cookie, 2), "/b");
    ck_assert_str_eq(up_cookie_value(&cookie, 3), "/c");
    up_cookie_replace(&cookie, 3, "/d");
    ck_assert(cookie.changed);
    up_cookie_replace(&cookie, 2, "/e");
    ck_assert_str_eq(up_cookie_print(&cookie),
                     "Path=/v; xPath=/a; Path=/e; path=\"/d\"; path");
    up_cookie_replace(&cookie, 2, "");
    up_cookie_replace(&cookie, 2, "");
    ck_assert_str_eq(up_cookie_print(&cookie), "Path=/v; xPath=/a; path");
}
END_TEST

static const struct {
    const char *line, *words, *want; /* want NULL: unchanged */
} flags[] = {
    { "a=1", "secure", "a=1; Secure" },
    { "a=1; secure", "secure", NULL },
    { "a=1; Secure=1; x", "secure", NULL },
    { "a=1; Secure; x; SECURE", "nosecure", "a=1; x" },
    { "a=1; Insecure", "nosecure", NULL },
    { "secure=1", "nosecure", NULL },
    { "a=\"1; Secure\"", "secure", "a=\"1; Secure\"; Secure" },
    { "a=1", "httponly", "a=1; HttpOnly" },
    { "a=1; HTTPonly", "nohttponly", "a=1" },
    { "a=1", "samesite=strict", "a=1; SameSite=Strict" },
    { "a=1; samesite=none; x", "samesite=lax", "a=1; samesite=Lax; x" },
    { "a=1; samesite", "SameSite=None", "a=1; samesite=None" },
    { "a=1; SameSite=Lax", "nosamesite", "a=1" },
    { "a=1", "samesite=none samesite=strict", "a=1; SameSite=Strict" },
    { "a=1", "samesite=lax httponly secure",
      "a=1; Secure; HttpOnly; SameSite=Lax" },
    { "a=1; Secure", "nosecure secure", NULL },
    { "a=1", "nosecure nohttponly nosamesite", NULL },
};

START_TEST(test_flags)
{
    char *words = apr_pstrdup(unit_pool, flags[_i].words);
    unsigned int mask = 0;
    up_cookie_t cookie;
    const char *word;

    while ((word = apr_cstr_tokenize(" ", &words)) != NULL) {
        ck_assert(up_cookie_flag(word) != 0);
        mask |= up_cookie_flag(word);
    }
    ck_assert(up_cookie_parse(unit_pool, flags[_i].line, &cookie));
    up_cookie_apply(&cookie, mask);
    ck_assert_int_eq(cookie.changed, flags[_i].want != NULL);
    if (flags[_i].want) {
        ck_assert_str_eq(up_cookie_print(&cookie), flags[_i].want);
    }
}
END_TEST

START_TEST(test_words)
{
    ck_assert_int_eq(up_cookie_flag("secur"), 0);
    ck_assert_int_eq(up_cookie_flag("samesite"), 0);
    ck_assert_int_eq(up_cookie_flag("samesite=x"), 0);
    ck_assert_int_eq(up_cookie_flag(""), 0);
    ck_assert(up_cookie_same_domain("Example.org", "example.ORG"));
    ck_assert(up_cookie_same_domain(".example.org", "example.org"));
    ck_assert(up_cookie_same_domain("example.org", ".example.org"));
    ck_assert(!up_cookie_same_domain("example.org", "..example.org"));
    ck_assert(!up_cookie_same_domain("example.org", "a.example.org"));
    ck_assert(!up_cookie_same_domain("example.org", ""));
    ck_assert(up_cookie_fits("/a b\xe9"));
    ck_assert(!up_cookie_fits("/a;b"));
    ck_assert(!up_cookie_fits("/a\tb"));
    ck_assert(!up_cookie_fits("/a\x7f"));
}
END_TEST

Suite *unit_cookies(void)
{
    Suite *suite = suite_create("cookies");
    TCase *tc = unit_case(suite, "lines");

    tcase_add_loop_test(tc, test_parse, 0, COUNT(lines));
    tcase_add_test(tc, test_replace);
    tcase_add_loop_test(tc, test_flags, 0, COUNT(flags));
    tcase_add_test(tc, test_words);
    return suite;
}
