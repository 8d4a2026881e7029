/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the list of zones.
 */

#include "config/zone.h"

#include "ap_provider.h"
#include "ap_slotmem.h"
#include "apr_strings.h"
#include "config/complaint.h"
#include "config/group_section.h"
#include "config/section.h"
#include "config/units.h"

static apr_array_header_t *zones; /* of up_zone_t * */

void up_zone_reset(apr_pool_t *pconf)
{
    zones = apr_array_make(pconf, 4, sizeof(up_zone_t *));
}

up_zone_t *up_zone_at(int n)
{
    return zones != NULL && n < zones->nelts
               ? APR_ARRAY_IDX(zones, n, up_zone_t *) : NULL;
}

static up_zone_t *find_or_make(cmd_parms *cmd, const char *name)
{
    up_zone_t *zone;
    int i;

    for (i = 0; (zone = up_zone_at(i)) != NULL; i++) {
        if (strcmp(zone->name, name) == 0) {
            return zone;
        }
    }
    zone = apr_pcalloc(cmd->pool, sizeof(*zone));
    zone->name = name;
    zone->size = UP_ZONE_SIZE;
    zone->where = up_section_where(cmd);
    APR_ARRAY_PUSH(zones, up_zone_t *) = zone;
    return zone;
}

static const char *set_size(cmd_parms *cmd, up_zone_t *zone, const char *size)
{
    const char *error;

    if (zone->sized != NULL) {
        return apr_psprintf(cmd->pool, "%s: the size of zone \"%s\" is given "
                            "at %s: leave it out here", cmd->cmd->name,
                            zone->name, zone->sized);
    }
    error = up_units_size(size, 0, &zone->size);
    if (error == NULL && zone->size < UP_ZONE_LEAST) {
        error = "wants at least 32k for a zone";
    }
    if (error != NULL) {
        return up_complaint_word(cmd, error, size);
    }
    zone->sized = up_section_where(cmd);
    return NULL;
}

const char *up_zone_set(cmd_parms *cmd, void *dconf, const char *name,
                        const char *size)
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (name[0] == '\0') {
        return up_complaint_word(cmd, "wants a name", name);
    }
    if (ap_lookup_provider(AP_SLOTMEM_PROVIDER_GROUP, "shm",
                           AP_SLOTMEM_PROVIDER_VERSION) == NULL) {
        return apr_psprintf(cmd->pool, "%s needs httpd's shared memory: write "
                            "\"LoadModule slotmem_shm_module "
                            "modules/mod_slotmem_shm.so\"", cmd->cmd->name);
    }
    group->zone = find_or_make(cmd, name);
    return size != NULL ? set_size(cmd, group->zone, size) : NULL;
}

const char *up_zone_set_state(cmd_parms *cmd, void *dconf, const char *file)
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    group->state_file = ap_server_root_relative(cmd->pool, file);
    if (file[0] == '\0' || group->state_file == NULL) {
        return up_complaint_word(cmd, "wants the path of a file", file);
    }
    return NULL;
}

const char *up_zone_check_group(cmd_parms *cmd, const up_group_t *group)
{
    if (group->state_file != NULL && group->zone == NULL) {
        return apr_psprintf(cmd->pool, "UpstreamState keeps what is ordered "
                            "of servers that all children share: write an "
                            "UpstreamZone in <Upstream %s>", group->name);
    }
    return NULL;
}

static void count_servers(up_group_t *group, void *baton)
{
    (void)baton;
    if (group->zone != NULL) {
        group->zone->servers += group->servers->nelts;
        group->zone->groups++;
    }
}

void up_zone_count(void)
{
    up_group_each(count_servers, NULL);
}
