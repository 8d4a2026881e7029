/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Unit tests of exchange/fields.c: names of fields and what Connection says
 * about them.
 */

#include "exchange/fields.h"
#include "t/unit/up_unit.h"

START_TEST(test_is)
{
    ck_assert(up_field_is("content-LENGTH", "Content-Length"));
    ck_assert(!up_field_is("Content-Lengt", "Content-Length"));
    ck_assert(!up_field_is("Content-Lengthy", "Content-Length"));
    ck_assert(!up_field_is("", "a"));
    /* only letters have a case */
    ck_assert(!up_field_is("A@", "A`"));
    ck_assert(!up_field_is("[", "{"));
}
END_TEST

START_TEST(test_name_ok)
{
    ck_assert(up_field_name_ok("X-Odd.x_y~1!#$%&'*+^`|"));
    ck_assert(!up_field_name_ok(""));
    ck_assert(!up_field_name_ok("X Bad"));
    ck_assert(!up_field_name_ok("X@"));
    ck_assert(!up_field_name_ok("X("));
    ck_assert(!up_field_name_ok("X\x01"));
    ck_assert(!up_field_name_ok("X\xe9"));
    ck_assert(!up_field_name_ok("X\r\nY"));
}
END_TEST

static const char *const hops[] = {
    "Connection", "keep-alive", "PROXY-CONNECTION", "te", "Trailer",
    "transfer-encoding", "Upgrade",
};

static const char *const ours[] = {
    "content-length", "Host", "expect", "http2-settings",
};

START_TEST(test_hop)
{
    ck_assert(up_field_is_hop(hops[_i]));
    ck_assert(up_field_is_ours(hops[_i]));
}
END_TEST

START_TEST(test_ours)
{
    ck_assert(!up_field_is_hop(ours[_i]));
    ck_assert(up_field_is_ours(ours[_i]));
}
END_TEST

START_TEST(test_far_end)
{
    ck_assert(!up_field_is_ours("Authorization"));
    ck_assert(!up_field_is_ours("Proxy-Authorization"));
    ck_assert(!up_field_is_ours("Tea"));
    ck_assert(!up_field_is_ours("Hosts"));
    ck_assert(!up_field_is_ours(""));
}
END_TEST

START_TEST(test_trailer)
{
    static const char *const good[] = {
        "grpc-status", "Server-Timing", "Content-Digest", "ETag", "X-Sum",
    };
    static const char *const bad[] = {
        "Content-Length", "transfer-encoding", "Trailer", "HOST", "Expect",
        "Connection", "TE", "Authorization", "Set-Cookie", "Cookie",
        "Cache-Control", "Content-Type", "Content-Range", "Location",
        "X-Forwarded-For", "If-None-Match", "Range", "X Y", "X\xe9", "",
    };
    int i;

    for (i = 0; i < COUNT(good); i++) {
        ck_assert_msg(up_field_fits_trailer(good[i]), "%s", good[i]);
    }
    for (i = 0; i < COUNT(bad); i++) {
        ck_assert_msg(!up_field_fits_trailer(bad[i]), "%s", bad[i]);
    }
}
END_TEST

START_TEST(test_nominated)
{
    up_nominated_t nominated;

    up_nominated_init(&nominated, unit_pool);
    ck_assert(!up_nominated_has(&nominated, "X-A"));
    up_nominated_add(&nominated, "close, keep-alive,Upgrade");
    ck_assert_ptr_null(nominated.names);
    up_nominated_add(&nominated, " ,, X-A ,x-b");
    up_nominated_add(&nominated, "X-C,");
    ck_assert(up_nominated_has(&nominated, "x-a"));
    ck_assert(up_nominated_has(&nominated, "X-B"));
    ck_assert(up_nominated_has(&nominated, "X-C"));
    ck_assert(!up_nominated_has(&nominated, "X"));
    up_nominated_add(&nominated, "X-Forwarded-For, authorization, COOKIE");
    ck_assert(!up_nominated_has(&nominated, "X-Forwarded-For"));
    ck_assert(!up_nominated_has(&nominated, "Authorization"));
    ck_assert(!up_nominated_has(&nominated, "Cookie"));
    up_nominated_add(&nominated, "");
    ck_assert_int_eq(nominated.names->nelts, 3);
}
END_TEST

Suite *unit_fields(void)
{
    Suite *suite = suite_create("fields");
    TCase *tc = unit_case(suite, "fields");

    tcase_add_test(tc, test_is);
    tcase_add_test(tc, test_name_ok);
    tcase_add_loop_test(tc, test_hop, 0, COUNT(hops));
    tcase_add_loop_test(tc, test_ours, 0, COUNT(ours));
    tcase_add_test(tc, test_far_end);
    tcase_add_test(tc, test_trailer);
    tcase_add_test(tc, test_nominated);
    return suite;
}
