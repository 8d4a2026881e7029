/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * nginx's spelling of values: what is taken, what is refused.
 */

#include "config/units.h"
#include "t/unit/up_unit.h"

#include "apr_lib.h"

#include <limits.h>
#include <string.h>

#define MSEC APR_INT64_C(1000)
#define SEC APR_INT64_C(1000000)
#define DAY (86400 * SEC)
#define UNTOUCHED (-77)

typedef struct row_t {
    const char *text;
    apr_int64_t want; /* UNTOUCHED: refused */
} row_t;

/* Both kinds of time. */
static const row_t times[] = {
    { "0", 0 }, { "60", 60 * SEC }, { "60s", 60 * SEC }, { "0s", 0 },
    { "007", 7 * SEC }, { "1m30s", 90 * SEC }, { "1m 30s", 90 * SEC },
    { "1m   30s", 90 * SEC }, { "1m30", 90 * SEC }, { "1m 30", 90 * SEC },
    { "2h", 7200 * SEC }, { "1d", DAY }, { "2w", 14 * DAY },
    { "1w1d1h1m1s", 8 * DAY + 3661 * SEC }, { "90m", 5400 * SEC },
    { "1w 1s", 7 * DAY + SEC }, { "36500d", 36500 * DAY },

    { "", UNTOUCHED }, { " ", UNTOUCHED }, { "s", UNTOUCHED },
    { " 1s", UNTOUCHED }, { "1s ", UNTOUCHED }, { "1 s", UNTOUCHED },
    { "1\t", UNTOUCHED }, { "1m\t30s", UNTOUCHED },
    { "-1", UNTOUCHED }, { "+1", UNTOUCHED }, { "1.5s", UNTOUCHED },
    { "1,5", UNTOUCHED }, { "0x10", UNTOUCHED }, { "1S", UNTOUCHED },
    { "1H", UNTOUCHED }, { "1sec", UNTOUCHED }, { "1min", UNTOUCHED },
    { "1us", UNTOUCHED }, { "30s1m", UNTOUCHED }, { "30s 1m", UNTOUCHED },
    { "1s1s", UNTOUCHED }, { "1s 1", UNTOUCHED }, { "1 1", UNTOUCHED },
    { "1 1m", UNTOUCHED }, { "1h1d", UNTOUCHED }, { "off", UNTOUCHED },
    { "1s;", UNTOUCHED }, { "1sm", UNTOUCHED },
    { "9223372036854775807", UNTOUCHED },
    { "9223372036854775808", UNTOUCHED },
    { "99999999999999999999999999999999", UNTOUCHED },
    { "1906286w", UNTOUCHED }, { "9999999999999w", UNTOUCHED }
};

/* Only where milliseconds count. */
static const row_t fine_times[] = {
    { "500ms", 500 * MSEC }, { "1s500ms", 1500 * MSEC },
    { "1m 500ms", 60500 * MSEC }, { "0ms", 0 }, { "1500ms", 1500 * MSEC },
    { "1 500ms", 1500 * MSEC },

    { "1y", UNTOUCHED }, { "1M", UNTOUCHED }, { "500ms1s", UNTOUCHED },
    { "500m s", UNTOUCHED }, { "500mS", UNTOUCHED }, { "5Ms", UNTOUCHED },
    { "1ms 5", UNTOUCHED }, { "1ms2ms", UNTOUCHED }
};

/* Only where seconds count. */
static const row_t coarse_times[] = {
    { "1y", 365 * DAY }, { "1M", 30 * DAY }, { "1M1m", 30 * DAY + 60 * SEC },
    { "1y 1M 1w 1d 1h 1m 1s", (365 + 30 + 7 + 1) * DAY + 3661 * SEC },

    { "500ms", UNTOUCHED }, { "1s500ms", UNTOUCHED }, { "1M1y", UNTOUCHED },
    { "1m1M", UNTOUCHED }, { "1Y", UNTOUCHED }, { "40000y", UNTOUCHED }
};

static const row_t sizes[] = {
    { "0", 0 }, { "8192", 8192 }, { "16k", 16384 }, { "16K", 16384 },
    { "1m", 1048576 }, { "1M", 1048576 }, { "0k", 0 }, { "0016k", 16384 },
    { "9223372036854775807", APR_INT64_MAX },
    { "9007199254740991k", APR_INT64_MAX - 1023 },

    { "", UNTOUCHED }, { "k", UNTOUCHED }, { "-1", UNTOUCHED },
    { "+1", UNTOUCHED }, { "1kb", UNTOUCHED }, { "1 k", UNTOUCHED },
    { " 1k", UNTOUCHED }, { "1k ", UNTOUCHED }, { "1.5k", UNTOUCHED },
    { "0x10", UNTOUCHED }, { "1t", UNTOUCHED }, { "1kk", UNTOUCHED },
    { "off", UNTOUCHED }, { "9223372036854775808", UNTOUCHED },
    { "9007199254740992k", UNTOUCHED }, { "8796093022208m", UNTOUCHED }
};

