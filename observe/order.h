/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What an operator orders of servers, in JSON: from the API and from
 * UpstreamState's file.
 *
 *   {"state": "up" | "drain" | "down", "weight": 1.., "max_conns": 0..}
 *
 * null in the place of a value: as configured again.
 */

#ifndef UP_ORDER_H
#define UP_ORDER_H

#include "apr_pools.h"
#include <jansson.h>

#include "peers/peer.h"

/** @return NULL, or what is wrong with it, in pool p */
const char *up_order_read(apr_pool_t *p, json_t *json, up_order_t *order);

/** What is ordered of a state, NULL: nothing. A new reference. */
json_t *up_order_write(const up_peerstate_t *state);

#endif
