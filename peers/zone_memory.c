/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the memory of the zones, and what is kept of it over a restart.
 */

#include "peers/zone_memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "ap_mpm.h"
#include "ap_provider.h"
#include "ap_slotmem.h"
#include "apr_strings.h"
#include "config/log.h"
#include "config/zone.h"
#include "http_core.h"
#include "mpm_common.h"
#include "peers/zone.h"

/* The module may be another one after a restart: of the same layout? */
#define LAYOUT (((unsigned int)sizeof(up_peerstate_t) << 8) | 1)

/* A zone between two generations: malloc's, in the process' memory. */
typedef struct kept_t {
    struct kept_t *next;
    void *states;
    apr_size_t size;
    unsigned int layout;
    char name[];
} kept_t;

typedef struct retained_t {
    kept_t *first;
} retained_t;

#define RETAINED "mod_upstream_proxy: zones"

static retained_t *retained(void)
{
    retained_t *zones = ap_retained_data_get(RETAINED);

    return zones ? zones : ap_retained_data_create(RETAINED, sizeof(*zones));
}

/* What is kept of a zone, taken out. */
static kept_t *take_kept(const char *name)
{
    kept_t **where = &retained()->first;
    kept_t *kept;

    while ((kept = *where) && strcmp(kept->name, name) != 0) {
        where = &kept->next;
    }
    if (kept) {
        *where = kept->next;
    }
    return kept;
}

static void restore(const up_zone_t *zone)
{
    kept_t *kept = take_kept(zone->name);

    if (kept) {
        if (kept->layout == LAYOUT) {
            up_zonemem_restore(zone->memory, kept->states, kept->size);
        }
        free(kept->states);
        free(kept);
    }
}

static void keep(const up_zone_t *zone)
{
    apr_size_t len = strlen(zone->name) + 1;
    kept_t *kept = malloc(sizeof(*kept) + len);

    if (!kept) {
        return;
    }
    memcpy(kept->name, zone->name, len);
    kept->layout = LAYOUT;
    kept->states = up_zonemem_save(zone->memory, &kept->size);
    kept->next = retained()->first;
    retained()->first = kept;
}

/* The configuration's pool goes: memory of slotmem, which was there before
 * us, is still mapped. */
static apr_status_t keep_all(void *parent)
{
    up_zone_t *zone;
    kept_t *kept;
    int i;

    if (getpid() != *(pid_t *)parent) {
        return APR_SUCCESS;
    }
    while ((kept = retained()->first)) { /* of zones that are no more */
        kept = take_kept(kept->name);
        free(kept->states);
        free(kept);
    }
    for (i = 0; (zone = up_zone_at(i)); i++) {
        if (zone->memory) {
            keep(zone);
        }
    }
    return APR_SUCCESS;
}

static int children(void)
{
    int most = 0;

    if (ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &most) != APR_SUCCESS
        || most < 1) {
        most = 1;
    }
    return most;
}

int up_zones_check(server_rec *s)
{
    up_zone_t *zone;
    int i;

    up_zone_count();
    for (i = 0; (zone = up_zone_at(i)); i++) {
        apr_size_t needs = up_zonemem_needs(zone->servers + UP_ZONE_EXTRA
                                                                * zone->groups,
                                            children());

        if (needs > (apr_size_t)zone->size) {
            ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, s,
                         UPLOGNO(0800) "UpstreamZone at %s: zone \"%s\" is "
                         "too small for %d servers and %d children "
                         "(ServerLimit): make it %" APR_SIZE_T_FMT "k or "
                         "larger", zone->sized ? zone->sized : zone->where,
                         zone->name, zone->servers, children(),
                         needs / 1024 + 1);
            return HTTP_INTERNAL_SERVER_ERROR;
        }
    }
    return OK;
}

static int make_zone(apr_pool_t *pconf, server_rec *s, up_zone_t *zone,
                     const ap_slotmem_provider_t *provider)
{
    ap_slotmem_instance_t *instance;
    void *base = NULL;
    apr_status_t rv = APR_ENOTIMPL;

    if (provider) {
        /* without a name: inherited by the children, in no directory */
        rv = provider->create(&instance, NULL, (apr_size_t)zone->size, 1, 0,
                              pconf);
    }
    if (rv == APR_SUCCESS) {
        rv = provider->dptr(instance, 0, &base);
    }
    if (rv == APR_SUCCESS) {
        zone->memory = up_zonemem_make(pconf, base, (apr_size_t)zone->size,
                                       children());
    }
    if (!zone->memory) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s, UPLOGNO(0801)
                     "cannot make zone \"%s\" of UpstreamZone at %s",
                     zone->name, zone->where);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    restore(zone);
    return OK;
}

int up_zones_post_config(apr_pool_t *pconf, server_rec *s)
{
    const ap_slotmem_provider_t *provider =
        ap_lookup_provider(AP_SLOTMEM_PROVIDER_GROUP, "shm",
                           AP_SLOTMEM_PROVIDER_VERSION);
    int status = OK;
    up_zone_t *zone;
    pid_t *parent;
    int i;

    /* the configuration is read twice at the start: not the first time */
    if (!up_zone_at(0)
        || ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return OK;
    }
    for (i = 0; status == OK && (zone = up_zone_at(i)); i++) {
        status = make_zone(pconf, s, zone, provider);
    }
    parent = apr_palloc(pconf, sizeof(*parent));
    *parent = getpid();
    apr_pool_cleanup_register(pconf, parent, keep_all, apr_pool_cleanup_null);
    return status;
}

void up_zones_child_init(void)
{
    up_zone_t *zone;
    int i;

    for (i = 0; (zone = up_zone_at(i)); i++) {
        if (zone->memory) {
            up_zonemem_enter(zone->memory, getpid());
        }
    }
}

static void on_child_status(server_rec *s, pid_t pid, ap_generation_t gen,
                            int place, mpm_child_status status)
{
    up_zone_t *zone;
    int i;

    (void)s;
    (void)gen;
    (void)place;
    for (i = 0; status == MPM_CHILD_EXITED && (zone = up_zone_at(i)); i++) {
        if (zone->memory) {
            up_zonemem_bury(zone->memory, pid);
        }
    }
}

static int on_monitor(apr_pool_t *p, server_rec *s)
{
    up_zone_t *zone;
    int i, mended;

    (void)p;
    for (i = 0; (zone = up_zone_at(i)); i++) {
        mended = zone->memory ? up_zonemem_audit(zone->memory) : 0;
        if (mended) {
            ap_log_error(APLOG_MARK, APLOG_INFO, 0, s, UPLOGNO(0802)
                         "zone \"%s\": %d requests of children that are gone "
                         "are not counted any more", zone->name, mended);
        }
    }
    return DECLINED;
}

void up_zones_register(void)
{
    ap_hook_child_status(on_child_status, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(on_monitor, NULL, NULL, APR_HOOK_MIDDLE);
}
