/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Bodies with every framing. Each sample is fed whole, byte by byte and in
 * two pieces split at every place; all must agree.
 */

#include "exchange/body_decoder.h"
#include "t/unit/up_unit.h"

#include "apr_strings.h"

#include <string.h>

#define MAX_TRAILER 64

static const up_framing_t none = { UP_FRAMING_NONE, -1, -1, 0 };
static const up_framing_t empty = { UP_FRAMING_LENGTH, 0, 0, 0 };
static const up_framing_t five = { UP_FRAMING_LENGTH, 5, 5, 0 };
static const up_framing_t chunked = { UP_FRAMING_CHUNKED, -1, -1, 0 };
static const up_framing_t closing = { UP_FRAMING_CLOSE, -1, -1, 1 };

typedef struct row_t {
    const char *raw;
    apr_size_t len;
    const up_framing_t *framing;
    apr_status_t rv;    /* of the last feed */
    const char *body;
    apr_size_t surplus; /* bytes at the end that are not taken */
    const char *error;  /* part of it, with APR_EINVAL */
} row_t;

#define CHUNKED(raw, rv, body, surplus, error) \
    { LIT(raw), &chunked, rv, body, surplus, error }
#define GOOD(raw, body) CHUNKED(raw, APR_EOF, body, 0, NULL)
#define MORE(raw, body) CHUNKED(raw, APR_SUCCESS, body, 0, NULL)
#define BAD(raw, body, error) CHUNKED(raw, APR_EINVAL, body, 0, error)