static const row_t numbers[] = {
    { "0", 0 }, { "1", 1 }, { "32", 32 }, { "010", 10 },
    { "2147483647", INT_MAX },

    { "", UNTOUCHED }, { "-1", UNTOUCHED }, { "+1", UNTOUCHED },
    { " 1", UNTOUCHED }, { "1 ", UNTOUCHED }, { "1k", UNTOUCHED },
    { "1s", UNTOUCHED }, { "0x1", UNTOUCHED }, { "1.0", UNTOUCHED },
    { "2147483648", UNTOUCHED }, { "99999999999999999999", UNTOUCHED }
};

static const row_t flags[] = {
    { "on", 1 }, { "ON", 1 }, { "On", 1 }, { "off", 0 }, { "OFF", 0 },
    { "oFf", 0 },

    { "", UNTOUCHED }, { "yes", UNTOUCHED }, { "1", UNTOUCHED },
    { "0", UNTOUCHED }, { "onn", UNTOUCHED }, { "o", UNTOUCHED },
    { "true", UNTOUCHED }, { " on", UNTOUCHED }
};

/* A refusal says something and changes nothing. */
static void check_row(const row_t *row, const char *error, apr_int64_t got)
{
    if (row->want == UNTOUCHED) {
        ck_assert_msg(error && *error, "\"%s\" was taken as %" APR_INT64_T_FMT,
                      row->text, got);
    }
    else {
        ck_assert_msg(!error, "\"%s\" was refused: %s", row->text, error);
    }
    ck_assert_msg(got == row->want, "\"%s\" gave %" APR_INT64_T_FMT, row->text,
                  got);
}

typedef const char *time_fn(const char *text, apr_interval_time_t *ptime);

static void check_times(time_fn *read, const row_t *rows, int n)
{
    int i;

    for (i = 0; i < n; ++i) {
        apr_interval_time_t got = UNTOUCHED;
        const char *error = read(rows[i].text, &got);

        check_row(&rows[i], error, got);
    }
}

START_TEST(reads_times)
{
    check_times(up_units_time, times, COUNT(times));
    check_times(up_units_time, fine_times, COUNT(fine_times));
}
END_TEST

START_TEST(reads_seconds)
{
    check_times(up_units_seconds, times, COUNT(times));
    check_times(up_units_seconds, coarse_times, COUNT(coarse_times));
}
END_TEST

/* The longest times, and no overflow just behind them. */
START_TEST(bounds_times)
{
    apr_interval_time_t got = UNTOUCHED;

    ck_assert_ptr_null(up_units_time("1906285w 3d", &got));
    ck_assert_int_gt(got, 0);
    ck_assert_int_gt(got + apr_time_now(), got);
    ck_assert_ptr_nonnull(up_units_time("1906285w 4d", &got));
    ck_assert_ptr_null(up_units_time("1152921504606846ms", &got));
    ck_assert_ptr_nonnull(up_units_time("1152921504606847ms", &got));
    ck_assert_ptr_nonnull(up_units_time("1152921504606s 847ms", &got));
    ck_assert_ptr_null(up_units_seconds("1152921504606s", &got));
}
END_TEST

START_TEST(reads_sizes)
{
    int i;

    for (i = 0; i < COUNT(sizes); ++i) {
        apr_off_t got = UNTOUCHED;
        const char *error = up_units_size(sizes[i].text, 0, &got);

        check_row(&sizes[i], error, got);
        got = UNTOUCHED;
        error = up_units_size(sizes[i].text, 1, &got);
        check_row(&sizes[i], error, got);
    }
}
END_TEST

START_TEST(reads_giga_where_allowed)
{
    apr_off_t got = UNTOUCHED;

    ck_assert_ptr_nonnull(up_units_size("1g", 0, &got));
    ck_assert_ptr_nonnull(up_units_size("1G", 0, &got));
    ck_assert_int_eq(got, UNTOUCHED);
    ck_assert_ptr_null(up_units_size("1g", 1, &got));
    ck_assert_int_eq(got, 1073741824);
    ck_assert_ptr_null(up_units_size("2G", 1, &got));
    ck_assert_int_eq(got, APR_INT64_C(2147483648));
    ck_assert_ptr_nonnull(up_units_size("8589934592g", 1, &got));
    ck_assert_ptr_nonnull(up_units_size("1gg", 1, &got));
}
END_TEST

