/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The clock of deadlines and durations. It never jumps: not back, when
 * somebody sets the machine's time, which would hold up every timeout, nor
 * forward, which would end every exchange.
 *
 * Pure: APR only. What is compared with a date, as X-Accel-Expires is, wants
 * apr_time_now or r->request_time; the two are never mixed.
 */

#ifndef UP_CLOCK_H
#define UP_CLOCK_H

#include <time.h>

#include "apr_time.h"

/**
 * Microseconds from a moment long before the machine was started: 0 is no
 * moment, nor is one that lies a day back. The same in all processes of a
 * machine, so that times may stand in shared memory.
 */
static inline apr_time_t up_clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return apr_time_from_sec(now.tv_sec + 30 * 86400) + now.tv_nsec / 1000;
}

#endif
