/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * What a response head says about the body behind it (up_head_framing in
 * status_parser.c).
 */

#include "exchange/framing.h"
#include "status_parser.h"
#include "t/unit/up_unit.h"

#include <string.h>

typedef struct row_t {
    const char *raw; /* without the empty line */
    int head_request;
    up_framing_t want;
    const char *error; /* the whole text; want is not looked at */
} row_t;

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define CL5 "Content-Length: 5\r\n"
#define TE "Transfer-Encoding: chunked\r\n"

#define NONE(announced) { UP_FRAMING_NONE, -1, announced, 0 }
#define LENGTH(n) { UP_FRAMING_LENGTH, n, n, 0 }
#define CHUNKED { UP_FRAMING_CHUNKED, -1, -1, 0 }
#define CLOSED { UP_FRAMING_CLOSE, -1, -1, 0 }
#define REFUSED(raw, error) { raw, 0, CLOSED, error }

#define BAD_LENGTH "invalid \"Content-Length\" header"
#define TWO_LENGTHS "duplicate \"Content-Length\" header"
#define BAD_CODING "unknown \"Transfer-Encoding\""
#define TWO_CODINGS "duplicate \"Transfer-Encoding\" header"
#define BOTH \
    "\"Content-Length\" and \"Transfer-Encoding\" headers at the same time"