static const row_t rows[] = {
    { LIT(""), &none, APR_EOF, "", 0, NULL },
    { LIT("surplus"), &none, APR_EOF, "", 7, NULL },
    { LIT(""), &empty, APR_EOF, "", 0, NULL },
    { LIT("EXTRA"), &empty, APR_EOF, "", 5, NULL },
    { LIT(""), &five, APR_SUCCESS, "", 0, NULL },
    { LIT("hell"), &five, APR_SUCCESS, "hell", 0, NULL },
    { LIT("hello"), &five, APR_EOF, "hello", 0, NULL },
    { LIT("helloEXTRA"), &five, APR_EOF, "hello", 5, NULL },
    { LIT("any\r\nthing"), &closing, APR_SUCCESS, "any\r\nthing", 0, NULL },
    { LIT(""), &closing, APR_SUCCESS, "", 0, NULL },

    GOOD("0\r\n\r\n", ""),
    GOOD("000\r\n\r\n", ""),
    GOOD("5\r\nhello\r\n0\r\n\r\n", "hello"),
    GOOD("00005\r\nhello\r\n0\r\n\r\n", "hello"),
    GOOD("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
         "01234567890123456789"),
    GOOD("1\r\na\r\n1\r\nb\r\n0001\r\nc\r\n0\r\n\r\n", "abc"),
    GOOD("7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n\r\n"),
    GOOD("5;a=b\r\nhello\r\n1;q=\"x;y\"\r\n!\r\n0;end\r\n\r\n", "hello!"),
    GOOD("5 \r\nhello\r\n0\t\r\n\r\n", "hello"),
    GOOD("5 ; x\r\nhello\r\n0;\r\n\r\n", "hello"),
    GOOD("1\r\na\r\n0\r\ngrpc-status: 0\r\n\r\n", "a"),
    GOOD("0\r\nA: 1\r\nB: 2\r\nC:\r\n\r\n", ""),
    CHUNKED("5\r\nhello\r\n0\r\n\r\nJUNK", APR_EOF, "hello", 4, NULL),
    CHUNKED("0\r\nA: 1\r\n\r\n\r\n", APR_EOF, "", 2, NULL),
    CHUNKED("0\r\n\r\n5\r\nhello\r\n", APR_EOF, "", 10, NULL),

    MORE("", ""),
    MORE("5", ""),
    MORE("5\r", ""),
    MORE("5\r\n", ""),
    MORE("5\r\nhel", "hel"),
    MORE("5\r\nhello", "hello"),
    MORE("5\r\nhello\r", "hello"),
    MORE("5\r\nhello\r\n", "hello"),
    MORE("5\r\nhello\r\n0\r\n", "hello"),
    MORE("5\r\nhello\r\n0\r\nA: 1\r\n\r", "hello"),
    MORE("7fffffffffffffff\r\nab", "ab"),

    BAD("zz\r\n", "", "no chunk size"),
    BAD("5\r\nhello\r\nzz\r\n", "hello", "no chunk size"),
    BAD("\r\n", "", "no chunk size"),
    BAD(" 5\r\nhello", "", "no chunk size"),
    BAD(";x\r\n", "", "no chunk size"),
    BAD("-5\r\n", "", "no chunk size"),
    BAD("0x5\r\nhello", "", "no chunk size"),
    BAD("5g\r\n", "", "no chunk size"),
    BAD("5\nhello\r\n0\r\n\r\n", "", "LF without CR"),
    BAD("\n5\r\nhello", "", "no chunk size"),
    BAD("5\0\r\nhello", "", "no chunk size"),
    BAD("\0", "", "no chunk size"),
    BAD("5\rhello", "", "CR without LF"),
    BAD("5\r\r\nhello", "", "CR without LF"),
    BAD("5;x\rhello", "", "CR without LF"),
    BAD("5;x\nhello\r\n", "", "LF without CR"),
    BAD("5 \nhello\r\n", "", "LF without CR"),
    BAD("5\r\nhello\n0\r\n\r\n", "hello", "longer than its size"),
    BAD("5\r\nhello!\r\n0\r\n\r\n", "hello", "longer than its size"),
    BAD("5\r\nhello\rX", "hello", "longer than its size"),
    BAD("5\r\nhello0\r\n\r\n", "hello", "longer than its size"),
    BAD("8000000000000000\r\n", "", "overflows"),
    BAD("ffffffffffffffff\r\n", "", "overflows"),
    BAD("10000000000000000\r\n", "", "overflows"),
    BAD("fffffffffffffffffffff\r\n", "", "overflows"),
    BAD("0\r\n\n", "", "invalid trailer"),
    BAD("0\r\n\rX", "", "invalid trailer"),
    BAD("0\r\n\r\r\n", "", "invalid trailer"),
    BAD("0\r\nA: 1\n\r\n", "", "invalid trailer"),
    BAD("0\r\nA: 1\rB", "", "invalid trailer"),
    BAD("0\r\nA: 1\r\r\n\r\n", "", "invalid trailer"),
    BAD("0\n\r\n", "", "LF without CR")
};

/* Feeds raw[0..len) as one segment; appends its body to `body`. */
static apr_status_t feed(up_decoder_t *decoder, const char *raw,
                         apr_size_t len, char *body, apr_size_t *pused)
{
    char buf[512];
    apr_size_t n;
    apr_size_t used;
    apr_status_t rv;

    ck_assert_uint_lt(len, sizeof(buf));
    memcpy(buf, raw, len);
    rv = up_decoder_feed(decoder, buf, len, &n, &used);
    ck_assert_uint_le(used, len);
    ck_assert_uint_le(n, used);
    ck_assert(rv == APR_SUCCESS ? used == len : 1);
    ck_assert_mem_eq(buf + used, raw + used, len - used);
    ck_assert(memchr(buf, '\0', n) == NULL);
    strncat(body, buf, n);
    *pused += used;
    return rv;
}

