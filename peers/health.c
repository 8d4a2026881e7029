/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the health fields of a state and what results of checks make of them.
 */

#include "peers/health.h"

#define GET(field)        atomic_load_explicit(field, memory_order_relaxed)
#define SET(field, value) \
    atomic_store_explicit(field, value, memory_order_relaxed)

static int become(up_peerstate_t *state, up_health_e health, apr_time_t now)
{
    SET(&state->health, health);
    SET(&state->streak, 0);
    if (health == UP_HEALTH_GOOD) {
        /* Failed requests of before say nothing of a server that is back. */
        SET(&state->fails, 0);
        SET(&state->available_since, now);
    }
    return 1;
}

static int enough(up_peerstate_t *state, int needed)
{
    int streak = GET(&state->streak) + 1;

    SET(&state->streak, streak);
    return streak >= needed;
}

int up_health_note(up_peerstate_t *state, const up_check_t *check,
                   up_checked_e result, apr_time_t now)
{
    int health = GET(&state->health);

    if (result == UP_CHECK_DRAINS) {
        return health != UP_HEALTH_DRAINS
               && become(state, UP_HEALTH_DRAINS, now);
    }
    if (result == UP_CHECK_PASSED) {
        if (health == UP_HEALTH_GOOD) {
            SET(&state->streak, 0);
            return 0;
        }
        return (health == UP_HEALTH_UNKNOWN || enough(state, check->passes))
               && become(state, UP_HEALTH_GOOD, now);
    }
    if (health == UP_HEALTH_BAD) {
        SET(&state->streak, 0);
        return 0;
    }
    return enough(state, check->fails) && become(state, UP_HEALTH_BAD, now);
}

int up_health_good(const up_peerstate_t *state, const up_check_t *check)
{
    int health = check ? GET(&state->health) : UP_HEALTH_GOOD;

    return health == UP_HEALTH_GOOD
           || (health == UP_HEALTH_UNKNOWN && !check->mandatory);
}

int up_health_drains(const up_peerstate_t *state, const up_check_t *check)
{
    return check && GET(&state->health) == UP_HEALTH_DRAINS;
}

void up_health_restored(up_peerstate_t *state, const up_check_t *check)
{
    SET(&state->check_due, 0);
    if (!check || (check->mandatory && !check->persistent)) {
        SET(&state->health, UP_HEALTH_UNKNOWN);
        SET(&state->streak, 0);
    }
}

int up_health_claim(up_peerstate_t *state, const up_check_t *check,
                    apr_time_t now, apr_time_t *pnext)
{
    apr_time_t lease = now + check->timeout + apr_time_from_sec(1);
    long long due = GET(&state->check_due);

    /* Never later than that, but that the clock has jumped back. */
    if (due > now && due <= lease + check->interval + check->jitter) {
        if (due < *pnext) {
            *pnext = due;
        }
        return 0;
    }
    return atomic_compare_exchange_strong(&state->check_due, &due,
                                          (long long)lease);
}

void up_health_schedule(up_peerstate_t *state, apr_time_t due)
{
    SET(&state->check_due, due);
}
