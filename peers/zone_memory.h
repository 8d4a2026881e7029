/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Where zones are: memory of httpd's slotmem provider, made anew with each
 * configuration. What is known of servers goes with the parent from one
 * generation to the next.
 */

#ifndef UP_ZONE_MEMORY_H
#define UP_ZONE_MEMORY_H

#include "httpd.h"

/**
 * check_config, behind the MPM's own: has every zone room for the servers of
 * its groups?
 * @return OK or HTTP_INTERNAL_SERVER_ERROR, logged
 */
int up_zones_check(server_rec *s);

/** post_config: makes the zones. @return the same */
int up_zones_post_config(apr_pool_t *pconf, server_rec *s);

/** child_init, before peers are made. */
void up_zones_child_init(void);

/** register_hooks: the parent is told of the end of its children. */
void up_zones_register(void);

#endif
