/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Threads that may block: for what a loop must not run itself.
 *
 * Made when they are needed, kept until the child ends, and joined then:
 * apr_thread_pool's are not, and a thread that is still on its way out while
 * the process exits makes the C library abort.
 */

#ifndef UP_SIDE_H
#define UP_SIDE_H

#include "apr_pools.h"
#include "apr_thread_proc.h"

typedef void up_side_job_t(apr_thread_t *thread, void *baton);

/** @param most threads for jobs; urgent ones may have a few more */
apr_status_t up_side_start(apr_pool_t *p, int most);

/**
 * Runs `job` on a side thread, jobs in order, urgent ones first.
 * @return APR_SUCCESS, or APR_ENOMEM: it will not be run
 */
apr_status_t up_side_push(up_side_job_t *job, void *baton, int urgent);

/** Waits for running jobs; those that wait are dropped. */
void up_side_stop(void);

#endif
