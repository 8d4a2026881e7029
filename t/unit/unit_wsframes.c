/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Where WebSocket frames end: exchange/wsframes.c.
 */

#include "exchange/wsframes.h"
#include "t/unit/up_unit.h"

#include <stdlib.h>
#include <string.h>

/* Each row is whole frames; `ends` is where one may follow. */
typedef struct row_t {
    const char *bytes;
    apr_size_t len;
    int between;
} row_t;

#define MASK "\1\2\3\4"

static const row_t rows[] = {
    { LIT(""), 1 },
    { LIT("\x81"), 0 },
    { LIT("\x81\x00"), 1 },
    { LIT("\x81\x02" "ab"), 1 },
    { LIT("\x81\x03" "ab"), 0 },
    { LIT("\x81\x82" MASK "ab"), 1 },
    { LIT("\x81\x82" MASK), 0 },
    { LIT("\x81\x80" "\1\2\3"), 0 },
    { LIT("\x81\x80" MASK), 1 },
    { LIT("\x82\x7e\x00\x03" "abc"), 1 },
    { LIT("\x82\x7e\x00"), 0 },
    { LIT("\x82\xfe\x00\x01" MASK "a"), 1 },
    { LIT("\x82\x7f\0\0\0\0\0\0\0\2" "ab"), 1 },
    { LIT("\x82\x7f\xff\0\0\0\0\0\0\2" "ab"), 0 },
    { LIT("\x01\x01" "a" "\x89\x00" "\x80\x01" "b"), 1 },
    { LIT("\x88\x00"), 0 },
    { LIT("\x81\x01" "a" "\x88\x02\x03\xe8"), 0 },
    { LIT("\x81\x02\x88\x00"), 1 },
};

START_TEST(whole)
{
    const row_t *row = &rows[_i];
    up_wsframes_t frames;

    memset(&frames, 0, sizeof(frames));
    up_wsframes_feed(&frames, row->bytes, row->len);
    ck_assert_int_eq(up_wsframes_between(&frames), row->between);
}
END_TEST

START_TEST(bytewise)
{
    const row_t *row = &rows[_i];
    up_wsframes_t frames;
    apr_size_t i;

    memset(&frames, 0, sizeof(frames));
    for (i = 0; i < row->len; i++) {
        up_wsframes_feed(&frames, row->bytes + i, 1);
    }
    ck_assert_int_eq(up_wsframes_between(&frames), row->between);
}
END_TEST

START_TEST(large)
{
    static const char head[] = "\x82\x7f\0\0\0\0\0\x0f\x42\x40"; /* 1e6 */
    char *bytes = calloc(1, 1000000);
    up_wsframes_t frames;

    memset(&frames, 0, sizeof(frames));
    up_wsframes_feed(&frames, head, sizeof(head) - 1);
    up_wsframes_feed(&frames, bytes, 999999);
    ck_assert(!up_wsframes_between(&frames));
    up_wsframes_feed(&frames, bytes, 1);
    ck_assert(up_wsframes_between(&frames));
    free(bytes);
}
END_TEST

START_TEST(farewell)
{
    static const unsigned char mask[4] = { 1, 2, 3, 4 };
    char buf[UP_WSFRAMES_FAREWELL];
    up_wsframes_t frames;

    ck_assert_uint_eq(up_wsframes_farewell(buf, NULL), 4);
    ck_assert_mem_eq(buf, "\x88\x02\x03\xe9", 4);
    ck_assert_uint_eq(up_wsframes_farewell(buf, mask), 8);
    ck_assert_mem_eq(buf, "\x88\x82\1\2\3\4\x02\xeb", 8);
    memset(&frames, 0, sizeof(frames));
    up_wsframes_feed(&frames, buf, 8);
    ck_assert(frames.closed && !frames.left && !frames.used);
}
END_TEST

Suite *unit_wsframes(void)
{
    Suite *suite = suite_create("wsframes");
    TCase *tcase = unit_case(suite, "frames");

    tcase_add_loop_test(tcase, whole, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_loop_test(tcase, bytewise, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tcase, large);
    tcase_add_test(tcase, farewell);
    return suite;
}
