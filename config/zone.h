/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamZone: groups whose servers' states are in memory that all children
 * share. One zone may serve several groups; its size is said once.
 *
 * In the configuration's pool, read-only after post_config but `memory`.
 */

#ifndef UP_CONFIG_ZONE_H
#define UP_CONFIG_ZONE_H

#include "httpd.h"
#include "http_config.h"
#include "mod_upstream_proxy.h"

#define UP_ZONE_SIZE  65536 /* when no size is given */
#define UP_ZONE_LEAST 32768 /* nginx's: 8 pages */

typedef struct up_zone_t {
    const char *name;
    apr_off_t size;      /* bytes */
    const char *sized;   /* file:line where the size stands, NULL: nowhere */
    const char *where;   /* file:line of the first mention */
    int servers;         /* of its groups, set by up_zone_count */
    int groups;          /* the same */
    struct up_zonemem_t *memory; /* peers/zone.h */
} up_zone_t;

/** The setter, inside <Upstream>. */
const char *up_zone_set(cmd_parms *cmd, void *dconf, const char *name,
                        const char *size);

/** The setter of UpstreamState, which wants a zone. */
const char *up_zone_set_state(cmd_parms *cmd, void *dconf, const char *file);

/** The end of an <Upstream>. @return NULL, or what it lacks */
const char *up_zone_check_group(cmd_parms *cmd, const up_group_t *group);

/** pre_config: forgets the zones of the last configuration. */
void up_zone_reset(apr_pool_t *pconf);

/** The n-th zone, NULL: there are not so many. */
up_zone_t *up_zone_at(int n);

/** When all groups are known: how many servers each zone has. A group needs
 * UP_ZONE_EXTRA places more, for what it counts. */
void up_zone_count(void);

#define UP_ZONE_EXTRA 4

#endif
