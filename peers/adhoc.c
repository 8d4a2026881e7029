/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the table of groups made at run time. Its lock is held for a look-up
 * and the making of a group; nothing is resolved, and no peer ended, in it.
 */

#include "peers/adhoc.h"

#include <pthread.h>
#include <string.h>

#include "apr_hash.h"
#include "apr_ring.h"
#include "apr_strings.h"
#include "config/address.h"
#include "config/clock.h"
#include "config/resolver.h"
#include "config/server.h"
#include "peers/names.h"
#include "peers/roster.h"

#define BUCKETS 256

typedef struct adhoc_t {
    up_group_t group; /* first: the same address */
    apr_pool_t *pool; /* its own, without a parent */
    APR_RING_ENTRY(adhoc_t) link; /* the last used first */
    struct adhoc_t *next;         /* in its bucket */
    int fresh; /* among the newcomers */
    APR_RING_ENTRY(adhoc_t) entry; /* there */
    int users;
    apr_time_t used; /* last given back */
} adhoc_t;

APR_RING_HEAD(up_adhoc_ring_t, adhoc_t);

static struct {
    pthread_mutex_t lock; /* of all of it */
    adhoc_t *buckets[BUCKETS];
    struct up_adhoc_ring_t ring;
    struct up_adhoc_ring_t ending; /* out of the table; the clerk's next */
    struct up_adhoc_ring_t newcomers; /* with a name to be looked up */
    int count;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

void up_adhoc_child_init(void)
{
    memset(table.buckets, 0, sizeof(table.buckets));
    APR_RING_INIT(&table.ring, adhoc_t, link);
    APR_RING_INIT(&table.ending, adhoc_t, link);
    APR_RING_INIT(&table.newcomers, adhoc_t, entry);
    table.count = 0;
}

/* --- making -------------------------------------------------------------- */

/* Names are the same in any case, paths are not. */
static unsigned int bucket_of(const up_pass_t *pass)
{
    const char *text = pass->unix_path ? pass->unix_path : pass->host;
    unsigned int hash = pass->port;

    for (; *text; text++) {
        hash = hash * 33 + (unsigned int)(*text | 0x20);
    }
    return hash % BUCKETS;
}

static int is_place(const adhoc_t *one, const up_pass_t *pass,
                    const up_resolver_t *resolver)
{
    const up_server_t *server =
        &APR_ARRAY_IDX(one->group.servers, 0, up_server_t);

    if (one->group.resolver != resolver) {
        return 0;
    }
    if (pass->unix_path) {
        return server->unix_path && !strcmp(server->unix_path,
                                            pass->unix_path);
    }
    return server->host && server->port == pass->port
           && !strcasecmp(server->host, pass->host);
}

/* The address of a socket or of an IP address: nothing is looked up. */
static apr_status_t set_address(apr_pool_t *p, up_server_t *server)
{
    up_local_t unused;

    if (server->unix_path) {
        return apr_sockaddr_info_get(&server->addrs, server->unix_path,
                                     APR_UNIX, 0, 0, p);
    }
    if (!up_address_local(server->host, &unused)) {
        return APR_SUCCESS;
    }
    return apr_sockaddr_info_get(&server->addrs, server->host,
                                 unused.sa.any.sa_family, server->port, 0, p);
}

static adhoc_t *make(const up_pass_t *pass, const up_resolver_t *resolver)
{
    up_server_t *server;
    up_group_t *group;
    apr_pool_t *p;
    adhoc_t *one;

    if (apr_pool_create(&p, NULL) != APR_SUCCESS) {
        return NULL;
    }
    one = apr_pcalloc(p, sizeof(*one));
    one->pool = p;
    group = &one->group;
    up_group_init(p, group,
                  pass->unix_path
                      ? apr_pstrcat(p, "unix:", pass->unix_path, NULL)
                      : apr_pstrdup(p, pass->host_value), pass->where);
    group->implicit = 1;
    group->implicit_port = pass->port;
    group->adhoc = 1;
    group->keepalive = UP_ADHOC_KEEPALIVE;
    group->resolver = resolver;
    server = apr_array_push(group->servers);
    up_server_init(server, group->name);
    server->host = apr_pstrdup(p, pass->host);
    server->unix_path = apr_pstrdup(p, pass->unix_path);
    server->port = pass->port;
    if (set_address(p, server) != APR_SUCCESS
        || up_peers_make(p, group) != APR_SUCCESS) {
        apr_pool_destroy(p);
        return NULL;
    }
    return one;
}

/* --- the table ----------------------------------------------------------- */

static void take_out_locked(adhoc_t *one, unsigned int bucket)
{
    adhoc_t **where = &table.buckets[bucket];

    while (*where != one) {
        where = &(*where)->next;
    }
    *where = one->next;
    APR_RING_REMOVE(one, link);
    APR_RING_INSERT_TAIL(&table.ending, one, adhoc_t, link);
    table.count--;
}

static unsigned int bucket_of_group(const adhoc_t *one)
{
    const up_server_t *server =
        &APR_ARRAY_IDX(one->group.servers, 0, up_server_t);
    up_pass_t place = { .host = server->host, .unix_path = server->unix_path,
                        .port = server->port };

    return bucket_of(&place);
}

/* @return 0: all are in use */
static int make_room_locked(void)
{
    adhoc_t *one = APR_RING_LAST(&table.ring);

    if (table.count < UP_ADHOC_MOST) {
        return 1;
    }
    while (one != APR_RING_SENTINEL(&table.ring, adhoc_t, link)) {
        if (!one->users) {
            take_out_locked(one, bucket_of_group(one));
            return 1;
        }
        one = APR_RING_PREV(one, link);
    }
    return 0;
}

/* @param called set when the clerk has something to do */
static adhoc_t *add_locked(const up_pass_t *pass,
                           const up_resolver_t *resolver, unsigned int bucket,
                           int *called)
{
    adhoc_t *one = make_room_locked() ? make(pass, resolver) : NULL;

    if (one) {
        one->next = table.buckets[bucket];
        table.buckets[bucket] = one;
        APR_RING_INSERT_HEAD(&table.ring, one, adhoc_t, link);
        table.count++;
        if (!one->group.peers->primary.count) {
            one->group.peers->pending = 1;
            one->fresh = 1;
            APR_RING_INSERT_TAIL(&table.newcomers, one, adhoc_t, entry);
            *called = 1;
        }
    }
    return one;
}

up_group_t *up_adhoc_take(const up_pass_t *pass,
                          const up_resolver_t *resolver, int *called)
{
    unsigned int bucket = bucket_of(pass);
    adhoc_t *one;

    *called = 0;
    resolver = resolver ? resolver : &up_resolver_system;
    pthread_mutex_lock(&table.lock);
    one = table.buckets[bucket];
    while (one && !is_place(one, pass, resolver)) {
        one = one->next;
    }
    if (one) {
        APR_RING_REMOVE(one, link);
        APR_RING_INSERT_HEAD(&table.ring, one, adhoc_t, link);
    }
    else {
        one = add_locked(pass, resolver, bucket, called);
    }
    if (one) {
        one->users++;
    }
    pthread_mutex_unlock(&table.lock);
    return one ? &one->group : NULL;
}

void up_adhoc_give(up_group_t *group)
{
    adhoc_t *one = (adhoc_t *)group;

    pthread_mutex_lock(&table.lock);
    one->users--;
    one->used = up_clock_now();
    pthread_mutex_unlock(&table.lock);
}

int up_adhoc_count(void)
{
    int count;

    pthread_mutex_lock(&table.lock);
    count = table.count;
    pthread_mutex_unlock(&table.lock);
    return count;
}

/* --- the end ------------------------------------------------------------- */

static void end(adhoc_t *one)
{
    up_names_remove(&one->group);
    up_roster_close(one->group.peers);
    apr_pool_destroy(one->pool);
}

/* The next one that is to end, out of all lists. NULL: there is none. */
static adhoc_t *next_ending(void)
{
    adhoc_t *one = NULL;

    pthread_mutex_lock(&table.lock);
    if (!APR_RING_EMPTY(&table.ending, adhoc_t, link)) {
        one = APR_RING_FIRST(&table.ending);
        APR_RING_REMOVE(one, link);
        if (one->fresh) {
            APR_RING_REMOVE(one, entry);
        }
    }
    pthread_mutex_unlock(&table.lock);
    return one;
}

static adhoc_t *next_newcomer(void)
{
    adhoc_t *one = NULL;

    pthread_mutex_lock(&table.lock);
    if (!APR_RING_EMPTY(&table.newcomers, adhoc_t, entry)) {
        one = APR_RING_FIRST(&table.newcomers);
        APR_RING_REMOVE(one, entry);
        one->fresh = 0;
    }
    pthread_mutex_unlock(&table.lock);
    return one;
}

/* What is in the table ends by the same thread. */
void up_adhoc_welcome(void)
{
    adhoc_t *one;

    while ((one = next_newcomer())) {
        up_names_add(&one->group);
    }
}

void up_adhoc_tidy(apr_time_t now)
{
    adhoc_t *one, *before;

    pthread_mutex_lock(&table.lock);
    for (one = APR_RING_LAST(&table.ring);
         one != APR_RING_SENTINEL(&table.ring, adhoc_t, link); one = before) {
        before = APR_RING_PREV(one, link);
        if (!one->users && now - one->used > one->group.keepalive_timeout) {
            take_out_locked(one, bucket_of_group(one));
        }
    }
    pthread_mutex_unlock(&table.lock);
    while ((one = next_ending())) {
        end(one);
    }
}