START_TEST(reads_numbers)
{
    int got = UNTOUCHED;
    int i;

    for (i = 0; i < COUNT(numbers); ++i) {
        const char *error;

        got = UNTOUCHED;
        error = up_units_number(numbers[i].text, 0, &got);
        check_row(&numbers[i], error, got);
    }
    got = UNTOUCHED;
    ck_assert_ptr_nonnull(up_units_number("1", 2, &got));
    ck_assert_int_eq(got, UNTOUCHED);
    ck_assert_ptr_null(up_units_number("2", 2, &got));
    ck_assert_int_eq(got, 2);
}
END_TEST

START_TEST(reads_hexadecimal_digits)
{
    static const char digits[] = "0123456789abcdef";
    int i;

    for (i = 0; i < 256; ++i) {
        const char *at = i ? strchr(digits, apr_tolower(i)) : NULL;

        ck_assert_int_eq(up_units_hex((char)i),
                         at ? (int)(at - digits) : -1);
    }
}
END_TEST

START_TEST(reads_flags)
{
    int i;

    for (i = 0; i < COUNT(flags); ++i) {
        int got = UNTOUCHED;
        const char *error = up_units_flag(flags[i].text, &got);

        check_row(&flags[i], error, got);
    }
}
END_TEST

START_TEST(reads_spans)
{
    apr_interval_time_t time;

    ck_assert_ptr_null(up_units_span("500ms", &time));
    ck_assert_int_eq(time, 500000);
    ck_assert_str_eq(up_units_span("0", &time),
                     "wants a time that is longer than 0");
    ck_assert_str_eq(up_units_span("x", &time), up_units_time("x", &time));
}
END_TEST

START_TEST(finds_parameters)
{
    ck_assert_str_eq(up_units_param("port=80", "port="), "80");
    ck_assert_str_eq(up_units_param("port=", "port="), "");
    ck_assert_str_eq(up_units_param("backup", "backup"), "");
    ck_assert_ptr_null(up_units_param("ports=80", "port="));
    ck_assert_ptr_null(up_units_param("port", "port="));
    ck_assert_ptr_null(up_units_param("backups", "backup"));
}
END_TEST

START_TEST(finds_words)
{
    static const up_word_t words[] = {
        { "error", 1 }, { "http_500", 2 }, { "off", 1u << 31 }, { NULL, 0 }
    };

    ck_assert_uint_eq(up_units_word(words, "error"), 1);
    ck_assert_uint_eq(up_units_word(words, "Error"), 1);
    ck_assert_uint_eq(up_units_word(words, "HTTP_500"), 2);
    ck_assert_uint_eq(up_units_word(words, "off"), 1u << 31);
    ck_assert_uint_eq(up_units_word(words, ""), 0);
    ck_assert_uint_eq(up_units_word(words, "err"), 0);
    ck_assert_uint_eq(up_units_word(words, "errors"), 0);
    ck_assert_uint_eq(up_units_word(words, "http_50"), 0);
}
END_TEST

START_TEST(finds_ways_up)
{
    static const char *const up[] = {
        "..", "../a", "a/..", "a/../b", "/..", "/../", "//..//", "a/b/../../..",
    };
    static const char *const good[] = {
        "", "/", ".", "a", "a/b", "...", "a..", "..a", "a/..b", "a../b",
        "/a/.../b", "./a/.", "a/. ./b",
    };
    int i;

    for (i = 0; i < COUNT(up); i++) {
        ck_assert_msg(up_units_climbs(up[i]), "%s", up[i]);
    }
    for (i = 0; i < COUNT(good); i++) {
        ck_assert_msg(!up_units_climbs(good[i]), "%s", good[i]);
    }
}
END_TEST

Suite *unit_units(void)
{
    Suite *suite = suite_create("units");
    TCase *tc = unit_case(suite, "times");

    tcase_add_test(tc, reads_times);
    tcase_add_test(tc, reads_seconds);
    tcase_add_test(tc, bounds_times);
    tc = unit_case(suite, "values");
    tcase_add_test(tc, reads_sizes);
    tcase_add_test(tc, reads_giga_where_allowed);
    tcase_add_test(tc, reads_numbers);
    tcase_add_test(tc, reads_hexadecimal_digits);
    tcase_add_test(tc, reads_flags);
    tcase_add_test(tc, reads_spans);
    tcase_add_test(tc, finds_parameters);
    tcase_add_test(tc, finds_words);
    tcase_add_test(tc, finds_ways_up);
    return suite;
}
