/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Groups that no configuration names: the hosts and sockets that UpstreamPass
 * with an expression comes to. Unlike nginx's they are kept for a while, so
 * that connections are reused and failures remembered from one request to the
 * next.
 *
 * A child has UP_ADHOC_MOST of them at most. One that no request has used for
 * as long as its connections may idle goes; when there are too many, the one
 * whose last use is longest ago makes room.
 */

#ifndef UP_ADHOC_H
#define UP_ADHOC_H

#include "apr_time.h"
#include "config/group.h"
#include "config/pass.h"

#define UP_ADHOC_MOST 256

/** Idle connections that one of them keeps: descriptors are few. */
#define UP_ADHOC_KEEPALIVE 8

/** child_init. */
void up_adhoc_child_init(void);

/**
 * The group of an evaluated pass, held until up_adhoc_give. A host that is no
 * address has no peers before its name is known (peers/names.h).
 * @param resolver who knows names, NULL: the system's
 * @param called 1: the clerk is to be called
 * @return NULL: there are too many that are all in use, or no memory
 */
up_group_t *up_adhoc_take(const up_pass_t *pass,
                          const struct up_resolver_t *resolver, int *called);

void up_adhoc_give(up_group_t *group);

/** The clerk's: has the names of new ones looked up. */
void up_adhoc_welcome(void);

/** The clerk's: ends those that are not used any more. */
void up_adhoc_tidy(apr_time_t now);

/** How many there are in this child. */
int up_adhoc_count(void);

#endif
