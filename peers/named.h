/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Servers of a group by their names: what a neighbour module that chooses
 * servers itself sees and wants (mod_upstream_proxy.h).
 */

#ifndef UP_NAMED_H
#define UP_NAMED_H

#include "peers/balancer.h"

/**
 * As up_balancer_pick, but the server of this name: a peer's, or an address
 * as UpstreamServer has it, of which any address will do. Takes the lock.
 * @return NULL: there is none, or it cannot be chosen now
 */
up_peer_t *up_named_pick(up_pick_t *pick, const char *name, apr_time_t now);

/** All servers, primaries first: an array of up_server_view_t, in pool p with
 * the texts. Takes the lock. */
apr_array_header_t *up_named_list(const up_pick_t *pick, apr_pool_t *p,
                                  apr_time_t now);

#endif