static const row_t rows[] = {
    { OK_LINE, 0, CLOSED, NULL },
    { OK_LINE CL5, 0, LENGTH(5), NULL },
    { OK_LINE "content-LENGTH:   5  \r\n", 0, LENGTH(5), NULL },
    { OK_LINE "Content-Length: 0\r\n", 0, LENGTH(0), NULL },
    { OK_LINE "Content-Length: 0005\r\n", 0, LENGTH(5), NULL },
    { OK_LINE "Content-Length: 9223372036854775807\r\n", 0,
      LENGTH(APR_INT64_MAX), NULL },
    { OK_LINE TE, 0, CHUNKED, NULL },
    { OK_LINE "transfer-encoding: CHUNKED\r\n", 0, CHUNKED, NULL },
    { OK_LINE "X-Content-Length: 5\r\nContent-Lengthy: 6\r\n", 0, CLOSED,
      NULL },

    /* no body, whatever the fields say */
    { "HTTP/1.1 204 No Content\r\n", 0, NONE(-1), NULL },
    { "HTTP/1.1 204 No Content\r\n" CL5, 0, NONE(5), NULL },
    { "HTTP/1.1 204 No Content\r\n" TE, 0, NONE(-1), NULL },
    { "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n", 0, NONE(500),
      NULL },
    { "HTTP/1.1 304 Not Modified\r\n" TE, 0, NONE(-1), NULL },
    { OK_LINE, 1, NONE(-1), NULL },
    { OK_LINE CL5, 1, NONE(5), NULL },
    { OK_LINE TE, 1, NONE(-1), NULL },
    { "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n", 1, NONE(9), NULL },
    { "HTTP/1.1 205 Reset\r\n" CL5, 0, LENGTH(5), NULL },

    /* an interim head ends with itself; its length is not for relaying */
    { "HTTP/1.1 100 Continue\r\n", 0, NONE(-1), NULL },
    { "HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n" TE, 0, NONE(-1),
      NULL },
    { "HTTP/1.1 101 Switching\r\nContent-Length: x\r\n", 0, NONE(-1), NULL },

    /* the connection */
    { OK_LINE CL5 "Connection: close\r\n", 0, { UP_FRAMING_LENGTH, 5, 5, 1 },
      NULL },
    { OK_LINE CL5 "Connection: keep-alive\r\nConnection: X, CLOSE\r\n", 0,
      { UP_FRAMING_LENGTH, 5, 5, 1 }, NULL },
    { OK_LINE CL5 "Connection: unclosed\r\n", 0,
      { UP_FRAMING_LENGTH, 5, 5, 1 }, NULL },
    { OK_LINE CL5 "Connection: keep-alive\r\n", 0, LENGTH(5), NULL },
    { OK_LINE CL5 "Connection: clos\r\n", 0, LENGTH(5), NULL },
    { OK_LINE CL5 "Connection: c,l,o,s,e\r\n", 0, LENGTH(5), NULL },
    { OK_LINE CL5 "Proxy-Connection: close\r\n", 0, LENGTH(5), NULL },
    { "HTTP/1.0 200 OK\r\n" CL5, 0, { UP_FRAMING_LENGTH, 5, 5, 1 }, NULL },
    { "HTTP/1.0 200 OK\r\n" CL5 "Connection: keep-alive\r\n", 0,
      { UP_FRAMING_LENGTH, 5, 5, 1 }, NULL },
    { "HTTP/1.0 200 OK\r\n", 0, { UP_FRAMING_CLOSE, -1, -1, 1 }, NULL },
    { "HTTP/1.0 200 OK\r\n" TE, 0, { UP_FRAMING_CHUNKED, -1, -1, 1 }, NULL },
    { "HTTP/2.0 200 OK\r\n" CL5, 0, LENGTH(5), NULL },

    REFUSED(OK_LINE "Content-Length: -1\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: +2\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: abc\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 1.5\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length:\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 123abc\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 0x5\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 5 5\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 5, 5\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 5,\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: \t5\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 9223372036854775808\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 1234567890123456789012345\r\n",
            BAD_LENGTH),
    REFUSED(OK_LINE CL5 CL5, TWO_LENGTHS),
    REFUSED(OK_LINE "Content-Length: 2\r\ncontent-length: 20\r\n",
            TWO_LENGTHS),
    REFUSED(OK_LINE "Content-Length: 0\r\n" CL5, TWO_LENGTHS),
    REFUSED(OK_LINE "Transfer-Encoding: gzip, chunked\r\n", BAD_CODING),
    REFUSED(OK_LINE "Transfer-Encoding: identity\r\n", BAD_CODING),
    REFUSED(OK_LINE "Transfer-Encoding:\r\n", BAD_CODING),
    REFUSED(OK_LINE "Transfer-Encoding: chunked,\r\n", BAD_CODING),
    REFUSED(OK_LINE "Transfer-Encoding: chunked;q=1\r\n", BAD_CODING),
    REFUSED(OK_LINE "Transfer-Encoding: \tchunked\r\n", BAD_CODING),
    REFUSED(OK_LINE "Transfer-Encoding: xchunked\r\n", BAD_CODING),
    REFUSED(OK_LINE TE TE, TWO_CODINGS),
    REFUSED(OK_LINE TE "Transfer-Encoding: identity\r\n", TWO_CODINGS),
    REFUSED(OK_LINE CL5 TE, BOTH),
    REFUSED(OK_LINE TE CL5, BOTH),
    REFUSED(OK_LINE TE "Content-Length: 0\r\n", BOTH),
    { OK_LINE CL5 TE, 1, CLOSED, BOTH },
    { OK_LINE "Content-Length: x\r\n", 1, CLOSED, BAD_LENGTH },
    REFUSED("HTTP/1.1 204 No Content\r\n" CL5 TE, BOTH),
    REFUSED("HTTP/1.1 304 Not Modified\r\n" CL5 CL5, TWO_LENGTHS),
    REFUSED("HTTP/1.0 200 OK\r\n" CL5 TE, BOTH)
};

/* UpstreamLenientFraming. What was forgiven closes the connection. */
#define FORGIVEN(kind, length) { kind, length, length, 1 }
#define DIFFER "differing \"Content-Length\" headers"

