/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The retry decision: the cases people argue about as a table, and every
 * combination of facts against the rules.
 */

#include "exchange/retry.h"
#include "t/unit/up_unit.h"

#define DEFAULT (UP_FAIL_ERROR | UP_FAIL_TIMEOUT)

typedef struct row_t {
    const char *name;
    up_retry_facts_t facts;
    up_retry_e want;
} row_t;

static const row_t rows[] = {
    { "refused, nothing sent: even a POST moves on",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1 },
      UP_RETRY_NEXT },
    { "GET closed after sending",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1, .sent = 1,
        .idempotent = 1, .replayable = 1 },
      UP_RETRY_NEXT },
    { "GET timed out",
      { .fail = UP_FAIL_TIMEOUT, .enabled = DEFAULT, .tries = 1, .sent = 1,
        .idempotent = 1, .replayable = 1 },
      UP_RETRY_NEXT },
    { "POST sent: once is enough",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1, .sent = 1,
        .replayable = 1 },
      UP_RETRY_STOP },
    { "POST sent, non_idempotent listed",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT | UP_FAIL_NON_IDEMPOTENT,
        .tries = 1, .sent = 1, .replayable = 1 },
      UP_RETRY_NEXT },
    { "POST on a dead kept connection",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1, .sent = 1,
        .replayable = 1, .reused = 1 },
      UP_RETRY_STOP },
    { "the same, reused listed",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT | UP_FAIL_REUSED,
        .tries = 1, .sent = 1, .replayable = 1, .reused = 1 },
      UP_RETRY_STALE },
    { "the same, its body gone",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT | UP_FAIL_REUSED,
        .tries = 1, .sent = 1, .reused = 1 },
      UP_RETRY_STOP },
    { "the same on a new connection",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT | UP_FAIL_REUSED,
        .tries = 1, .sent = 1, .replayable = 1 },
      UP_RETRY_STOP },
    { "non_idempotent alone enables no failure",
      { .fail = UP_FAIL_ERROR, .enabled = UP_FAIL_NON_IDEMPOTENT, .tries = 1,
        .sent = 1, .replayable = 1 },
      UP_RETRY_STOP },
    { "upload streamed, part of it gone",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT | UP_FAIL_NON_IDEMPOTENT,
        .tries = 1, .sent = 1, .idempotent = 1 },
      UP_RETRY_STOP },
    { "no tries left",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .idempotent = 1,
        .replayable = 1 },
      UP_RETRY_STOP },
    { "out of time",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1,
        .idempotent = 1, .replayable = 1, .out_of_time = 1 },
      UP_RETRY_STOP },
    { "off",
      { .fail = UP_FAIL_ERROR, .enabled = UP_FAIL_OFF, .tries = 1,
        .idempotent = 1, .replayable = 1 },
      UP_RETRY_STOP },
    { "off overrides what is beside it",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT | UP_FAIL_OFF, .tries = 1,
        .idempotent = 1, .replayable = 1 },
      UP_RETRY_STOP },
    { "a failure that is not listed",
      { .fail = UP_FAIL_INVALID_HEADER, .enabled = DEFAULT, .tries = 1,
        .sent = 1, .idempotent = 1, .replayable = 1, .answered = 1 },
      UP_RETRY_STOP },
    { "invalid_header listed",
      { .fail = UP_FAIL_INVALID_HEADER,
        .enabled = DEFAULT | UP_FAIL_INVALID_HEADER, .tries = 1, .sent = 1,
        .idempotent = 1, .replayable = 1, .answered = 1 },
      UP_RETRY_NEXT },
    { "503 listed",
      { .fail = UP_FAIL_HTTP_503, .enabled = DEFAULT | UP_FAIL_HTTP_503,
        .tries = 1, .sent = 1, .idempotent = 1, .replayable = 1,
        .answered = 1 },
      UP_RETRY_NEXT },
    { "503 listed, 500 came",
      { .fail = UP_FAIL_HTTP_500, .enabled = DEFAULT | UP_FAIL_HTTP_503,
        .tries = 1, .sent = 1, .idempotent = 1, .replayable = 1,
        .answered = 1 },
      UP_RETRY_STOP },
    { "no live server is never retried",
      { .fail = UP_FAIL_NOLIVE, .enabled = ~UP_FAIL_OFF, .tries = 5,
        .idempotent = 1, .replayable = 1 },
      UP_RETRY_STOP },
    { "stale, GET: same server, free",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1 },
      UP_RETRY_STALE },
    { "stale although other servers could be tried",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 3, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1 },
      UP_RETRY_STALE },
    { "stale with retries off",
      { .fail = UP_FAIL_ERROR, .enabled = UP_FAIL_OFF, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1 },
      UP_RETRY_STALE },
    { "stale, nothing sent: any method",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .reused = 1 },
      UP_RETRY_STALE },
    { "stale, POST sent",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1, .sent = 1,
        .replayable = 1, .reused = 1 },
      UP_RETRY_STOP },
    { "stale, POST sent, non_idempotent listed",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT | UP_FAIL_NON_IDEMPOTENT,
        .sent = 1, .replayable = 1, .reused = 1 },
      UP_RETRY_STALE },
    { "stale, but the body is gone",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1, .sent = 1,
        .idempotent = 1, .reused = 1 },
      UP_RETRY_STOP },
    { "stale, but out of time",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1, .out_of_time = 1 },
      UP_RETRY_STOP },
    { "the free retry failed too: an ordinary failure, another server",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .tries = 1, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1, .stale_before = 1 },
      UP_RETRY_NEXT },
    { "the free retry failed too, no server left",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1, .stale_before = 1 },
      UP_RETRY_STOP },
    { "a response had begun: not stale",
      { .fail = UP_FAIL_ERROR, .enabled = DEFAULT, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1, .answered = 1 },
      UP_RETRY_STOP },
    { "a silent pooled connection is slow, not stale",
      { .fail = UP_FAIL_TIMEOUT, .enabled = DEFAULT, .sent = 1,
        .idempotent = 1, .replayable = 1, .reused = 1 },
      UP_RETRY_STOP }
};

