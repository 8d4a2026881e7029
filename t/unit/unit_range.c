/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * One range of bytes, and what is none.
 */

#include "config/units.h"
#include "exchange/range.h"
#include "t/unit/up_unit.h"

#include <string.h>

static const struct {
    const char *text;
    apr_off_t size;
    up_range_e part;
    apr_off_t first;
    apr_off_t length;
} rows[] = {
    { "bytes=0-0", 100, UP_RANGE_PART, 0, 1 },
    { "bytes=0-", 100, UP_RANGE_PART, 0, 100 },
    { "bytes=10-19", 100, UP_RANGE_PART, 10, 10 },
    { "BYTES=10-", 100, UP_RANGE_PART, 10, 90 },
    { "bytes=10-99", 100, UP_RANGE_PART, 10, 90 },
    { "bytes=10-100", 100, UP_RANGE_PART, 10, 90 },
    { "bytes=99-99999999999999999999999", 100, UP_RANGE_PART, 99, 1 },
    { "bytes=-1", 100, UP_RANGE_PART, 99, 1 },
    { "bytes=-100", 100, UP_RANGE_PART, 0, 100 },
    { "bytes=-101", 100, UP_RANGE_PART, 0, 100 },
    { "bytes= 1-2 ", 100, UP_RANGE_PART, 1, 2 },
    { "bytes=-9223372036854775807", UP_OFF_MAX, UP_RANGE_PART, 0,
      UP_OFF_MAX },
    { "bytes=0-", UP_OFF_MAX, UP_RANGE_PART, 0, UP_OFF_MAX },
    { "bytes=100-", 100, UP_RANGE_BAD, 0, 0 },
    { "bytes=100-200", 100, UP_RANGE_BAD, 0, 0 },
    { "bytes=-0", 100, UP_RANGE_BAD, 0, 0 },
    { "bytes=99999999999999999999999-", 100, UP_RANGE_BAD, 0, 0 },
    { NULL, 100, UP_RANGE_ALL, 0, 0 },
    { "", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=-", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=1", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=2-1", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=1-2x", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=1-2,4-5", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=1-2,", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=+1-2", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=1--2", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes =1-2", 100, UP_RANGE_ALL, 0, 0 },
    { "lines=1-2", 100, UP_RANGE_ALL, 0, 0 },
    { "bytes=0-", 0, UP_RANGE_ALL, 0, 0 },
};

START_TEST(reads_ranges)
{
    up_range_t range = { 0, 0 };

    ck_assert_msg(up_range_read(rows[_i].text, rows[_i].size, &range)
                      == rows[_i].part, "%s", rows[_i].text);
    if (rows[_i].part == UP_RANGE_PART) {
        ck_assert(range.first == rows[_i].first);
        ck_assert(range.length == rows[_i].length);
    }
}
END_TEST

/* Whatever it is made of, a part lies within. */
START_TEST(lies_within)
{
    static const char bytes[] = "0123456789-, =x";
    unsigned int seed = 4711;
    int round;

    for (round = 0; round < 20000; round++) {
        char text[32] = "bytes=";
        up_range_t range;
        int i;

        for (i = 6; i < 14; i++) {
            seed = seed * 1103515245u + 12345u;
            text[i] = bytes[(seed >> 16) % (sizeof(bytes) - 1)];
        }
        if (up_range_read(text, 50, &range) == UP_RANGE_PART) {
            ck_assert_msg(range.first >= 0 && range.length > 0
                          && range.first + range.length <= 50, "%s", text);
        }
    }
}
END_TEST

Suite *unit_range(void)
{
    Suite *suite = suite_create("range");
    TCase *tc = unit_case(suite, "range");

    tcase_add_loop_test(tc, reads_ranges, 0, COUNT(rows));
    tcase_add_test(tc, lies_within);
    return suite;
}
