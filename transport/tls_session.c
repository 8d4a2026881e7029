/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * A hash of sessions, and a ring of them in the order of their use.
 */

#include "transport/tls_session.h"

#include <stdlib.h>
#include <string.h>

#include "apr_hash.h"
#include "apr_ring.h"
#include "apr_thread_mutex.h"

#define MOST 4096 /* sessions, some 2 KB each */

typedef struct entry_t {
    APR_RING_ENTRY(entry_t) link;
    SSL_SESSION *session;
    char key[];
} entry_t;

APR_RING_HEAD(entry_ring_t, entry_t);

typedef struct cache_t {
    apr_thread_mutex_t *lock;
    apr_hash_t *hash;
    struct entry_ring_t ring; /* the last used first */
} cache_t;

static cache_t *cache; /* NULL: not any more */

static void drop_locked(entry_t *entry)
{
    apr_hash_set(cache->hash, entry->key, APR_HASH_KEY_STRING, NULL);
    APR_RING_REMOVE(entry, link);
    SSL_SESSION_free(entry->session);
    free(entry);
}

static apr_status_t close_cache(void *unused)
{
    entry_t *entry = APR_RING_FIRST(&cache->ring);
    entry_t *next;

    (void)unused;
    while (entry != APR_RING_SENTINEL(&cache->ring, entry_t, link)) {
        next = APR_RING_NEXT(entry, link);
        SSL_SESSION_free(entry->session);
        free(entry);
        entry = next;
    }
    cache = NULL;
    return APR_SUCCESS;
}

apr_status_t up_tlssession_child_init(apr_pool_t *p)
{
    cache_t *made = apr_pcalloc(p, sizeof(*made));
    apr_status_t rv;

    rv = apr_thread_mutex_create(&made->lock, APR_THREAD_MUTEX_DEFAULT, p);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    made->hash = apr_hash_make(p);
    APR_RING_INIT(&made->ring, entry_t, link);
    cache = made;
    apr_pool_cleanup_register(p, NULL, close_cache, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

/* Lock held. NULL: there is none */
static entry_t *find_locked(const char *key)
{
    return apr_hash_get(cache->hash, key, APR_HASH_KEY_STRING);
}

static entry_t *add_locked(const char *key)
{
    apr_size_t len = strlen(key) + 1;
    entry_t *entry = malloc(sizeof(*entry) + len);

    if (!entry) {
        return NULL;
    }
    entry->session = NULL;
    memcpy(entry->key, key, len);
    if (apr_hash_count(cache->hash) >= MOST) {
        drop_locked(APR_RING_LAST(&cache->ring));
    }
    apr_hash_set(cache->hash, entry->key, APR_HASH_KEY_STRING, entry);
    APR_RING_INSERT_HEAD(&cache->ring, entry, entry_t, link);
    return entry;
}

void up_tlssession_keep(const char *key, SSL_SESSION *session)
{
    SSL_SESSION *old = session;
    entry_t *entry;

    if (!cache) {
        SSL_SESSION_free(session);
        return;
    }
    apr_thread_mutex_lock(cache->lock);
    entry = find_locked(key);
    if (!entry) {
        entry = add_locked(key);
    }
    if (entry) {
        old = entry->session;
        entry->session = session;
    }
    apr_thread_mutex_unlock(cache->lock);
    SSL_SESSION_free(old);
}

SSL_SESSION *up_tlssession_find(const char *key)
{
    SSL_SESSION *session = NULL;
    entry_t *entry;

    if (!cache) {
        return NULL;
    }
    apr_thread_mutex_lock(cache->lock);
    entry = find_locked(key);
    if (entry && SSL_SESSION_is_resumable(entry->session)) {
        session = entry->session;
        SSL_SESSION_up_ref(session);
        APR_RING_REMOVE(entry, link);
        APR_RING_INSERT_HEAD(&cache->ring, entry, entry_t, link);
    }
    apr_thread_mutex_unlock(cache->lock);
    return session;
}

void up_tlssession_forget(const char *key)
{
    entry_t *entry;

    if (!cache) {
        return;
    }
    apr_thread_mutex_lock(cache->lock);
    entry = find_locked(key);
    if (entry) {
        drop_locked(entry);
    }
    apr_thread_mutex_unlock(cache->lock);
}
