/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Scoreboard slots for our own threads; see slot.h. */

#include "drivers/slot.h"

#include <unistd.h>

#include "ap_mpm.h"
#include "apr_atomic.h"
#include "httpd.h"

static struct {
    apr_pool_t *pool;
    int first;         /* slot */
    int count;         /* slots */
    volatile apr_uint32_t taken;
} slots;

static __thread ap_sb_handle_t *mine;
static __thread int asked;

int up_slot_start(apr_pool_t *p)
{
    int threads = 0;
    int limit = 0;

    slots.pool = p;
    if (ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads) == APR_SUCCESS
        && ap_mpm_query(AP_MPMQ_HARD_LIMIT_THREADS, &limit) == APR_SUCCESS
        && limit > threads && ap_scoreboard_image) {
        slots.first = threads;
        slots.count = limit - threads;
    }
    return slots.count;
}

/* Which of the scoreboard's children is this process? The parent enters it
 * when it has forked: not known yet in child_init. -1: not there. */
static int child_index(void)
{
    pid_t pid = getpid();
    int limit = 0;
    int i;

    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &limit);
    for (i = 0; i < limit; i++) {
        if (ap_scoreboard_image->parent[i].pid == pid) {
            return i;
        }
    }
    return -1;
}

ap_sb_handle_t *up_slot_mine(void)
{
    apr_pool_t *p;
    apr_uint32_t n;
    int child;

    if (asked || slots.count == 0) {
        return mine;
    }
    child = child_index();
    if (child < 0) {
        return NULL; /* ask again next time */
    }
    asked = 1;
    n = apr_atomic_inc32(&slots.taken);
    if (n < (apr_uint32_t)slots.count
        && apr_pool_create(&p, slots.pool) == APR_SUCCESS) {
        ap_create_sb_handle(&mine, p, child, slots.first + (int)n);
        ap_update_child_status(mine, SERVER_READY, NULL);
    }
    return mine;
}

void up_slot_take_over(apr_time_t began)
{
    worker_score *score = ap_get_scoreboard_worker(mine);

    if (score) {
        score->start_time = began;
    }
}

void up_slot_stop(void)
{
    int child = slots.count ? child_index() : -1;
    int taken = (int)apr_atomic_read32(&slots.taken);
    int i;

    for (i = 0; child >= 0 && i < taken && i < slots.count; i++) {
        ap_update_child_status_from_indexes(child, slots.first + i,
                                            SERVER_DEAD, NULL);
    }
}
