/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * How fast bytes may move: so many a second, after nginx's limit_rate. Who
 * moves asks first how many may, and tells afterwards how many did; in
 * between there are pauses, which are deadlines and never sleeps.
 *
 *     room = up_pace_room(pace, now);
 *     if (!room) wait until up_pace_until(pace), then ask again;
 *     moved = at most room; up_pace_moved(pace, moved);
 *
 * One second's worth may move at once. Time in which nothing was there to be
 * moved is not lost: what is late catches up.
 *
 * Pure: APR only. One thread. A pace of zeroes has no limit.
 */

#ifndef UP_PACE_H
#define UP_PACE_H

#include "apr.h"
#include "apr_time.h"

typedef struct up_pace_t {
    apr_off_t rate;     /* bytes a second, 0: no limit */
    apr_off_t moved;    /* bytes since it began */
    apr_time_t started;
    apr_time_t until;   /* the present pause ends, 0: there is none */
} up_pace_t;

/** Begins at `now`. @param rate bytes a second; 0 or less: no limit */
void up_pace_begin(up_pace_t *pace, apr_off_t rate, apr_time_t now);

/** How many bytes may move now; 0: it pauses. The largest: no limit. */
apr_off_t up_pace_room(up_pace_t *pace, apr_time_t now);

/** So many have been moved. */
void up_pace_moved(up_pace_t *pace, apr_off_t bytes);

/** When the pause that up_pace_room found ends, 0: there is none. */
static inline apr_time_t up_pace_until(const up_pace_t *pace)
{
    return pace->until;
}

/** Does it limit anything? */
static inline int up_pace_limits(const up_pace_t *pace)
{
    return pace->rate > 0;
}

#endif
