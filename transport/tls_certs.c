/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The cache of client certificates. Few entries: a list in the order of use.
 */

#include "transport/tls_certs.h"

#include <stdlib.h>
#include <string.h>

#include "apr_file_info.h"
#include "apr_ring.h"
#include "apr_strings.h"
#include "apr_thread_mutex.h"
#include "config/clock.h"

typedef struct entry_t {
    APR_RING_ENTRY(entry_t) link;
    apr_pool_t *pool;
    const char *certificate;
    const char *key;
    const apr_array_header_t *passwords;
    const char *stamp;
    apr_time_t looked; /* at the files */
    apr_time_t used;
    up_tlspair_t pair;
} entry_t;

APR_RING_HEAD(entry_ring_t, entry_t);

static struct {
    apr_pool_t *pool;
    apr_thread_mutex_t *lock;
    struct entry_ring_t ring; /* the last used first */
    int count;
} certs;

static apr_status_t forget(void *unused)
{
    (void)unused;
    while (!APR_RING_EMPTY(&certs.ring, entry_t, link)) {
        entry_t *entry = APR_RING_FIRST(&certs.ring);

        APR_RING_REMOVE(entry, link);
        up_tlsfiles_drop(&entry->pair);
    }
    certs.pool = NULL;
    return APR_SUCCESS;
}

apr_status_t up_tlscerts_child_init(apr_pool_t *p)
{
    apr_status_t rv = apr_thread_mutex_create(&certs.lock,
                                              APR_THREAD_MUTEX_DEFAULT, p);

    APR_RING_INIT(&certs.ring, entry_t, link);
    certs.count = 0;
    certs.pool = p;
    apr_pool_cleanup_register(p, NULL, forget, apr_pool_cleanup_null);
    return rv;
}

const char *up_tlscerts_rooted(apr_pool_t *p, const char *source)
{
    const char *path;

    if (source[0] == '/' || strncmp(source, "data:", 5) == 0) {
        return source;
    }
    path = ap_server_root_relative(p, source);
    return path ? path : source;
}

static const char *stamp_of(apr_pool_t *p, const char *source)
{
    apr_finfo_t info;

    if (strncmp(source, "data:", 5) == 0
        || apr_stat(&info, source,
                    APR_FINFO_MTIME | APR_FINFO_SIZE | APR_FINFO_INODE, p)
               != APR_SUCCESS) {
        return "-";
    }
    return apr_psprintf(p, "%" APR_TIME_T_FMT ".%" APR_OFF_T_FMT ".%lu",
                        info.mtime, info.size, (unsigned long)info.inode);
}

const char *up_tlscerts_stamp(apr_pool_t *p, const char *certificate,
                              const char *key)
{
    return apr_pstrcat(p, stamp_of(p, certificate), " ", stamp_of(p, key),
                       NULL);
}

/* --- the cache; its lock is held ----------------------------------------- */

static void drop_locked(entry_t *entry)
{
    APR_RING_REMOVE(entry, link);
    certs.count--;
    up_tlsfiles_drop(&entry->pair);
    apr_pool_destroy(entry->pool);
}

static entry_t *find_locked(const char *certificate, const char *key,
                            const apr_array_header_t *passwords)
{
    entry_t *entry;

    APR_RING_FOREACH(entry, &certs.ring, entry_t, link) {
        if (entry->passwords == passwords
            && strcmp(entry->certificate, certificate) == 0
            && strcmp(entry->key, key) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* Drops what was not used for too long, and all above the limit but one. */
static void tidy_locked(const up_certcache_t *cache, apr_time_t now)
{
    while (!APR_RING_EMPTY(&certs.ring, entry_t, link)) {
        entry_t *last = APR_RING_LAST(&certs.ring);

        if (certs.count < cache->max && now - last->used < cache->inactive) {
            return;
        }
        drop_locked(last);
    }
}

static entry_t *read_locked(const char *certificate, const char *key,
                            const apr_array_header_t *passwords,
                            apr_pool_t *p, const char **perror)
{
    const char *stamp = up_tlscerts_stamp(p, certificate, key);
    up_tlspair_t pair;
    apr_pool_t *own;
    entry_t *entry;

    *perror = up_tlsfiles_pair(p, certificate, key, passwords, &pair);
    if (*perror) {
        return NULL;
    }
    apr_pool_create(&own, certs.pool);
    entry = apr_pcalloc(own, sizeof(*entry));
    entry->pool = own;
    entry->certificate = apr_pstrdup(own, certificate);
    entry->key = apr_pstrdup(own, key);
    entry->passwords = passwords;
    entry->stamp = apr_pstrdup(own, stamp);
    entry->pair = pair;
    entry->looked = up_clock_now();
    APR_RING_INSERT_HEAD(&certs.ring, entry, entry_t, link);
    certs.count++;
    return entry;
}

/* Have its files changed? One that cannot be read any more still serves. */
static int is_old_locked(entry_t *entry, const up_certcache_t *cache,
                         apr_pool_t *p, apr_time_t now)
{
    if (now - entry->looked < cache->valid) {
        return 0;
    }
    entry->looked = now;
    return strcmp(entry->stamp, up_tlscerts_stamp(p, entry->certificate,
                                                  entry->key)) != 0;
}

static apr_status_t drop_copy(void *pair)
{
    up_tlsfiles_drop(pair);
    return APR_SUCCESS;
}

static const up_tlspair_t *copy_locked(apr_pool_t *p, entry_t *entry,
                                       const char **pstamp)
{
    up_tlspair_t *pair = apr_pmemdup(p, &entry->pair, sizeof(*pair));

    X509_up_ref(pair->leaf);
    EVP_PKEY_up_ref(pair->key);
    pair->chain = X509_chain_up_ref(pair->chain);
    apr_pool_cleanup_register(p, pair, drop_copy, apr_pool_cleanup_null);
    *pstamp = apr_pstrdup(p, entry->stamp);
    return pair;
}

const up_tlspair_t *up_tlscerts_cached(apr_pool_t *p,
                                       const up_certcache_t *cache,
                                       const char *certificate,
                                       const char *key,
                                       const apr_array_header_t *passwords,
                                       const char **pstamp,
                                       const char **perror)
{
    const up_tlspair_t *pair = NULL;
    apr_time_t now = up_clock_now();
    entry_t *entry;

    apr_thread_mutex_lock(certs.lock);
    entry = find_locked(certificate, key, passwords);
    if (entry && is_old_locked(entry, cache, p, now)) {
        drop_locked(entry);
        entry = NULL;
    }
    if (entry) {
        APR_RING_REMOVE(entry, link);
        APR_RING_INSERT_HEAD(&certs.ring, entry, entry_t, link);
    }
    else {
        tidy_locked(cache, now);
        entry = read_locked(certificate, key, passwords, p, perror);
    }
    if (entry) {
        entry->used = now;
        pair = copy_locked(p, entry, pstamp);
    }
    apr_thread_mutex_unlock(certs.lock);
    return pair;
}
