/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what stands in the tables, the lock that some of them want, and the
 * threads that ask those which may block.
 */

#include "peers/sessions.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apr_global_mutex.h"
#include "apr_md5.h"
#include "apr_strings.h"
#include "apr_thread_cond.h"
#include "apr_thread_proc.h"
#include "config/group.h"
#include "config/log.h"
#include "http_core.h"
#include "http_main.h"
#include "peers/background.h"
#include "peers/session_keeper.h"
#include "util_mutex.h"

#define NAMESPACE "mod_upstream" /* 14 letters at most */
#define MUTEX     "upstream-sticky"
#define THREADS   4
#define MOST      1000 /* that wait for a thread */
#define RECORD    64   /* bytes in a table: "%016llx" expiry, id */

struct up_search_t {
    unsigned char key[APR_MD5_DIGESTSIZE];
    const up_sticky_t *sticky;
    up_found_t found;
    int learn;           /* `found` is to be stored */
    int ended;           /* L */
    up_bell_t *bell;     /* L */
    atomic_int holders;
    up_search_t *next;   /* L */
};

static struct {
    apr_global_mutex_t *mutex; /* NULL: no table needs it */
    apr_pool_t *p;             /* L for the threads */
    apr_thread_mutex_t *lock;  /* of what is marked L */
    apr_thread_cond_t *work;   /* there is some, or it is over */
    up_search_t *first;        /* L */
    up_search_t **last;        /* L */
    int waiting;               /* L */
    int idle;                  /* L threads that wait for work */
    int count;                 /* L threads */
    int over;                  /* L */
    apr_thread_t *threads[THREADS];
} sessions;

/* --- the tables ---------------------------------------------------------- */

static void lock_table(const up_sticky_t *sticky)
{
    if (sticky->provider->flags & AP_SOCACHE_FLAG_NOTMPSAFE) {
        apr_global_mutex_lock(sessions.mutex);
    }
}

static void unlock_table(const up_sticky_t *sticky)
{
    if (sticky->provider->flags & AP_SOCACHE_FLAG_NOTMPSAFE) {
        apr_global_mutex_unlock(sessions.mutex);
    }
}

static void make_key(const up_sticky_t *sticky, const char *name,
                     unsigned char *key)
{
    apr_md5_ctx_t md5;

    apr_md5_init(&md5);
    apr_md5_update(&md5, sticky->group, strlen(sticky->group) + 1);
    apr_md5_update(&md5, name, strlen(name));
    apr_md5_final(key, &md5);
}

/* Others may write into the table, too: nothing in it is trusted. */
static void read_record(const char *record, up_found_t *found)
{
    unsigned long long expires = 0;
    apr_size_t len = strlen(record);

    found->id[0] = '\0';
    if (len > 16 && len - 16 < sizeof(found->id)
        && sscanf(record, "%16llx", &expires) == 1) {
        apr_cpystrn(found->id, record + 16, sizeof(found->id));
        found->expires = (apr_time_t)expires;
    }
}

static void retrieve(apr_pool_t *p, up_search_t *search)
{
    const up_sticky_t *sticky = search->sticky;
    unsigned char record[RECORD] = { 0 };
    unsigned int len = sizeof(record) - 1;
    apr_status_t rv;

    lock_table(sticky);
    rv = sticky->provider->retrieve(sticky->instance, ap_server_conf,
                                    search->key, sizeof(search->key), record,
                                    &len, p);
    unlock_table(sticky);
    if (rv == APR_SUCCESS && len < sizeof(record)) {
        record[len] = '\0';
        read_record((const char *)record, &search->found);
    }
}

static apr_status_t put(apr_pool_t *p, const up_sticky_t *sticky,
                        const unsigned char *key, const up_found_t *found)
{
    char record[RECORD];
    int len = snprintf(record, sizeof(record), "%016llx%s",
                       (unsigned long long)found->expires, found->id);

    return sticky->provider->store(sticky->instance, ap_server_conf, key,
                                   APR_MD5_DIGESTSIZE, found->expires,
                                   (unsigned char *)record, (unsigned int)len,
                                   p);
}

