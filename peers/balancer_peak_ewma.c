/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * UpstreamPeakEWMA: of a few servers by lot the one whose time to the response
 * head, times what it has to do, is least. The time is an exponentially
 * weighted mean that believes bad news at once and good ones slowly.
 *
 * Two numbers a server, written without a lock by all children: that one
 * writes over what another has just learnt costs one sample.
 */

#include "peers/balancer.h"

#include <math.h>

#define UNKNOWN APR_USEC_PER_SEC /* of one that is busy for the first time */
#define LEAST   1000             /* microseconds that are nothing */
#define ALIKE   1.25

#define GET(field) atomic_load_explicit(field, memory_order_relaxed)
#define SET(field, value) \
    atomic_store_explicit(field, value, memory_order_relaxed)

/* What is left of `value` so long after. */
static double decayed(double value, apr_interval_time_t after,
                      apr_interval_time_t decay)
{
    return after <= 0 ? value : value * exp(-(double)after / (double)decay);
}

static double mean_of(const up_pick_t *pick, const up_peer_t *peer,
                      apr_time_t now)
{
    return decayed((double)GET(&peer->state->ewma),
                   now - GET(&peer->state->ewma_at), pick->balancing->decay);
}

/* Microseconds, never 0. */
static double time_of(const up_pick_t *pick, const up_peer_t *peer,
                      apr_time_t now)
{
    if (GET(&peer->state->ewma_at) == 0 && up_peer_in_use(peer) > 0) {
        return UNKNOWN;
    }
    return mean_of(pick, peer, now) + LEAST;
}

/* What is to be done, with one request more, for a weight of 1. */
static double load_of(const up_peer_t *peer)
{
    int in_use = up_peer_in_use(peer);

    return (double)(in_use > 0 ? in_use + 1 : 1) / up_peer_weight(peer);
}

/* Servers that are nearly as fast are alike: else the fastest one would get
 * all that comes one by one. */
static int is_better(const up_pick_t *pick, const up_peer_t *one,
                     const up_peer_t *other, apr_time_t now)
{
    double its = time_of(pick, one, now);
    double others = time_of(pick, other, now);

    if (its < ALIKE * others && others < ALIKE * its) {
        its = others;
    }
    return its * load_of(one) < others * load_of(other);
}

static up_peer_t *pick_peak_ewma(up_pick_t *pick, up_peerlist_t *list,
                                 apr_time_t now)
{
    up_peer_t *drawn[100];
    up_peer_t *best = NULL;
    int i;

    for (i = 0; i < pick->balancing->choices; i++) {
        drawn[i] = up_balancer_draw_locked(pick, list, now, drawn, i);
        if (!drawn[i]) {
            break;
        }
        if (!best || is_better(pick, drawn[i], best, now)) {
            best = drawn[i];
        }
    }
    return best;
}

static void learn(up_pick_t *pick, up_peer_t *peer, up_outcome_e outcome,
                  const up_timing_t *timing, apr_time_t now)
{
    apr_interval_time_t after = now - GET(&peer->state->ewma_at);
    apr_int64_t before = GET(&peer->state->ewma);
    apr_int64_t sample = timing->header >= 0 ? timing->header
                                             : now - pick->taken;

    if (outcome == UP_OUTCOME_NONE || outcome == UP_OUTCOME_NEXT) {
        return;
    }
    if (sample < before) {
        if (outcome == UP_OUTCOME_FAILED) {
            return; /* that failing is fast is no good news */
        }
        sample = before - (apr_int64_t)((double)(before - sample)
                                        * (1 - decayed(1, after,
                                                       pick->balancing
                                                           ->decay)));
    }
    SET(&peer->state->ewma, sample);
    SET(&peer->state->ewma_at, now);
}

const up_balancer_t up_balancer_peak_ewma = {
    .name = "peak_ewma",
    .pick = pick_peak_ewma,
    .done = learn,
};