START_TEST(decides)
{
    const row_t *row = &rows[_i];

    ck_assert_msg(up_retry_decide(&row->facts) == row->want, "%s: got %d",
                  row->name, up_retry_decide(&row->facts));
}
END_TEST

/* The facts whose bits are the bits of n, 0..2047. */
static up_retry_facts_t facts_of(unsigned int n, unsigned int fail,
                                 unsigned int enabled)
{
    return (up_retry_facts_t){
        .fail = fail,
        .enabled = enabled | (n & 1 ? UP_FAIL_NON_IDEMPOTENT : 0)
                   | (n & 2 ? UP_FAIL_OFF : 0),
        .tries = n & 4 ? 1 : 0,
        .sent = n & 8 ? 1 : 0,
        .idempotent = n & 16 ? 1 : 0,
        .replayable = n & 32 ? 1 : 0,
        .out_of_time = n & 64 ? 1 : 0,
        .reused = n & 128 ? 1 : 0,
        .answered = n & 256 ? 1 : 0,
        .stale_before = n & 512 ? 1 : 0
    };
}

static void check_rules(const up_retry_facts_t *f)
{
    up_retry_e got = up_retry_decide(f);
    int again = !f->sent
                || (f->replayable
                    && (f->idempotent
                        || (f->enabled & UP_FAIL_NON_IDEMPOTENT)));
    int free_try = f->reused && !f->answered && !f->stale_before
                   && f->fail == UP_FAIL_ERROR;
    int next = f->tries > 0 && (f->enabled & f->fail)
               && !(f->enabled & UP_FAIL_OFF) && f->fail != UP_FAIL_NOLIVE;

    if (f->out_of_time || !again || (!free_try && !next)) {
        ck_assert_int_eq(got, UP_RETRY_STOP);
    }
    else {
        ck_assert_int_eq(got, free_try ? UP_RETRY_STALE : UP_RETRY_NEXT);
    }
    ck_assert_int_eq(!!up_retry_worth(f), !f->out_of_time && again && next);
}

START_TEST(keeps_the_rules)
{
    static const unsigned int fails[] = {
        UP_FAIL_ERROR, UP_FAIL_TIMEOUT, UP_FAIL_INVALID_HEADER,
        UP_FAIL_HTTP_500, UP_FAIL_HTTP_404, UP_FAIL_HTTP_429, UP_FAIL_NOLIVE
    };
    unsigned int n;
    int i;

    for (i = 0; i < COUNT(fails); ++i) {
        for (n = 0; n < 1024; ++n) {
            up_retry_facts_t listed = facts_of(n, fails[i], fails[i]);
            up_retry_facts_t other = facts_of(n, fails[i],
                                              UP_FAIL_HTTP_504);

            check_rules(&listed);
            check_rules(&other);
        }
    }
}
END_TEST

