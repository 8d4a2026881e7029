/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Response heads. Each sample is fed whole, byte by byte and in two pieces
 * split at every place; all must agree.
 */

#include "exchange/framing.h"
#include "status_parser.h"
#include "t/unit/up_unit.h"

#include "apr_strings.h"

#include <string.h>

#define FIRST 16  /* so small that every sample makes the buffer grow */
#define MAX 512

typedef struct row_t {
    const char *raw;
    apr_size_t len;
    apr_status_t rv;
    const char *want; /* see describe; with an error: a part of its text */
    apr_size_t rest;  /* bytes behind the head */
} row_t;

#define GOOD(raw, want) { LIT(raw), APR_SUCCESS, want, 0 }
#define REST(raw, want, rest) { LIT(raw), APR_SUCCESS, want, rest }
#define BAD(raw, error) { LIT(raw), APR_EINVAL, error, 0 }
#define MORE(raw) { LIT(raw), APR_INCOMPLETE, "", 0 }

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define FIELD(raw, want) GOOD(OK_LINE raw "\r\n", "1.1 200 [OK]" want)
#define BAD_FIELD(raw, error) BAD(OK_LINE raw "\r\n\r\n", error)
#define NO_STATUS "no valid status line"

static const row_t status_lines[] = {
    GOOD("HTTP/1.1 200 OK\r\n\r\n", "1.1 200 [OK]"),
    GOOD("HTTP/1.1 200 OK\n\n", "1.1 200 [OK]"),
    GOOD("HTTP/1.1 200 OK\n\r\n", "1.1 200 [OK]"),
    GOOD("HTTP/1.0 404 Not Found\r\n\r\n", "1.0 404 [Not Found]"),
    GOOD("HTTP/1.1 200\r\n\r\n", "1.1 200 []"),
    GOOD("HTTP/1.1 200\n\n", "1.1 200 []"),
    GOOD("HTTP/1.1 200 \r\n\r\n", "1.1 200 []"),
    GOOD("HTTP/1.1   200 OK\r\n\r\n", "1.1 200 [OK]"),
    GOOD("HTTP/1.1 200  so so \r\n\r\n", "1.1 200 [ so so ]"),
    GOOD("HTTP/1.1 200 \tr\xc3\xa4son\t\r\n\r\n",
         "1.1 200 [\tr\xc3\xa4son\t]"),
    GOOD("HTTP/1.1 403.1 Forbidden\r\n\r\n", "1.1 403 [Forbidden]"),
    GOOD("HTTP/1.1 403.16\r\n\r\n", "1.1 403 []"),
    GOOD("HTTP/1.1 403. x\r\n\r\n", "1.1 403 [x]"),
    GOOD("HTTP/2.0 200 OK\r\n\r\n", "2.0 200 [OK]"),
    GOOD("HTTP/1.99 200 OK\r\n\r\n", "1.99 200 [OK]"),
    GOOD("HTTP/10.01 200 OK\r\n\r\n", "10.1 200 [OK]"),
    GOOD("HTTP/1.1 100 Continue\r\n\r\n", "1.1 100 [Continue]"),
    GOOD("HTTP/1.1 999 x\r\n\r\n", "1.1 999 [x]"),

    BAD("HTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NO_STATUS),
    BAD("just some text\n", NO_STATUS),
    BAD("just some text", NO_STATUS),
    BAD("h", NO_STATUS),
    BAD("http/1.1 200 OK\r\n\r\n", NO_STATUS),
    BAD("\r\nHTTP/1.1 200 OK\r\n\r\n", NO_STATUS),
    BAD("\nHTTP/1.1 200 OK\r\n\r\n", NO_STATUS),
    BAD(" HTTP/1.1 200 OK\r\n\r\n", NO_STATUS),
    BAD("HTTP\n", NO_STATUS),
    BAD("HTTP/\r\n", NO_STATUS),
    BAD("HTTP/1.1\r\n", NO_STATUS),
    BAD("HTTP/1.1 \r\n", NO_STATUS),
    BAD("HTTP/0.9 200 OK\r\n", NO_STATUS),
    BAD("HTTP/01.1 200 OK\r\n", NO_STATUS),
    BAD("HTTP/100.1 200 OK\r\n", NO_STATUS),
    BAD("HTTP/1.100 200 OK\r\n", NO_STATUS),
    BAD("HTTP/1 200 OK\r\n", NO_STATUS),
    BAD("HTTP/1. 200 OK\r\n", NO_STATUS),
    BAD("HTTP/.1 200 OK\r\n", NO_STATUS),
    BAD("HTTP/ 1.1 200 OK\r\n", NO_STATUS),
    BAD("HTTP/1.1\t200 OK\r\n", NO_STATUS),
    BAD("HTTP/1.1200 OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 200OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 200\tOK\r\n", NO_STATUS),
    BAD("HTTP/1.1 2 0 0\r\n", NO_STATUS),
    BAD("HTTP/1.1 20 0 OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 20\r\n", NO_STATUS),
    BAD("HTTP/1.1 20 OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 2000 OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 099 low\r\n", NO_STATUS),
    BAD("HTTP/1.1 000 low\r\n", NO_STATUS),
    BAD("HTTP/1.1 -20 low\r\n", NO_STATUS),
    BAD("HTTP/1.1 abc OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 200 OK\r\r\n", NO_STATUS),
    BAD("HTTP/1.1 200 O\rK\r\n", NO_STATUS),
    BAD("HTTP/1.1 200\r OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 200 O\0K\r\n", NO_STATUS),
    BAD("HTTP/1.1 200\0\r\n", NO_STATUS),
    BAD("HTTP/1\0.1 200 OK\r\n", NO_STATUS),
    BAD("HTTP/1.1 200 O\x1b[31mK\r\n", NO_STATUS),
    BAD("HTTP/1.1 200 O\x7fK\r\n", NO_STATUS),
    BAD("HTTP/1.1 403.\x01 x\r\n", NO_STATUS),
    BAD("\x15\x03\x01", NO_STATUS ": \"%15"),
    BAD("\x16\x03\x01", "(it speaks TLS"),
    BAD("HTTP/1.1 2%\\\r\n", NO_STATUS ": \"HTTP/1.1 2%25%5C\""),

    MORE("H"),
    MORE("HTTP/"),
    MORE("HTTP/1.1 200 OK"),
    MORE("HTTP/1.1 200 OK\r"),
    MORE("HTTP/1.1 200 OK\r\n"),
    MORE("HTTP/1.1 200 OK\r\nX-A: 1\r\n\r")
};

static const row_t fields[] = {
    FIELD("X-A: 1\r\n", "|X-A=1"),
    FIELD("X-A: 1\r\nB:2\nX-a:  3 \r\n", "|X-A=1|B=2|X-a=3"),
    FIELD("X-A: 1\n", "|X-A=1"),
    FIELD("X-A: 1\r\r\n", "|X-A=1"),
    FIELD("X-A: 1  \r\r\r\n", "|X-A=1"),
    FIELD("X-A:\r\n", "|X-A="),
    FIELD("X-A:    \r\n", "|X-A="),
    FIELD("X-A:\n", "|X-A="),
    FIELD("X-A: a:b : c\r\n", "|X-A=a:b : c"),
    FIELD("X-A::\r\n", "|X-A=:"),
    FIELD("X-A:  two words  \r\n", "|X-A=two words"),
    FIELD("X-A: \t tab\t \r\n", "|X-A=\t tab\t"),
    FIELD("X-A: \xff\x80\xc3\xa4\r\n", "|X-A=\xff\x80\xc3\xa4"),
    FIELD("a@b(c_d\"e/: 1\r\n", "|a@b(c_d\"e/=1"),
    FIELD("n\xc3\xa4me: 1\r\n", "|n\xc3\xa4me=1"),
    FIELD("x: 0123456789012345678901234567890123456789012345678901234567\r\n",
          "|x=0123456789012345678901234567890123456789012345678901234567"),
    REST(OK_LINE "Content-Length: 2\r\n\r\nok\r\n",
         "1.1 200 [OK]|Content-Length=2", 4),
    REST("HTTP/1.1 200 OK\n\n\n", "1.1 200 [OK]", 1),
    REST(OK_LINE "\r\n\0\0", "1.1 200 [OK]", 2),

    BAD_FIELD("A: 1\r\nno colon here", "line 3, \"no\" (14 bytes): inv"),
    BAD_FIELD("A: 1\r\nnocolon", "line 3, \"nocolon\" (8 bytes): no colon"),
    BAD_FIELD("nocolon\r\nA: 1", "no colon"),
    BAD(OK_LINE "A: 1\r\nx\n\r\n", "no colon"),
    BAD(OK_LINE "A: 1\r\n \n\r\n", "folded line"),
    BAD_FIELD("X Bad: 1", "line 2, \"X\" (9 bytes): invalid character"),
    BAD_FIELD("X-Bad : 1", "\"X-Bad\" (10 bytes): invalid character"),
    BAD_FIELD("X-Bad\t: 1", "invalid character in the name"),
    BAD_FIELD("X\x01" "Bad: 1", "invalid character in the name"),
    BAD_FIELD("X\x7f" "Bad: 1", "invalid character in the name"),
    BAD_FIELD("X\0Bad: 1", "invalid character in the name"),
    BAD_FIELD("X\rBad: 1", "invalid character in the name"),
    BAD_FIELD("\x01: 1", "invalid character in the name"),
    BAD_FIELD(": no name", "no name"),
    BAD_FIELD("X-A: one\r\n two", "line 3, \"\" (5 bytes): folded line"),
    BAD_FIELD("X-A: one\r\n\ttwo: 2", "folded line"),
    BAD_FIELD(" X-A: one", "folded line"),
    BAD_FIELD("X-A: one\r\n \r\nX: 1", "folded line"),
    BAD_FIELD("X-A: a\0b", "\"X-A\" (9 bytes): control character in the v"),
    BAD_FIELD("X-A: \0", "control character in the value"),
    BAD_FIELD("X-A: a\rb", "control character in the value"),
    BAD_FIELD("X-A: a\rTransfer-Encoding: chunked", "control character"),
    BAD_FIELD("X-A: a\r b", "control character in the value"),
    BAD_FIELD("X-A: \ra", "control character in the value"),
    BAD_FIELD("X-A: a\r ", "control character in the value"),
    BAD_FIELD("X-A: a\x01z", "control character in the value"),
    BAD_FIELD("X-A: a\x1b[0m", "control character in the value"),
    BAD_FIELD("X-A: a\x0bz", "control character in the value"),
    BAD_FIELD("X-A: a\x7fz", "control character in the value"),
    BAD(OK_LINE "A: 1\r\n\r\r\n", "invalid header"),
    BAD(OK_LINE "HTTP/1.1 200 OK\r\n\r\n", "invalid character in the name"),
    BAD(OK_LINE "A: 1\r\nHTTP/1.0 200 OK\r\n\r\n", "line 3, \"HTTP/1.0\""),
    MORE(OK_LINE "X-A: no end"),
    MORE(OK_LINE "no colon yet")
};

/* "1.1 200 [reason]|name=value|name=value", checking the lengths. */
static const char *describe(const up_head_t *head)
{
    char *text = apr_psprintf(unit_pool, "%d.%d %d [%s]", head->major,
                              head->minor, head->status, head->reason);
    int i;

    for (i = 0; i < head->nfields; ++i) {
        const up_field_t *field = &head->fields[i];

        ck_assert_uint_eq(field->name_len, strlen(field->name));
        ck_assert_uint_eq(field->value_len, strlen(field->value));
        text = apr_pstrcat(unit_pool, text, "|", field->name, "=",
                           field->value, NULL);
    }
    return text;
}

/* Gives n bytes, as the parser has room for them. */
static apr_status_t give(up_parser_t *parser, const char *raw, apr_size_t n)
{
    apr_status_t rv = APR_INCOMPLETE;

    while (n > 0 && rv == APR_INCOMPLETE) {
        char *buf;
        apr_size_t room;

        up_parser_space(parser, &buf, &room);
        ck_assert_uint_ge(room, 1);
        room = room < n ? room : n;
        memcpy(buf, raw, room);
        rv = up_parser_added(parser, room);
        raw += room;
        n -= room;
    }
    return rv;
}

/* The sample in pieces: `first` bytes, then `step` at a time. */
static void check_pieces(up_parser_t *parser, const row_t *row,
                         apr_size_t first, apr_size_t step)
{
    apr_size_t at = 0;
    apr_size_t n = first;
    apr_status_t rv = APR_INCOMPLETE;

    up_parser_reset(parser);
    ck_assert(!up_parser_started(parser));
    while (at < row->len && rv == APR_INCOMPLETE) {
        n = n < row->len - at ? n : row->len - at;
        rv = give(parser, row->raw + at, n);
        ck_assert(up_parser_started(parser));
        at += n;
        n = step;
    }
    ck_assert_msg(rv == row->rv, "\"%s\" at %d: got %d, %s", row->raw,
                  (int)first, rv, up_parser_error(parser));
    if (rv == APR_SUCCESS) {
        ck_assert_str_eq(describe(up_parser_head(parser)), row->want);
        ck_assert_uint_eq(up_parser_head(parser)->size,
                          row->len - row->rest);
    }
    if (rv == APR_SUCCESS || rv == APR_INCOMPLETE) {
        ck_assert_str_eq(up_parser_error(parser), "");
    }
    else {
        unit_contains(up_parser_error(parser), row->want);
        ck_assert_uint_le(strlen(up_parser_error(parser)), 200);
    }
    ck_assert_int_eq(up_parser_added(parser, 0), rv);
}

/* In small buffers and in one that is big enough from the start. */
static void check_row(const row_t *row)
{
    up_parser_t *small = up_parser_make(unit_pool, 1, MAX);
    up_parser_t *big = up_parser_make(unit_pool, MAX, MAX);
    apr_size_t cut;

    check_pieces(small, row, row->len, 1);
    check_pieces(big, row, row->len, 1);
    check_pieces(big, row, 1, 1);
    for (cut = 1; cut < row->len; ++cut) {
        small = up_parser_make(unit_pool, FIRST, MAX);
        check_pieces(small, row, cut, row->len);
        check_pieces(big, row, cut, row->len);
    }
}

START_TEST(reads_status_lines)
{
    check_row(&status_lines[_i]);
}
END_TEST

START_TEST(reads_fields)
{
    check_row(&fields[_i]);
}
END_TEST

START_TEST(hands_out_the_rest)
{
    up_parser_t *parser = up_parser_make(unit_pool, 1024, 1024);
    char *rest;
    apr_size_t len;

    ck_assert_int_eq(give(parser, LIT(OK_LINE "\r\nhello")), APR_SUCCESS);
    up_parser_rest(parser, &rest, &len);
    ck_assert_uint_eq(len, 5);
    ck_assert_mem_eq(rest, "hello", 5);
    memset(rest, 'x', len); /* decoding in place is the caller's right */
    ck_assert_str_eq(describe(up_parser_head(parser)), "1.1 200 [OK]");

    up_parser_reset(parser);
    ck_assert(!up_parser_started(parser));
    ck_assert_int_eq(give(parser, LIT("HTTP/1.0 302 Y\r\nA: 1\r\n\r\n")),
                     APR_SUCCESS);
    ck_assert_str_eq(describe(up_parser_head(parser)), "1.0 302 [Y]|A=1");
    up_parser_rest(parser, &rest, &len);
    ck_assert_uint_eq(len, 0);
}
END_TEST

/* 100, 103 and the answer in one stream, cut everywhere. */
START_TEST(skips_interim_heads)
{
    static const char raw[] = "HTTP/1.1 100 Continue\r\n\r\n"
                              "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                              "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nok";
    static const char *const want[] = {
        "1.1 100 [Continue]", "1.1 103 [Early Hints]|Link=</a>",
        "1.1 200 [OK]|X-A=1"
    };
    apr_size_t cut;

    for (cut = 1; cut < sizeof(raw) - 1; ++cut) {
        up_parser_t *parser = up_parser_make(unit_pool, 256, 256);
        apr_size_t len = cut;
        apr_size_t at = 0;
        char *rest;
        int seen = 0;

        while (seen < 3) {
            char *buf;
            apr_size_t room;
            apr_status_t rv = up_parser_added(parser, 0);

            if (rv == APR_SUCCESS) {
                ck_assert_str_eq(describe(up_parser_head(parser)),
                                 want[seen]);
                if (++seen < 3) {
                    up_parser_next(parser);
                }
                continue;
            }
            ck_assert_int_eq(rv, APR_INCOMPLETE);
            ck_assert_uint_lt(at, sizeof(raw) - 1);
            up_parser_space(parser, &buf, &room);
            ck_assert_uint_ge(room, len);
            memcpy(buf, raw + at, len);
            up_parser_added(parser, len);
            at += len;
            len = sizeof(raw) - 1 - at;
        }
        up_parser_rest(parser, &rest, &len);
        ck_assert_uint_eq(len + sizeof(raw) - 1 - at, 2);
        ck_assert_mem_eq(rest, "ok", len);
    }
}
END_TEST

/* What comes first is put there, the rest into the parser's own buffer. */
START_TEST(takes_what_came_first)
{
    static const char raw[] = OK_LINE "X-A: 1\r\nX-B: 2\r\n\r\nrest";
    up_parser_t *parser = up_parser_make(unit_pool, sizeof(raw), 4096);
    apr_size_t first;

    ck_assert_int_eq(up_parser_added(parser, 0), APR_INCOMPLETE);
    ck_assert_uint_eq(up_parser_first(parser), sizeof(raw));
    for (first = 1; first < sizeof(raw); ++first) {
        apr_status_t rv = up_parser_put(parser, raw, first);
        char *rest;
        apr_size_t len;

        ck_assert(up_parser_started(parser));
        if (rv == APR_INCOMPLETE) {
            rv = give(parser, raw + first, sizeof(raw) - 1 - first);
        }
        ck_assert_int_eq(rv, APR_SUCCESS);
        ck_assert_str_eq(up_head_get(up_parser_head(parser), "X-B"), "2");
        up_parser_rest(parser, &rest, &len);
        ck_assert_uint_le(len, 4);
        ck_assert_mem_eq(rest, "rest", len);
        up_parser_reset(parser);
        if (first % 8 == 0) {
            parser = up_parser_make(unit_pool, sizeof(raw), 4096);
        }
    }
}
END_TEST

/* A head of exactly `size` bytes with one long field. */
static const char *head_of(apr_size_t size)
{
    apr_size_t pad = size - strlen(OK_LINE "Set-Cookie: \r\nZ: 1\r\n\r\n");
    char *value = apr_palloc(unit_pool, pad + 1);

    memset(value, 'v', pad);
    value[pad] = '\0';
    return apr_pstrcat(unit_pool, OK_LINE "Set-Cookie: ", value,
                       "\r\nZ: 1\r\n\r\n", NULL);
}

START_TEST(bounds_the_size)
{
    up_parser_t *parser = up_parser_make(unit_pool, FIRST, 4096);
    const char *error;

    ck_assert_int_eq(give(parser, head_of(4096), 4096), APR_SUCCESS);
    ck_assert_uint_eq(up_parser_head(parser)->size, 4096);
    up_parser_reset(parser);
    ck_assert_int_eq(give(parser, head_of(4097), 4097), APR_ENOSPC);
    error = up_parser_error(parser);
    unit_contains(error, "too big header: 4096 bytes, 2 fields");
    unit_contains(error, "largest is \"Set-Cookie\" (4068 bytes)");
    ck_assert_int_eq(up_parser_added(parser, 0), APR_ENOSPC);

    up_parser_reset(parser);
    ck_assert_str_eq(up_parser_error(parser), "");
    ck_assert_int_eq(give(parser, head_of(9000), 9000), APR_ENOSPC);
    unit_contains(up_parser_error(parser), "\"Set-Cookie\" (4079 bytes)");
    ck_assert_ptr_null(strstr(up_parser_error(parser), "vv"));
}
END_TEST

START_TEST(bounds_the_number_of_fields)
{
    up_parser_t *parser = up_parser_make(unit_pool, FIRST, 65536);
    int i;

    ck_assert_int_eq(give(parser, LIT(OK_LINE)), APR_INCOMPLETE);
    for (i = 0; i < 1000; ++i) {
        ck_assert_int_eq(give(parser, LIT("a:1\n")), APR_INCOMPLETE);
    }
    ck_assert_int_eq(give(parser, LIT("a:1\n")), APR_EINVAL);
    ck_assert_str_eq(up_parser_error(parser),
                     "too many header fields: more than 1000");

    up_parser_reset(parser);
    ck_assert_int_eq(give(parser, LIT(OK_LINE)), APR_INCOMPLETE);
    for (i = 0; i < 1000; ++i) {
        ck_assert_int_eq(give(parser, LIT("a:1\n")), APR_INCOMPLETE);
    }
    ck_assert_int_eq(give(parser, LIT("\n")), APR_SUCCESS);
    ck_assert_int_eq(up_parser_head(parser)->nfields, 1000);
    ck_assert_str_eq(up_parser_head(parser)->fields[999].value, "1");
}
END_TEST

/* Hostile names are cut and made printable. */
START_TEST(writes_printable_errors)
{
    up_parser_t *parser = up_parser_make(unit_pool, 1024, 1024);
    char raw[600];
    const char *s;

    memset(raw, '\xfe', sizeof(raw));
    memcpy(raw, LIT(OK_LINE));
    memcpy(raw + 500, LIT("\"\\ \n"));
    ck_assert_int_eq(give(parser, raw, sizeof(raw)), APR_EINVAL);
    ck_assert_uint_le(strlen(up_parser_error(parser)), 200);
    for (s = up_parser_error(parser); *s; ++s) {
        ck_assert(*s >= ' ' && *s < 0x7f);
    }
}
END_TEST

static const up_head_t *head_for(const char *raw)
{
    up_parser_t *parser = up_parser_make(unit_pool, 1024, 1024);

    ck_assert_int_eq(give(parser, raw, strlen(raw)), APR_SUCCESS);
    return up_parser_head(parser);
}

START_TEST(finds_fields)
{
    const up_head_t *head = head_for(OK_LINE "X-A: 1\r\nx-a: 2\r\nX: 3\r\n"
                                     "Empty:\r\n\r\n");

    ck_assert_str_eq(up_head_get(head, "X-A"), "1");
    ck_assert_str_eq(up_head_get(head, "x-A"), "1");
    ck_assert_str_eq(up_head_get(head, "x"), "3");
    ck_assert_str_eq(up_head_get(head, "EMPTY"), "");
    ck_assert_ptr_null(up_head_get(head, "X-"));
    ck_assert_ptr_null(up_head_get(head, "X-AB"));
    ck_assert_ptr_null(up_head_get(head, ""));
}
END_TEST

START_TEST(reads_trailers)
{
    const char *error = NULL;
    const up_head_t *head = up_parser_trailers(
        unit_pool, LIT("grpc-status: 0\r\nX:\r\nX: two words \r\n"), &error);

    ck_assert_ptr_nonnull(head);
    ck_assert_int_eq(head->nfields, 3);
    ck_assert_str_eq(head->fields[0].name, "grpc-status");
    ck_assert_str_eq(head->fields[0].value, "0");
    ck_assert_str_eq(head->fields[1].value, "");
    ck_assert_str_eq(head->fields[2].value, "two words");
    head = up_parser_trailers(unit_pool, "", 0, &error);
    ck_assert_ptr_nonnull(head);
    ck_assert_int_eq(head->nfields, 0);
    ck_assert_ptr_null(error);
}
END_TEST

START_TEST(refuses_trailers)
{
    static const struct {
        const char *block;
        const char *error;
    } rows[] = {
        { "A: 1\r\nno colon\r\n", "invalid trailer: line 2, \"no\" "
          "(9 bytes): invalid character in the name" },
        { "A:\x01\r\n", "invalid trailer: line 1, \"A\" (4 bytes): control "
          "character in the value" },
        { " A: 1\r\n", "invalid trailer: line 1, \"\" (6 bytes): folded "
          "line" },
        { "A: 1\r\n\r\nB: 2\r\n", "invalid trailer" },
        { "HTTP/1.1 200 OK\r\n", "invalid trailer: line 1, \"HTTP/1.1\" "
          "(16 bytes): invalid character in the name" },
    };
    int i;

    for (i = 0; i < COUNT(rows); i++) {
        const char *error = NULL;

        ck_assert_ptr_null(up_parser_trailers(unit_pool, rows[i].block,
                                              strlen(rows[i].block), &error));
        ck_assert_str_eq(error, rows[i].error);
    }
}
END_TEST

Suite *unit_status_parser(void)
{
    Suite *suite = suite_create("status_parser");
    TCase *tc = unit_case(suite, "grammar");

    tcase_add_loop_test(tc, reads_status_lines, 0, COUNT(status_lines));
    tcase_add_loop_test(tc, reads_fields, 0, COUNT(fields));
    tc = unit_case(suite, "buffer");
    tcase_add_test(tc, hands_out_the_rest);
    tcase_add_test(tc, skips_interim_heads);
    tcase_add_test(tc, takes_what_came_first);
    tcase_add_test(tc, bounds_the_size);
    tcase_add_test(tc, bounds_the_number_of_fields);
    tcase_add_test(tc, writes_printable_errors);
    tc = unit_case(suite, "lookup");
    tcase_add_test(tc, finds_fields);
    tc = unit_case(suite, "trailers");
    tcase_add_test(tc, reads_trailers);
    tcase_add_test(tc, refuses_trailers);
    return suite;
}
