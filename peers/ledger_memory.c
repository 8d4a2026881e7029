/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the memory of the ledger. It belongs to the process: children of an
 * earlier generation, which end after a graceful restart, go on counting in
 * it.
 */

#include "peers/ledger_memory.h"

#include <unistd.h>

#include "ap_mpm.h"
#include "apr_shm.h"
#include "config/group.h"
#include "config/log.h"
#include "http_config.h"
#include "http_core.h"
#include "http_main.h"
#include "mpm_common.h"
#include "peers/ledger.h"

#define RETAINED "mod_upstream_proxy: ledger"

#define SPARE_ROWS 64 /* for addresses that come later */
#define MOST_PLACES 256
#define MOST_MEMORY (256u << 20) /* bytes, of which most is never touched */

typedef struct retained_t {
    apr_shm_t *shm;
    apr_size_t layout; /* the module may be another one after a restart */
    int rows;
    int places;
} retained_t;

static retained_t *retained(void)
{
    retained_t *kept = ap_retained_data_get(RETAINED);

    return kept ? kept : ap_retained_data_create(RETAINED, sizeof(*kept));
}

static void count_rows(up_group_t *group, void *baton)
{
    const up_server_t *server = (const up_server_t *)group->servers->elts;
    int *rows = baton;
    int i;

    ++*rows;
    for (i = 0; i < group->servers->nelts; i++) {
        const apr_sockaddr_t *addr = server[i].addrs;

        *rows += up_server_is_named(&server[i]) ? 4 : 0;
        for (; addr; addr = addr->next) {
            ++*rows;
        }
    }
}

static int places_for(int rows)
{
    int most = 0;

    if (ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &most) != APR_SUCCESS
        || most < 1) {
        most = 1;
    }
    most++; /* those that find no place of their own share one */
    if (most > MOST_PLACES) {
        most = MOST_PLACES;
    }
    while (most > 2 && up_ledger_needs(rows, most) > MOST_MEMORY) {
        most /= 2;
    }
    return most;
}

/* A new one, to which the numbers of the old one go. */
static apr_status_t replace(apr_pool_t *pconf, server_rec *s, retained_t *kept,
                            int rows, int places)
{
    up_ledger_t *old = NULL;
    up_ledger_t *ledger;
    apr_shm_t *shm;
    apr_status_t rv = apr_shm_create(&shm, up_ledger_needs(rows, places), NULL,
                                     s->process->pool);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    if (kept->shm && kept->layout == sizeof(up_counts_t)) {
        old = up_ledger_make(pconf, apr_shm_baseaddr_get(kept->shm),
                             kept->rows, kept->places, 0);
    }
    ledger = up_ledger_make(pconf, apr_shm_baseaddr_get(shm), rows, places, 1);
    if (!ledger) {
        apr_shm_destroy(shm);
        return APR_ENOTIMPL;
    }
    if (old) {
        up_ledger_inherit(ledger, old);
    }
    if (kept->shm) {
        apr_shm_destroy(kept->shm);
    }
    *kept = (retained_t){ shm, sizeof(up_counts_t), rows, places };
    return APR_SUCCESS;
}

void up_ledger_post_config(apr_pool_t *pconf, server_rec *s)
{
    retained_t *kept = retained();
    apr_status_t rv = APR_SUCCESS;
    int rows = 1;
    int places;

    /* the configuration is read twice at the start: not the first time */
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return;
    }
    up_group_each(count_rows, &rows);
    places = places_for(rows + SPARE_ROWS);
    if (kept->shm && kept->layout == sizeof(up_counts_t)
        && kept->rows >= rows && kept->places == places) {
        up_ledger_make(pconf, apr_shm_baseaddr_get(kept->shm), kept->rows,
                       places, 0);
    }
    else {
        rv = replace(pconf, s, kept, rows + SPARE_ROWS, places);
    }
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, s, UPLOGNO(0850)
                     "no shared memory for counters (%" APR_SIZE_T_FMT "k): "
                     "each child shows only its own",
                     up_ledger_needs(rows + SPARE_ROWS, places) / 1024);
    }
}

void up_ledger_child_init(void)
{
    up_ledger_enter(getpid());
}

static void on_child_status(server_rec *s, pid_t pid, ap_generation_t gen,
                            int place, mpm_child_status status)
{
    (void)s;
    (void)gen;
    (void)place;
    if (status == MPM_CHILD_EXITED) {
        up_ledger_bury(pid);
    }
}

void up_ledger_register(void)
{
    ap_hook_child_status(on_child_status, NULL, NULL, APR_HOOK_MIDDLE);
}