START_TEST(knows_stale_connections)
{
    up_retry_facts_t facts = { .fail = UP_FAIL_ERROR, .reused = 1,
                               .sent = 1 };

    ck_assert_int_eq(up_retry_stale(&facts), 1);
    ck_assert_int_eq(up_retry_decide(&facts), UP_RETRY_STOP);
    facts.answered = 1;
    ck_assert_int_eq(up_retry_stale(&facts), 0);
    facts.answered = 0;
    facts.reused = 0;
    ck_assert_int_eq(up_retry_stale(&facts), 0);
    facts.reused = 1;
    facts.fail = UP_FAIL_TIMEOUT;
    ck_assert_int_eq(up_retry_stale(&facts), 0);
}
END_TEST

/* Whenever no other try follows, there is a reason for the log. */
START_TEST(tells_the_obstacle)
{
    up_retry_facts_t facts = { .fail = UP_FAIL_NOLIVE, .enabled = DEFAULT };

    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts), "max_conns"));
    facts.addressless = 1;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts), "UP0105"));
    facts.fail = UP_FAIL_INVALID_HEADER;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts), "does not name"));
    facts.fail = UP_FAIL_ERROR;
    facts.sent = 1;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts), "streamed"));
    facts.replayable = 1;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts),
                                 "non_idempotent"));
    facts.idempotent = 1;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts), "no other"));
    facts.out_of_time = 1;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts), "no other"));
    facts.tries = 1;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts),
                                 "UpstreamNextUpstreamTimeout"));
    facts.tries = 0;
    facts.limited = 1;
    ck_assert_ptr_nonnull(strstr(up_retry_obstacle(&facts),
                                 "UpstreamNextUpstreamTries"));
}
END_TEST

START_TEST(knows_statuses)
{
    static const int statuses[] = { 403, 404, 429, 500, 502, 503, 504 };
    int status;
    int known = 0;

    for (status = 0; status < 1000; ++status) {
        unsigned int bit = up_retry_bit(status);

        if (bit) {
            ck_assert_int_eq(status, statuses[known]);
            ck_assert_int_eq(up_retry_status(bit), status);
            ck_assert_uint_ne(bit & UP_FAIL_HTTP_ANY, 0);
            ++known;
        }
    }
    ck_assert_int_eq(known, COUNT(statuses));
    ck_assert_int_eq(up_retry_status(UP_FAIL_ERROR), 502);
    ck_assert_int_eq(up_retry_status(UP_FAIL_INVALID_HEADER), 502);
    ck_assert_int_eq(up_retry_status(UP_FAIL_NOLIVE), 502);
    ck_assert_int_eq(up_retry_status(UP_FAIL_TIMEOUT), 504);
    ck_assert_int_eq(up_retry_status(UP_FAIL_TIMEOUT
                                     | UP_FAIL_NON_IDEMPOTENT), 504);
}
END_TEST

START_TEST(knows_methods)
{
    static const char *const yes[] = {
        "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "PROPFIND",
        "PROPPATCH", "MKCOL", "COPY", "MOVE", "UNLOCK", "SEARCH", "REPORT"
    };
    static const char *const no[] = {
        "POST", "LOCK", "PATCH", "CONNECT", "PURGE", "M-SEARCH", "", "get",
        "GETS", "GE", "Head"
    };
    int i;

    for (i = 0; i < COUNT(yes); ++i) {
        ck_assert_msg(up_retry_idempotent(yes[i]), "%s", yes[i]);
    }
    for (i = 0; i < COUNT(no); ++i) {
        ck_assert_msg(!up_retry_idempotent(no[i]), "%s", no[i]);
    }
}
END_TEST

Suite *unit_retry(void)
{
    Suite *suite = suite_create("retry");
    TCase *tc = unit_case(suite, "decision");

    tcase_add_loop_test(tc, decides, 0, COUNT(rows));
    tcase_add_test(tc, keeps_the_rules);
    tc = unit_case(suite, "tables");
    tcase_add_test(tc, knows_stale_connections);
    tcase_add_test(tc, tells_the_obstacle);
    tcase_add_test(tc, knows_statuses);
    tcase_add_test(tc, knows_methods);
    return suite;
}
