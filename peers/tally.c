/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Where a group's numbers are. */

#include "peers/tally.h"

#include "config/group.h"
#include "config/zone.h"
#include "peers/zone.h"

void up_tally_init(up_tally_t *tally, const up_peers_t *peers,
                   const char *what)
{
    const up_group_t *group = peers->group;
    up_zonemem_t *zone = group->zone ? group->zone->memory : NULL;
    up_peerstate_t *state = NULL;

    if (zone) {
        state = up_zonemem_find(zone, group, NULL, what);
    }
    tally->cell = state ? up_zonemem_cell(zone, state) : NULL;
    tally->total = state ? &state->in_use : &tally->own;
}