/* The sample in pieces: `first` bytes, then `step` at a time. */
static void check_pieces(const row_t *row, apr_size_t first, apr_size_t step)
{
    up_decoder_t decoder;
    char body[512] = "";
    apr_size_t used = 0;
    apr_size_t at = 0;
    apr_size_t n = first;
    apr_status_t rv;

    up_decoder_init(&decoder, row->framing, MAX_TRAILER);
    do {
        n = n < row->len - at ? n : row->len - at;
        rv = feed(&decoder, row->raw + at, n, body, &used);
        at += n;
        n = step;
    } while (rv == APR_SUCCESS && at < row->len);

    ck_assert_msg(rv == row->rv, "\"%s\" at %d: got %d", row->raw, (int)first,
                  rv);
    ck_assert_str_eq(body, row->body);
    if (rv == APR_EINVAL) {
        unit_contains(decoder.error, row->error);
        ck_assert_int_eq(feed(&decoder, "0\r\n\r\n", 5, body, &used),
                         APR_EINVAL);
        ck_assert_str_eq(body, row->body);
    }
    else {
        ck_assert_ptr_null(decoder.error);
        ck_assert_uint_eq(used, row->len - row->surplus);
    }
    ck_assert_int_eq(!!up_decoder_finished(&decoder), rv == APR_EOF);
    ck_assert_int_eq(up_decoder_closed(&decoder),
                     rv == APR_EOF || row->framing == &closing
                         ? APR_EOF : APR_INCOMPLETE);
}

START_TEST(decodes)
{
    const row_t *row = &rows[_i];
    apr_size_t cut;

    check_pieces(row, row->len, 1);
    check_pieces(row, 1, 1);
    check_pieces(row, 0, 1);
    for (cut = 1; cut < row->len; ++cut) {
        check_pieces(row, cut, row->len);
    }
}
END_TEST

/* nginx's figures: what could still end the message. */
START_TEST(knows_the_need)
{
    static const struct {
        const char *raw;
        apr_off_t need;
    } needs[] = {
        { "", 5 }, { "0", 4 }, { "00", 4 }, { "5", 14 }, { "50", 80 + 9 },
        { "5;x", 14 }, { "0;x", 4 }, { "5\r", 13 }, { "0\r", 3 },
        { "5\r\n", 12 }, { "5\r\nh", 11 }, { "5\r\nhello", 7 },
        { "5\r\nhello\r", 6 }, { "5\r\nhello\r\n", 5 }, { "0\r\n", 2 },
        { "0\r\nA", 4 }, { "0\r\nA\r", 3 }, { "0\r\nA\r\n", 2 },
        { "0\r\n\r", 1 }, { "0\r\n\r\n", 0 }, { "z", 0 },
        { "7fffffffffffffff", APR_INT64_MAX },
        { "7fffffffffffffff\r\n", APR_INT64_MAX }
    };
    int i;

    for (i = 0; i < COUNT(needs); ++i) {
        up_decoder_t decoder;
        char body[512] = "";
        apr_size_t used = 0;

        up_decoder_init(&decoder, &chunked, MAX_TRAILER);
        feed(&decoder, needs[i].raw, strlen(needs[i].raw), body, &used);
        ck_assert_msg(up_decoder_need(&decoder) == needs[i].need,
                      "\"%s\": %" APR_OFF_T_FMT, needs[i].raw,
                      up_decoder_need(&decoder));
    }
}
END_TEST

START_TEST(knows_the_need_of_other_framings)
{
    up_decoder_t decoder;
    char body[512] = "";
    apr_size_t used = 0;

    up_decoder_init(&decoder, &five, MAX_TRAILER);
    ck_assert_int_eq(up_decoder_need(&decoder), 5);
    feed(&decoder, "hel", 3, body, &used);
    ck_assert_int_eq(up_decoder_need(&decoder), 2);
    feed(&decoder, "lo", 2, body, &used);
    ck_assert_int_eq(up_decoder_need(&decoder), 0);
    up_decoder_init(&decoder, &closing, MAX_TRAILER);
    ck_assert_int_eq(up_decoder_need(&decoder), -1);
    up_decoder_init(&decoder, &none, MAX_TRAILER);
    ck_assert_int_eq(up_decoder_need(&decoder), 0);
}
END_TEST

