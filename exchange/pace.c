/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The arithmetic of a rate; see pace.h. */

#include "exchange/pace.h"

#include "config/units.h"

/* A terabyte a second limits nobody, and keeps the products small. */
#define MOST_RATE (APR_INT64_C(1000) * 1000 * 1000 * 1000)

void up_pace_begin(up_pace_t *pace, apr_off_t rate, apr_time_t now)
{
    *pace = (up_pace_t){
        .rate = rate <= 0 ? 0 : rate > MOST_RATE ? MOST_RATE : rate,
        .started = now
    };
}

/* When what has moved would have moved at exactly this rate. */
static apr_time_t due(const up_pace_t *pace)
{
    return pace->started + apr_time_from_sec(pace->moved / pace->rate)
           + pace->moved % pace->rate * APR_USEC_PER_SEC / pace->rate;
}

apr_off_t up_pace_room(up_pace_t *pace, apr_time_t now)
{
    apr_int64_t seconds;

    pace->until = 0;
    if (!pace->rate) {
        return UP_OFF_MAX;
    }
    if (now < due(pace)) {
        pace->until = due(pace);
        return 0;
    }
    /* Here moved <= rate * elapsed, so that this is at least 1. */
    seconds = apr_time_sec(now - pace->started) + 1;
    if (seconds > UP_OFF_MAX / pace->rate) {
        return UP_OFF_MAX;
    }
    return pace->rate * seconds - pace->moved;
}

void up_pace_moved(up_pace_t *pace, apr_off_t bytes)
{
    if (pace->rate) {
        pace->moved += bytes;
    }
}
