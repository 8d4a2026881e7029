/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Groups with a balancing method, for its tests: always the same lots.
 */

#ifndef UNIT_BALANCED_H
#define UNIT_BALANCED_H

#include "t/unit/up_transport.h"

#define AT(seconds) apr_time_from_sec(seconds)

/** Three servers, and three with the weights 2, 3 and 1. */
extern const unit_server_t unit_equal[];
extern const unit_server_t unit_weighted[];

/** The peers of a group of these servers; it copies `balancing`. */
up_peers_t *unit_balanced(const unit_server_t *rows,
                          const up_balancing_t *balancing);

/** A request's search. */
up_pick_t *unit_seek(up_peers_t *peers);

/** Who answers: 1 and so on; 0: nobody. */
int unit_answer(up_pick_t *pick);

/** Who answers n requests that all stay under way: a, b and so on. */
const char *unit_busy(up_peers_t *peers, int n);

#endif
