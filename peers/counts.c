/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The arithmetic of counts. */

#include "peers/counts.h"

#define MS(n) ((apr_interval_time_t)((n) * 1000))

const apr_interval_time_t up_counts_bounds[UP_BOUNDS_N] = {
    MS(1), MS(2.5), MS(5), MS(10), MS(25), MS(50), MS(100), MS(250), MS(500),
    MS(1000), MS(2500), MS(5000), MS(10000), MS(60000)
};

static void add(up_number_t *number, long long n)
{
    atomic_fetch_add_explicit(number, n, memory_order_relaxed);
}

static long long get(const up_number_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void set(up_number_t *number, long long n)
{
    atomic_store_explicit(number, n, memory_order_relaxed);
}

void up_counts_time(up_counts_t *counts, up_span_e what,
                    apr_interval_time_t time)
{
    up_histogram_t *span = &counts->spans[what];
    int i = 0;

    if (time < 0) {
        return;
    }
    while (i < UP_BOUNDS_N && time > up_counts_bounds[i]) {
        i++;
    }
    add(&span->buckets[i], 1);
    add(&span->sum, time);
}

void up_counts_sum(up_counts_t *sum, const up_counts_t *counts)
{
    int i, k;

    for (i = 0; i < UP_COUNTS_N; i++) {
        add(&sum->counts[i], get(&counts->counts[i]));
    }
    for (i = 0; i < UP_GAUGES_N; i++) {
        add(&sum->gauges[i], get(&counts->gauges[i]));
    }
    for (i = 0; i < UP_SPANS_N; i++) {
        for (k = 0; k <= UP_BOUNDS_N; k++) {
            add(&sum->spans[i].buckets[k], get(&counts->spans[i].buckets[k]));
        }
        add(&sum->spans[i].sum, get(&counts->spans[i].sum));
    }
}

void up_counts_reset(up_counts_t *counts)
{
    int i, k;

    for (i = 0; i < UP_COUNTS_N; i++) {
        set(&counts->counts[i], 0);
    }
    for (i = 0; i < UP_SPANS_N; i++) {
        for (k = 0; k <= UP_BOUNDS_N; k++) {
            set(&counts->spans[i].buckets[k], 0);
        }
        set(&counts->spans[i].sum, 0);
    }
}

void up_counts_bury(up_counts_t *counts)
{
    int i;

    for (i = 0; i < UP_GAUGES_N; i++) {
        set(&counts->gauges[i], 0);
    }
}
