/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The words for failures. */

#include "exchange/error_type.h"

#include <errno.h>

#include "t/unit/up_unit.h"

static const struct {
    const char *want;
    up_error_facts_t facts;
} rows[] = {
    { "connection_refused",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_CONNECT,
        .rv = ECONNREFUSED } },
    { "destination_ip_unroutable",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_CONNECT,
        .rv = EHOSTUNREACH } },
    { "destination_ip_unroutable",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_CONNECT,
        .rv = ENETUNREACH } },
    { "connection_timeout",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_CONNECT,
        .rv = ETIMEDOUT } },
    { "destination_unavailable",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_CONNECT, .rv = ENOENT } },
    { "destination_unavailable",
      { .fail = UP_FAIL_NOLIVE, .stage = UP_STAGE_SELECT } },
    { "connection_timeout",
      { .fail = UP_FAIL_TIMEOUT, .stage = UP_STAGE_CONNECT } },
    { "connection_timeout",
      { .fail = UP_FAIL_TIMEOUT, .stage = UP_STAGE_HANDSHAKE } },
    { "tls_protocol_error",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_HANDSHAKE } },
    { "connection_write_timeout",
      { .fail = UP_FAIL_TIMEOUT, .stage = UP_STAGE_SEND } },
    { "connection_read_timeout",
      { .fail = UP_FAIL_TIMEOUT, .stage = UP_STAGE_HEAD } },
    { "http_response_timeout",
      { .fail = UP_FAIL_TIMEOUT, .stage = UP_STAGE_CONNECT, .total = 1 } },
    { "connection_terminated",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_SEND, .rv = EPIPE } },
    { "connection_terminated",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_HEAD } },
    { "http_response_incomplete",
      { .fail = UP_FAIL_ERROR, .stage = UP_STAGE_HEAD, .answered = 1 } },
    { "http_protocol_error",
      { .fail = UP_FAIL_INVALID_HEADER, .stage = UP_STAGE_HEAD } },
    { "http_500", { .fail = UP_FAIL_HTTP_500, .stage = UP_STAGE_HEAD } },
    { "http_502", { .fail = UP_FAIL_HTTP_502, .stage = UP_STAGE_HEAD } },
    { "http_503", { .fail = UP_FAIL_HTTP_503, .stage = UP_STAGE_HEAD } },
    { "http_504", { .fail = UP_FAIL_HTTP_504, .stage = UP_STAGE_HEAD } },
    { "http_403", { .fail = UP_FAIL_HTTP_403, .stage = UP_STAGE_HEAD } },
    { "http_404", { .fail = UP_FAIL_HTTP_404, .stage = UP_STAGE_HEAD } },
    { "http_429", { .fail = UP_FAIL_HTTP_429, .stage = UP_STAGE_HEAD } },
};

START_TEST(names_failures)
{
    ck_assert_str_eq(up_errortype_of(&rows[_i].facts), rows[_i].want);
}
END_TEST

START_TEST(names_cut_responses)
{
    ck_assert_str_eq(up_errortype_of_body(APR_TIMEUP),
                     "connection_read_timeout");
    ck_assert_str_eq(up_errortype_of_body(APR_EINVAL), "http_protocol_error");
    ck_assert_str_eq(up_errortype_of_body(APR_INCOMPLETE),
                     "http_response_incomplete");
    ck_assert_str_eq(up_errortype_of_body(ECONNRESET),
                     "http_response_incomplete");
}
END_TEST

Suite *unit_error_type(void)
{
    Suite *suite = suite_create("error_type");
    TCase *tc = unit_case(suite, "words");

    tcase_add_loop_test(tc, names_failures, 0,
                        sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tc, names_cut_responses);
    return suite;
}