static void store(apr_pool_t *p, const up_search_t *search)
{
    const up_sticky_t *sticky = search->sticky;
    apr_status_t rv;

    lock_table(sticky);
    if (sticky->provider->flags & AP_SOCACHE_FLAG_NOTMPSAFE) {
        /* shmcb keeps both, and finds the older one first */
        sticky->provider->remove(sticky->instance, ap_server_conf, search->key,
                                 sizeof(search->key), p);
    }
    rv = put(p, sticky, search->key, &search->found);
    unlock_table(sticky);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, ap_server_conf,
                     UPLOGNO(0822) "cannot remember a session of group %s "
                     "(UpstreamSticky at %s, %s)", sticky->group,
                     sticky->where, sticky->store);
    }
}

/* --- threads that may block ---------------------------------------------- */

static void run(apr_pool_t *p, up_search_t *search)
{
    if (search->learn) {
        store(p, search);
    }
    else {
        retrieve(p, search);
    }
}

/* The next one, NULL: it is over. Locked. */
static up_search_t *next_locked(void)
{
    up_search_t *search;

    while (!sessions.first && !sessions.over) {
        sessions.idle++;
        apr_thread_cond_wait(sessions.work, sessions.lock);
        sessions.idle--;
    }
    search = sessions.over ? NULL : sessions.first;
    if (search) {
        sessions.first = search->next;
        sessions.waiting--;
        if (!sessions.first) {
            sessions.last = &sessions.first;
        }
    }
    return search;
}

static void end_locked(up_search_t *search)
{
    search->ended = 1;
    if (search->bell) {
        up_bell_ring(search->bell);
        up_bell_drop(search->bell);
        search->bell = NULL;
    }
}

static void *APR_THREAD_FUNC work(apr_thread_t *thread, void *data)
{
    up_search_t *search;
    apr_pool_t *p = NULL;

    (void)thread;
    (void)data;
    apr_pool_create(&p, NULL);
    apr_thread_mutex_lock(sessions.lock);
    while ((search = next_locked())) {
        apr_thread_mutex_unlock(sessions.lock);
        run(p, search);
        apr_pool_clear(p);
        apr_thread_mutex_lock(sessions.lock);
        end_locked(search);
        up_search_drop(search);
    }
    apr_thread_mutex_unlock(sessions.lock);
    apr_pool_destroy(p);
    return NULL;
}

/* @return 0: too many wait */
static int hand_over(up_search_t *search)
{
    int taken;

    apr_thread_mutex_lock(sessions.lock);
    if (!sessions.idle && sessions.count < THREADS
        && up_background_thread(&sessions.threads[sessions.count], work, NULL,
                                sessions.p) == APR_SUCCESS) {
        sessions.count++;
    }
    taken = sessions.count && !sessions.over && sessions.waiting < MOST;
    if (taken) {
        atomic_fetch_add(&search->holders, 1);
        *sessions.last = search;
        sessions.last = &search->next;
        sessions.waiting++;
        apr_thread_cond_signal(sessions.work);
    }
    apr_thread_mutex_unlock(sessions.lock);
    return taken;
}

static apr_status_t dismiss(void *unused)
{
    apr_status_t rv;
    int i;

    (void)unused;
    apr_thread_mutex_lock(sessions.lock);
    sessions.over = 1;
    apr_thread_cond_broadcast(sessions.work);
    apr_thread_mutex_unlock(sessions.lock);
    for (i = 0; i < sessions.count; i++) {
        apr_thread_join(&rv, sessions.threads[i]);
    }
    return APR_SUCCESS;
}

/* --- for exchanges ------------------------------------------------------- */

static up_search_t *make_search(const up_sticky_t *sticky, const char *name)
{
    up_search_t *search = calloc(1, sizeof(*search));

    if (search) {
        make_key(sticky, name, search->key);
        search->sticky = sticky;
        atomic_init(&search->holders, 1);
    }
    return search;
}

/* At once, or on another thread. */
static void begin(apr_pool_t *p, up_search_t *search)
{
    if (!search->sticky->blocks) {
        run(p, search);
        search->ended = 1;
    }
    else if (!hand_over(search)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     UPLOGNO(0823) "the table of sessions of group %s (%s) is "
                     "too slow: %d requests wait for it, others do without",
                     search->sticky->group, search->sticky->store, MOST);
        search->ended = 1;
    }
}

