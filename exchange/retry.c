/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The decision whether a failed try is followed by another, and the tables
 * behind it: which status has which bit, which methods may be repeated.
 */

#include "exchange/retry.h"

#include <string.h>

static const struct {
    unsigned int bit;
    int status;
} statuses[] = {
    { UP_FAIL_HTTP_500, 500 }, { UP_FAIL_HTTP_502, 502 },
    { UP_FAIL_HTTP_503, 503 }, { UP_FAIL_HTTP_504, 504 },
    { UP_FAIL_HTTP_403, 403 }, { UP_FAIL_HTTP_404, 404 },
    { UP_FAIL_HTTP_429, 429 }, { 0, 0 }
};

/* RFC 9110 9.2.2 and, below the blank line, RFC 4918, 5323 and 3253. nginx
 * repeats everything but POST, LOCK and PATCH; a method nobody knows is not
 * safe to repeat. */
static const char *const idempotent[] = {
    "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE",

    "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "UNLOCK", "SEARCH",
    "REPORT", NULL
};

/* Can the request go out (again) without harm? What was not sent at all is
 * still whole and has had no effect. */
static int repeatable(const up_retry_facts_t *facts)
{
    if (!facts->sent) {
        return 1;
    }
    return facts->replayable
           && (facts->idempotent || (facts->enabled & UP_FAIL_NON_IDEMPOTENT));
}

int up_retry_stale(const up_retry_facts_t *facts)
{
    return facts->reused && !facts->answered && !facts->stale_before
           && (facts->fail & UP_FAIL_ERROR);
}

up_retry_e up_retry_decide(const up_retry_facts_t *facts)
{
    if (up_retry_stale(facts) && !facts->out_of_time
        && (repeatable(facts)
            || (facts->replayable && (facts->enabled & UP_FAIL_REUSED)))) {
        return UP_RETRY_STALE;
    }
    return up_retry_worth(facts) ? UP_RETRY_NEXT : UP_RETRY_STOP;
}

int up_retry_worth(const up_retry_facts_t *facts)
{
    /* `off` overrides the words beside it, and with no server to choose
     * another try would choose none again. */
    if ((facts->enabled & UP_FAIL_OFF) || (facts->fail & UP_FAIL_NOLIVE)
        || !(facts->fail & facts->enabled)) {
        return 0;
    }
    return facts->tries > 0 && !facts->out_of_time && repeatable(facts);
}

const char *up_retry_obstacle(const up_retry_facts_t *facts)
{
    if (facts->vetoed) {
        return "another module allows no other try";
    }
    if ((facts->fail & UP_FAIL_NOLIVE) && facts->addressless) {
        return "no server of the group has an address, see UP0105 at the "
               "start of the log, or UP0763";
    }
    if (facts->fail & UP_FAIL_NOLIVE) {
        return "all are down, full or resting (max_conns, fail_timeout of "
               "UpstreamServer)";
    }
    if (facts->total_over) {
        return "UpstreamTotalTimeout is over";
    }
    if (!(facts->fail & facts->enabled)) {
        return "UpstreamNextUpstream does not name this failure";
    }
    if (!repeatable(facts)) {
        return facts->replayable
                   ? "the request may not be repeated (UpstreamNextUpstream "
                     "non_idempotent)"
                   : "the streamed body is gone (UpstreamRequestBuffering on)";
    }
    if (facts->limited) {
        return "UpstreamNextUpstreamTries allows no other try";
    }
    return facts->out_of_time && facts->tries > 0
               ? "UpstreamNextUpstreamTimeout is over"
               : "no other server is left to try";
}

unsigned int up_retry_bit(int status)
{
    int i;

    for (i = 0; statuses[i].bit; ++i) {
        if (statuses[i].status == status) {
            return statuses[i].bit;
        }
    }
    return 0;
}

int up_retry_status(unsigned int fail)
{
    int i;

    for (i = 0; statuses[i].bit; ++i) {
        if (statuses[i].bit & fail) {
            return statuses[i].status;
        }
    }
    return (fail & UP_FAIL_TIMEOUT) ? 504 : 502;
}

int up_retry_idempotent(const char *method)
{
    int i;

    for (i = 0; idempotent[i]; ++i) {
        if (strcmp(idempotent[i], method) == 0) {
            return 1;
        }
    }
    return 0;
}
