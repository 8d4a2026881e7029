/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Slots of the scoreboard for threads that are not the MPM's, so that
 * mod_status sees and counts the requests they serve.
 *
 * A child's slots from ThreadsPerChild up to ThreadLimit are nobody's. One
 * belongs to one thread for its life.
 */

#ifndef UP_SLOT_H
#define UP_SLOT_H

#include "apr_pools.h"
#include "httpd.h"
#include "scoreboard.h"

/** child_init. @return slots that there are for this child */
int up_slot_start(apr_pool_t *p);

/** The calling thread's, taken at the first call; NULL: none is left. */
ap_sb_handle_t *up_slot_mine(void);

/**
 * The calling thread ends a request that another began at `began`: its slot
 * takes over the time, from which httpd reckons the duration.
 */
void up_slot_take_over(apr_time_t began);

/** The child is ending: its slots are free. */
void up_slot_stop(void);

#endif