up_search_t *up_sessions_seek(apr_pool_t *p, const up_sticky_t *sticky,
                              const char *name)
{
    up_search_t *search = make_search(sticky, name);

    if (search) {
        begin(p, search);
    }
    return search;
}

int up_search_ended(up_search_t *search, up_bell_t *bell, up_found_t *found)
{
    int ended;

    if (!search->sticky->blocks) {
        *found = search->found;
        return 1;
    }
    apr_thread_mutex_lock(sessions.lock);
    ended = search->ended;
    if (ended) {
        *found = search->found;
    }
    else if (bell && !search->bell) {
        search->bell = up_bell_hold(bell);
    }
    apr_thread_mutex_unlock(sessions.lock);
    return ended;
}

void up_search_drop(up_search_t *search)
{
    if (atomic_fetch_sub(&search->holders, 1) == 1) {
        free(search);
    }
}

void up_sessions_learn(apr_pool_t *p, const up_sticky_t *sticky,
                       const char *name, const char *id, apr_time_t now)
{
    up_search_t *search = make_search(sticky, name);

    if (search) {
        search->learn = 1;
        search->found.expires = now + sticky->timeout;
        apr_cpystrn(search->found.id, id, sizeof(search->found.id));
        begin(p, search);
        up_search_drop(search);
    }
}

/* --- the server's life --------------------------------------------------- */

/* What a walk over the groups carries. */
typedef struct opening_t {
    apr_pool_t *p;
    server_rec *s;
    apr_status_t rv;
    const up_sticky_t *failed;
    int any;
} opening_t;

apr_status_t up_sessions_pre_config(apr_pool_t *pconf)
{
    return ap_mutex_register(pconf, MUTEX, NULL, APR_LOCK_DEFAULT, 0);
}

static void open_table(up_group_t *group, void *baton)
{
    static const struct ap_socache_hints hints = {
        .avg_id_len = APR_MD5_DIGESTSIZE,
        .avg_obj_size = 48,
        .expiry_interval = APR_USEC_PER_SEC * 60,
    };
    up_sticky_t *sticky = group->sticky;
    opening_t *opening = baton;

    if (!sticky || !sticky->provider || opening->rv != APR_SUCCESS) {
        return;
    }
    opening->any |= sticky->provider->flags & AP_SOCACHE_FLAG_NOTMPSAFE;
    opening->failed = sticky;
    opening->rv = sticky->provider->init(sticky->instance, NAMESPACE, &hints,
                                         opening->s, opening->p);
    if (opening->rv == APR_SUCCESS && !sticky->blocks) {
        up_keeper_restore(opening->p, sticky, opening->s);
        up_keeper_watch(opening->p, sticky);
    }
}

int up_sessions_post_config(apr_pool_t *pconf, server_rec *s)
{
    opening_t opening = { .p = pconf, .s = s };
    apr_status_t rv;

    sessions.mutex = NULL;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return OK;
    }
    up_group_each(open_table, &opening);
    if (opening.rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, opening.rv, s,
                     UPLOGNO(0824) "cannot open the table of sessions of group "
                     "%s (UpstreamSticky at %s, %s)", opening.failed->group,
                     opening.failed->where, opening.failed->store);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    if (!opening.any) {
        return OK;
    }
    rv = ap_global_mutex_create(&sessions.mutex, NULL, MUTEX, NULL, s, pconf,
                                0);
    return rv == APR_SUCCESS ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

void up_sessions_child_init(apr_pool_t *p)
{
    if (sessions.mutex) {
        apr_status_t rv =
            apr_global_mutex_child_init(&sessions.mutex,
                                        apr_global_mutex_lockfile(
                                            sessions.mutex), p);

        if (rv != APR_SUCCESS) {
            ap_log_error(APLOG_MARK, APLOG_CRIT, rv, ap_server_conf,
                         UPLOGNO(0825) "no lock for tables of sessions "
                         "(Mutex " MUTEX ")");
        }
    }
    /* one of its own, under the lock: threads are made at run time */
    apr_pool_create(&sessions.p, p);
    sessions.last = &sessions.first;
    apr_thread_mutex_create(&sessions.lock, APR_THREAD_MUTEX_DEFAULT, p);
    apr_thread_cond_create(&sessions.work, p);
    apr_pool_pre_cleanup_register(p, NULL, dismiss);
}