/* `n` bytes of x between two texts, given to a fresh decoder. */
static apr_status_t feed_padded(up_decoder_t *decoder, const char *before,
                                int n, const char *after)
{
    char *raw = apr_psprintf(unit_pool, "%s%*s%s", before, n, "", after);
    apr_size_t body;
    apr_size_t used;

    up_decoder_init(decoder, &chunked, MAX_TRAILER);
    return up_decoder_feed(decoder, raw, strlen(raw), &body, &used);
}

START_TEST(bounds_extensions)
{
    up_decoder_t decoder;
    char again[] = "1;x\r\na\r\n";
    char raw[sizeof(again)];
    apr_size_t body;
    apr_size_t used;
    int i;

    /* 4096 bytes from the "1" to the LF are the most */
    ck_assert_int_eq(feed_padded(&decoder, "1;", 4092, "\r\na\r\n0\r\n\r\n"),
                     APR_EOF);
    ck_assert_int_eq(feed_padded(&decoder, "1;", 4093, "\r\na\r\n0\r\n\r\n"),
                     APR_EINVAL);
    unit_contains(decoder.error, "too long chunk extension");
    ck_assert_int_eq(feed_padded(&decoder, "1", 5000, ""), APR_EINVAL);

    /* it is no limit on the number of chunks */
    up_decoder_init(&decoder, &chunked, MAX_TRAILER);
    for (i = 0; i < 10000; ++i) {
        memcpy(raw, again, sizeof(again));
        ck_assert_int_eq(up_decoder_feed(&decoder, raw, sizeof(again) - 1,
                                         &body, &used), APR_SUCCESS);
        ck_assert_uint_eq(body, 1);
    }
}
END_TEST

START_TEST(bounds_leading_zeros)
{
    up_decoder_t decoder;
    char zeros[4097];
    apr_size_t body;
    apr_size_t used;

    memset(zeros, '0', sizeof(zeros));
    up_decoder_init(&decoder, &chunked, MAX_TRAILER);
    ck_assert_int_eq(up_decoder_feed(&decoder, zeros, 4096, &body, &used),
                     APR_SUCCESS);
    ck_assert_int_eq(up_decoder_feed(&decoder, zeros + 4096, 1, &body, &used),
                     APR_EINVAL);
}
END_TEST

/* Whatever the segments, the lines come out as they went in. */
START_TEST(keeps_trailers)
{
    static const char lines[] = "A: 1\r\nBcd: 2 3\r\n";
    static const up_framing_t chunked = {
        .kind = UP_FRAMING_CHUNKED, .length = -1, .announced = -1
    };
    apr_size_t step;

    for (step = 1; step < 40; step++) {
        char text[] = "3\r\nabc\r\n0\r\nA: 1\r\nBcd: 2 3\r\n\r\n";
        apr_size_t all = sizeof(text) - 1;
        apr_status_t rv = APR_SUCCESS;
        up_decoder_t decoder;
        apr_size_t at;

        up_decoder_init(&decoder, &chunked, MAX_TRAILER);
        up_decoder_keep(&decoder, unit_pool);
        for (at = 0; at < all; at += step) {
            apr_size_t n = all - at < step ? all - at : step;
            apr_size_t body, used;

            rv = up_decoder_feed(&decoder, text + at, n, &body, &used);
        }
        ck_assert_int_eq(rv, APR_EOF);
        ck_assert_int_eq(decoder.trailer, sizeof(lines) - 1);
        ck_assert(memcmp(decoder.kept, lines, sizeof(lines) - 1) == 0);
    }
}
END_TEST