static const row_t lenient_rows[] = {
    { OK_LINE, 0, CLOSED, NULL },
    { OK_LINE CL5, 0, LENGTH(5), NULL },
    { OK_LINE TE, 0, CHUNKED, NULL },
    { OK_LINE CL5 CL5, 0, FORGIVEN(UP_FRAMING_LENGTH, 5), NULL },
    { OK_LINE CL5 CL5 CL5, 0, FORGIVEN(UP_FRAMING_LENGTH, 5), NULL },
    { OK_LINE "Content-Length: 5, 5\r\n", 0, FORGIVEN(UP_FRAMING_LENGTH, 5),
      NULL },
    { OK_LINE CL5 "Content-Length: 05\r\n", 0,
      FORGIVEN(UP_FRAMING_LENGTH, 5), NULL },
    { OK_LINE TE TE, 0, FORGIVEN(UP_FRAMING_CHUNKED, -1), NULL },
    { OK_LINE "Transfer-Encoding: chunked ,\tchunked\r\n", 0,
      FORGIVEN(UP_FRAMING_CHUNKED, -1), NULL },
    { OK_LINE CL5 TE, 0, FORGIVEN(UP_FRAMING_CHUNKED, -1), NULL },
    { OK_LINE TE CL5 CL5, 0, FORGIVEN(UP_FRAMING_CHUNKED, -1), NULL },
    { OK_LINE TE CL5, 1, FORGIVEN(UP_FRAMING_NONE, -1), NULL },
    { "HTTP/1.1 304 Not Modified\r\n" CL5 CL5, 0,
      { UP_FRAMING_NONE, -1, 5, 1 }, NULL },
    REFUSED(OK_LINE CL5 "Content-Length: 6\r\n", DIFFER),
    REFUSED(OK_LINE "Content-Length: 5, 50\r\n", DIFFER),
    REFUSED(OK_LINE CL5 "Content-Length: 6\r\n" TE, DIFFER),
    REFUSED(OK_LINE CL5 "Content-Length: x\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: 5,\r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Content-Length: \r\n", BAD_LENGTH),
    REFUSED(OK_LINE "Transfer-Encoding: gzip, chunked\r\n", BAD_CODING),
    REFUSED(OK_LINE "Transfer-Encoding: identity\r\n" CL5, BAD_CODING),
};

typedef const char *(*frame_t)(const up_head_t *head, int head_request,
                               up_framing_t *framing);

static void check_row(const row_t *row, frame_t frame)
{
    up_parser_t *parser = up_parser_make(unit_pool, 1024, 1024);
    up_framing_t got;
    const char *error;
    char *buf;
    apr_size_t room;
    apr_size_t len = strlen(row->raw);

    up_parser_space(parser, &buf, &room);
    memcpy(buf, row->raw, len);
    memcpy(buf + len, "\r\n", 2);
    ck_assert_int_eq(up_parser_added(parser, len + 2), APR_SUCCESS);
    error = frame(up_parser_head(parser), row->head_request, &got);
    if (row->error) {
        ck_assert_msg(error != NULL, "was taken: %s", row->raw);
        ck_assert_str_eq(error, row->error);
        return;
    }
    ck_assert_msg(error == NULL, "%s: %s", row->raw, error);
    ck_assert_msg(got.kind == row->want.kind, "kind %d: %s", got.kind,
                  row->raw);
    ck_assert_int_eq(got.length, row->want.length);
    ck_assert_int_eq(got.announced, row->want.announced);
    ck_assert_msg(!!got.close == row->want.close, "close: %s", row->raw);
}

START_TEST(frames)
{
    check_row(&rows[_i], up_head_framing);
}
END_TEST

START_TEST(frames_leniently)
{
    check_row(&lenient_rows[_i], up_head_framing_lenient);
}
END_TEST

Suite *unit_framing(void)
{
    Suite *suite = suite_create("framing");
    TCase *tc = unit_case(suite, "fields");

    tcase_add_loop_test(tc, frames, 0, COUNT(rows));
    tcase_add_loop_test(tc, frames_leniently, 0, COUNT(lenient_rows));
    return suite;
}
