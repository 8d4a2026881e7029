/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Timers of a loop: a wheel of 1,024 slots of 10 ms.
 *
 * A timer that is put off stays where it is and is looked at again when its
 * old moment comes: for a busy connection setting a deadline costs nothing.
 * The loop's lock guards it.
 */

#ifndef UP_WHEEL_H
#define UP_WHEEL_H

#include "apr_pools.h"
#include "apr_time.h"

struct up_watch_t;

typedef struct up_wheel_t up_wheel_t;

up_wheel_t *up_wheel_make(apr_pool_t *p, apr_time_t now);

/** Takes up watch->due; 0: none. */
void up_wheel_set(up_wheel_t *wheel, struct up_watch_t *watch);

void up_wheel_remove(up_wheel_t *wheel, struct up_watch_t *watch);

/** Milliseconds that a thread may sleep; -1: for ever. */
int up_wheel_timeout(const up_wheel_t *wheel, apr_time_t now);

/** Calls `expired` for every watch whose deadline has passed. */
void up_wheel_turn(up_wheel_t *wheel, apr_time_t now,
                   void (*expired)(struct up_watch_t *watch));

#endif
