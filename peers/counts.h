/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What is counted of a server and of a group: numbers that only grow, gauges,
 * and histograms of times. To count is one relaxed atomic add in memory that
 * only this child writes; readers add up all children's (peers/ledger.h).
 *
 * A server's are counted where its try ends, a group's where there is no
 * server yet or none any more. Any thread, no lock.
 */

#ifndef UP_COUNTS_H
#define UP_COUNTS_H

#include <stdatomic.h>

#include "apr_time.h"

/** What only grows. */
typedef enum up_count_e {
    UP_COUNT_ANSWERED_1XX, /* five in a row: up_counts_answer */
    UP_COUNT_ANSWERED_2XX,
    UP_COUNT_ANSWERED_3XX,
    UP_COUNT_ANSWERED_4XX,
    UP_COUNT_ANSWERED_5XX,
    UP_COUNT_UNANSWERED,      /* tries that ended without a head */
    UP_COUNT_CONNECTIONS,     /* made */
    UP_COUNT_REUSES,          /* tries on a kept connection */
    UP_COUNT_STALE,           /* kept ones that had died unnoticed */
    UP_COUNT_EVICTIONS,       /* idle ones that made room (UpstreamKeepalive) */
    UP_COUNT_UNEXPECTED_DATA, /* more than the response, or while idle */
    UP_COUNT_CONNECT_REFUSED,
    UP_COUNT_CONNECT_TIMEOUT,
    UP_COUNT_CONNECT_OTHER,
    UP_COUNT_RESPONSE_CLOSED,    /* before a head */
    UP_COUNT_RESPONSE_TIMEOUT,
    UP_COUNT_RESPONSE_INVALID,   /* the head is not HTTP */
    UP_COUNT_RESPONSE_TRUNCATED, /* after the head */
    UP_COUNT_RETRIES,            /* another server was asked instead */
    UP_COUNT_BYTES_IN,           /* from the server */
    UP_COUNT_BYTES_OUT,
    UP_COUNT_TUNNELS,
    /* a group's own */
    UP_COUNT_NO_LIVE,
    UP_COUNT_CLIENT_ABORTS,
    UP_COUNT_QUEUE_OVERFLOWS,
    UP_COUNT_QUEUE_TIMEOUTS,
    UP_COUNTS_N
} up_count_e;

/** What goes up and down. A dead child's are forgotten. */
typedef enum up_gauge_e {
    UP_GAUGE_ACTIVE,      /* requests that have the server */
    UP_GAUGE_CONNECTIONS, /* open and in use */
    UP_GAUGE_IDLE,        /* open and kept */
    UP_GAUGE_TUNNELS,
    /* a group's own */
    UP_GAUGE_QUEUE,       /* requests that wait for a server */
    UP_GAUGE_SUSPENDED,   /* exchanges that hold no thread */
    UP_GAUGE_THREADS,     /* threads that an exchange holds while it waits */
    UP_GAUGES_N
} up_gauge_e;

typedef enum up_span_e {
    UP_SPAN_CONNECT,  /* of connections made */
    UP_SPAN_HEADER,   /* until the head, from the choice of the server on */
    UP_SPAN_RESPONSE, /* until the end */
    UP_SPAN_QUEUE,    /* a group's own */
    UP_SPANS_N
} up_span_e;

#define UP_BOUNDS_N 14

/** Upper bounds of the buckets, microseconds, rising; one more has none. */
extern const apr_interval_time_t up_counts_bounds[UP_BOUNDS_N];

typedef atomic_llong up_number_t;

typedef struct up_histogram_t {
    up_number_t buckets[UP_BOUNDS_N + 1]; /* each its own, not summed up */
    up_number_t sum;                      /* microseconds */
} up_histogram_t;

/** A server's or group's, in a child. All zero at first. */
typedef struct up_counts_t {
    up_number_t counts[UP_COUNTS_N];
    up_histogram_t spans[UP_SPANS_N];
    up_number_t gauges[UP_GAUGES_N];
} up_counts_t;

static inline void up_counts_add(up_counts_t *counts, up_count_e what,
                                 long long n)
{
    atomic_fetch_add_explicit(&counts->counts[what], n, memory_order_relaxed);
}

static inline void up_counts_gauge(up_counts_t *counts, up_gauge_e what,
                                   int change)
{
    atomic_fetch_add_explicit(&counts->gauges[what], change,
                              memory_order_relaxed);
}

/** An answer with this status, 100 to 599. */
static inline void up_counts_answer(up_counts_t *counts, int status)
{
    if (status >= 100 && status < 600) {
        up_counts_add(counts, UP_COUNT_ANSWERED_1XX + status / 100 - 1, 1);
    }
}

/** Something took so long; below 0, it did not happen. */
void up_counts_time(up_counts_t *counts, up_span_e what,
                    apr_interval_time_t time);

/** Adds one child's numbers to a sum, which is nobody else's. */
void up_counts_sum(up_counts_t *sum, const up_counts_t *counts);

/** All to 0 but the gauges, which say how it is. */
void up_counts_reset(up_counts_t *counts);

/** The gauges to 0: the child is no more. */
void up_counts_bury(up_counts_t *counts);

#endif