START_TEST(keeps_no_more_than_allowed)
{
    static const up_framing_t chunked = {
        .kind = UP_FRAMING_CHUNKED, .length = -1, .announced = -1
    };
    static const size_t most[] = { 5, 255, 256, 257, 600, 5000 };
    int i;

    for (i = 0; i < COUNT(most); i++) {
        apr_size_t body, used;
        up_decoder_t decoder;
        size_t n;

        up_decoder_init(&decoder, &chunked, most[i]);
        up_decoder_keep(&decoder, unit_pool);
        ck_assert_int_eq(up_decoder_feed(&decoder, (char[]){ "0\r\n" }, 3,
                                         &body, &used), APR_SUCCESS);
        for (n = 0; n < most[i]; n++) {
            char c[] = "x";

            ck_assert_int_eq(up_decoder_feed(&decoder, c, 1, &body, &used),
                             APR_SUCCESS);
        }
        ck_assert(decoder.kept_size <= most[i]);
        ck_assert_int_eq(up_decoder_feed(&decoder, (char[]){ "x" }, 1, &body,
                                         &used), APR_EINVAL);
        ck_assert_str_eq(decoder.error, "too big trailers");
    }
}
END_TEST

START_TEST(bounds_trailers)
{
    up_decoder_t decoder;

    ck_assert_int_eq(feed_padded(&decoder, "0\r\nA:", MAX_TRAILER - 4,
                                 "\r\n\r\n"), APR_EOF);
    ck_assert_int_eq(feed_padded(&decoder, "0\r\nA:", MAX_TRAILER - 3,
                                 "\r\n\r\n"), APR_EINVAL);
    ck_assert_str_eq(decoder.error, "too big trailers");
    ck_assert_int_eq(feed_padded(&decoder, "0\r\nA:", MAX_TRAILER * 2, ""),
                     APR_EINVAL);
}
END_TEST

/* A big body through a small buffer, with chunks of many sizes. */
START_TEST(decodes_a_big_body)
{
    apr_size_t total = 0;
    apr_size_t size;
    apr_size_t at;
    apr_size_t len = 0;
    char *raw = apr_palloc(unit_pool, 4000000);
    up_decoder_t decoder;
    apr_status_t rv = APR_SUCCESS;

    for (size = 1; total < 3000000; size = size * 7 % 9973) {
        len += apr_snprintf(raw + len, 20, "%x\r\n", (unsigned int)size);
        for (at = 0; at < size; ++at) {
            raw[len++] = 'a' + total++ % 26;
        }
        memcpy(raw + len, "\r\n", 2);
        len += 2;
    }
    memcpy(raw + len, "0\r\n\r\n", 5);
    len += 5;

    up_decoder_init(&decoder, &chunked, MAX_TRAILER);
    total = 0;
    for (at = 0; at < len; at += 4001) {
        apr_size_t n = len - at < 4001 ? len - at : 4001;
        apr_size_t body;
        apr_size_t used;
        apr_size_t i;

        rv = up_decoder_feed(&decoder, raw + at, n, &body, &used);
        ck_assert_uint_eq(used, n);
        for (i = 0; i < body; ++i) {
            ck_assert(raw[at + i] == 'a' + (char)(total % 26));
            ++total;
        }
    }
    ck_assert_int_eq(rv, APR_EOF);
    ck_assert_uint_ge(total, 3000000);
}
END_TEST

Suite *unit_body_decoder(void)
{
    Suite *suite = suite_create("body_decoder");
    TCase *tc = unit_case(suite, "samples");

    tcase_add_loop_test(tc, decodes, 0, COUNT(rows));
    tcase_add_test(tc, decodes_a_big_body);
    tc = unit_case(suite, "need");
    tcase_add_test(tc, knows_the_need);
    tcase_add_test(tc, knows_the_need_of_other_framings);
    tc = unit_case(suite, "bounds");
    tcase_add_test(tc, bounds_extensions);
    tcase_add_test(tc, bounds_leading_zeros);
    tcase_add_test(tc, keeps_trailers);
    tcase_add_test(tc, keeps_no_more_than_allowed);
    tcase_add_test(tc, bounds_trailers);
    return suite;
}
