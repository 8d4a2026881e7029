/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The side pool; see side.h. */

#include "drivers/side.h"

#include <stdlib.h>

#include "apr_ring.h"
#include "apr_thread_cond.h"
#include "apr_thread_mutex.h"
#include "httpd.h"

/* Threads beyond the limit that urgent jobs may have. */
#define URGENT_THREADS 16

typedef struct job_t {
    APR_RING_ENTRY(job_t) link;
    up_side_job_t *run;
    void *baton;
} job_t;

APR_RING_HEAD(up_jobring_t, job_t);

static struct {
    apr_pool_t *pool; /* of the threads; the lock guards it, too */
    apr_thread_mutex_t *lock;
    apr_thread_cond_t *wake;
    struct up_jobring_t jobs;
    apr_thread_t **threads;
    int count; /* threads */
    int most;
    int idle;  /* of them, waiting */
    int waiting; /* jobs */
    int stop;
} side;

static job_t *next_job_locked(void)
{
    job_t *job;

    while (!side.stop && APR_RING_EMPTY(&side.jobs, job_t, link)) {
        side.idle++;
        apr_thread_cond_wait(side.wake, side.lock);
        side.idle--;
    }
    if (side.stop) {
        return NULL;
    }
    job = APR_RING_FIRST(&side.jobs);
    APR_RING_REMOVE(job, link);
    side.waiting--;
    return job;
}

static void *APR_THREAD_FUNC work(apr_thread_t *thread, void *unused)
{
    job_t *job;

    (void)unused;
    apr_thread_mutex_lock(side.lock);
    while ((job = next_job_locked()) != NULL) {
        apr_thread_mutex_unlock(side.lock);
        job->run(thread, job->baton);
        free(job);
        apr_thread_mutex_lock(side.lock);
    }
    apr_thread_mutex_unlock(side.lock);
    return NULL;
}

/* One more thread where jobs outnumber those that are free. */
static void grow_locked(int urgent)
{
    int most = side.most + (urgent ? URGENT_THREADS : 0);

    if (side.waiting > side.idle && side.count < most
        && ap_thread_create(&side.threads[side.count], NULL, work, NULL,
                            side.pool) == APR_SUCCESS) {
        side.count++;
    }
}

apr_status_t up_side_start(apr_pool_t *p, int most)
{
    apr_status_t rv = apr_pool_create(&side.pool, p);

    if (rv == APR_SUCCESS) {
        rv = apr_thread_mutex_create(&side.lock, APR_THREAD_MUTEX_DEFAULT, p);
    }
    if (rv == APR_SUCCESS) {
        rv = apr_thread_cond_create(&side.wake, p);
    }
    APR_RING_INIT(&side.jobs, job_t, link);
    side.most = most;
    side.threads = apr_pcalloc(p, sizeof(side.threads[0])
                                      * (apr_size_t)(most + URGENT_THREADS));
    return rv;
}

apr_status_t up_side_push(up_side_job_t *run, void *baton, int urgent)
{
    job_t *job = malloc(sizeof(*job));
    apr_status_t rv = APR_SUCCESS;

    if (!job) {
        return APR_ENOMEM;
    }
    job->run = run;
    job->baton = baton;
    apr_thread_mutex_lock(side.lock);
    if (urgent) {
        APR_RING_INSERT_HEAD(&side.jobs, job, job_t, link);
    }
    else {
        APR_RING_INSERT_TAIL(&side.jobs, job, job_t, link);
    }
    side.waiting++;
    grow_locked(urgent);
    if (!side.count) {
        APR_RING_REMOVE(job, link);
        side.waiting--;
        free(job);
        rv = APR_ENOMEM;
    }
    apr_thread_cond_signal(side.wake);
    apr_thread_mutex_unlock(side.lock);
    return rv;
}

void up_side_stop(void)
{
    apr_status_t rv;
    int i;

    apr_thread_mutex_lock(side.lock);
    side.stop = 1;
    apr_thread_cond_broadcast(side.wake);
    apr_thread_mutex_unlock(side.lock);
    for (i = 0; i < side.count; i++) {
        apr_thread_join(&rv, side.threads[i]);
    }
}
