/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The time to live of answers: the shortest, and none of what is broken.
 */

#include "config/dns_ttl.h"
#include "t/unit/up_unit.h"

#include <string.h>

#define HEAD(questions, records)                                              \
    "\x12\x34\x81\x80\0" questions "\0" records "\0\0\0\0"
#define QUESTION "\1a\4test\0\0\x21\0\1"
#define RECORD(ttl, data) "\xc0\x0c\0\x21\0\1" ttl "\0\4" data

#define TTL(text) up_dnsttl_of((const unsigned char *)(text), sizeof(text) - 1)

START_TEST(the_shortest_counts)
{
    ck_assert_int_eq(TTL(HEAD("\1", "\1") QUESTION
                         RECORD("\0\0\0\x3c", "abcd")), 60);
    ck_assert_int_eq(TTL(HEAD("\1", "\2") QUESTION
                         RECORD("\0\1\0\0", "abcd")
                         RECORD("\0\0\0\5", "abcd")), 5);
    ck_assert_int_eq(TTL(HEAD("\0", "\1") "\1a\0\0\x21\0\1\0\0\0\7\0\0"), 7);
    ck_assert_int_eq(TTL(HEAD("\1", "\1") QUESTION
                         RECORD("\x7f\xff\xff\xff", "abcd")), 0x7fffffff);
    ck_assert_int_eq(TTL(HEAD("\1", "\1") QUESTION
                         RECORD("\x80\0\0\1", "abcd")), 0);
}
END_TEST

START_TEST(nothing_of_what_is_broken)
{
    static const char good[] = HEAD("\1", "\1") QUESTION
                               RECORD("\0\0\0\x3c", "abcd");
    apr_size_t len;

    for (len = 0; len < sizeof(good) - 1; len++) {
        ck_assert_int_eq(up_dnsttl_of((const unsigned char *)good, len), 0);
    }
    ck_assert_int_eq(TTL(HEAD("\1", "\0") QUESTION), 0);
    ck_assert_int_eq(TTL(HEAD("\1", "\1") "\x40" "a\0\0\x21\0\1"), 0);
    ck_assert_int_eq(TTL(HEAD("\1", "\2") QUESTION
                         RECORD("\0\0\0\x3c", "abcd")), 0);
}
END_TEST

Suite *unit_dns_ttl(void)
{
    Suite *suite = suite_create("dns_ttl");
    TCase *tc = unit_case(suite, "dns_ttl");

    tcase_add_test(tc, the_shortest_counts);
    tcase_add_test(tc, nothing_of_what_is_broken);
    return suite;
}
