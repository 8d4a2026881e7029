/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The record of the tries, and its text form: nginx's lists.
 */

#include "exchange/trail.h"

#include "apr_strings.h"

up_trail_t *up_trail_make(apr_pool_t *p, const up_trail_t *earlier)
{
    up_trail_t *trail = apr_pcalloc(p, sizeof(*trail));

    trail->p = p;
    trail->tries = apr_array_make(p, 2, sizeof(up_try_t));
    trail->earlier = earlier;
    return trail;
}

up_try_t *up_trail_open(up_trail_t *trail, const char *peer, apr_time_t now)
{
    up_try_t *try;

    up_trail_close(trail, now);
    try = apr_array_push(trail->tries);
    *try = (up_try_t){
        .peer = peer,
        .started = now,
        .queue_time = -1,
        .connect_time = -1,
        .header_time = -1,
        .response_time = -1
    };
    return try;
}

up_try_t *up_trail_last(const up_trail_t *trail)
{
    int n = trail->tries->nelts;

    return n ? &APR_ARRAY_IDX(trail->tries, n - 1, up_try_t) : NULL;
}

void up_trail_close(up_trail_t *trail, apr_time_t now)
{
    up_try_t *try = up_trail_last(trail);

    if (try && try->response_time < 0) {
        /* the wall clock may have been set back meanwhile */
        try->response_time = now > try->started ? now - try->started : 0;
    }
}

int up_trail_tries(const up_trail_t *trail)
{
    int n = 0;

    for (; trail; trail = trail->earlier) {
        n += trail->tries->nelts;
    }
    return n;
}

static const char *time_text(apr_pool_t *p, apr_interval_time_t t)
{
    apr_int64_t ms = t / 1000;

    return t < 0 ? "-"
                 : apr_psprintf(p, "%" APR_INT64_T_FMT ".%03d", ms / 1000,
                                (int)(ms % 1000));
}

static const char *entry_text(apr_pool_t *p, const up_try_t *try,
                              up_trail_e which)
{
    switch (which) {
    case UP_TRAIL_ADDR:
        return try->peer ? try->peer : "";
    case UP_TRAIL_STATUS:
        return try->status ? apr_itoa(p, try->status) : "-";
    case UP_TRAIL_QUEUE_TIME:
        return time_text(p, try->queue_time);
    case UP_TRAIL_CONNECT_TIME:
        return time_text(p, try->connect_time);
    case UP_TRAIL_HEADER_TIME:
        return time_text(p, try->header_time);
    case UP_TRAIL_RESPONSE_TIME:
        return time_text(p, try->response_time);
    case UP_TRAIL_RESPONSE_LENGTH:
        return apr_off_t_toa(p, try->response_length);
    case UP_TRAIL_BYTES_RECEIVED:
        return apr_off_t_toa(p, try->received);
    case UP_TRAIL_BYTES_SENT:
        return apr_off_t_toa(p, try->sent);
    case UP_TRAIL_REUSED:
        return try->connect_time < 0 ? "-" : try->reused ? "1" : "0";
    case UP_TRAIL_ERROR:
        return try->error ? try->error : "-";
    }
    return "-";
}

/* Adds the pieces of one leg's text: an entry a try, ", " between them. */
static void add_leg(apr_array_header_t *pieces, const up_trail_t *leg,
                    up_trail_e which)
{
    int i;

    for (i = 0; i < leg->tries->nelts; ++i) {
        const up_try_t *try = &APR_ARRAY_IDX(leg->tries, i, up_try_t);

        if (i) {
            APR_ARRAY_PUSH(pieces, const char *) = ", ";
        }
        APR_ARRAY_PUSH(pieces, const char *) = entry_text(pieces->pool, try,
                                                          which);
    }
}

/* The legs, the newest first: as they are chained. */
static apr_array_header_t *legs_of(apr_pool_t *p, const up_trail_t *trail)
{
    apr_array_header_t *legs = apr_array_make(p, 2, sizeof(trail));

    for (; trail; trail = trail->earlier) {
        APR_ARRAY_PUSH(legs, const up_trail_t *) = trail;
    }
    return legs;
}

const char *up_trail_text(apr_pool_t *p, const up_trail_t *trail,
                          up_trail_e which)
{
    apr_array_header_t *legs;
    apr_array_header_t *pieces;
    int tried = 0;
    int i;

    if (!trail->earlier && trail->tries->nelts == 1) {
        return entry_text(p, up_trail_last(trail), which);
    }
    legs = legs_of(p, trail);
    pieces = apr_array_make(p, 8, sizeof(const char *));
    for (i = legs->nelts - 1; i >= 0; --i) {
        const up_trail_t *leg = APR_ARRAY_IDX(legs, i, const up_trail_t *);

        tried += leg->tries->nelts;
        add_leg(pieces, leg, which);
        if (i) {
            APR_ARRAY_PUSH(pieces, const char *) = " : ";
        }
    }
    return tried ? apr_array_pstrcat(p, pieces, 0) : NULL;
}
