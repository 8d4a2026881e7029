/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns copies of tables between two generations.
 */

#include "peers/session_keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apr_strings.h"
#include "http_core.h"
#include "http_main.h"

#define RETAINED "mod_upstream_proxy: sessions"
#define LARGEST  256 /* bytes of an entry, key and record */

/* One session of a group: malloc's, in the process' memory. */
typedef struct kept_t {
    struct kept_t *next;
    char *group;
    unsigned int idlen;
    unsigned int datalen;
    unsigned char bytes[LARGEST]; /* the id, then the record */
} kept_t;

typedef struct retained_t {
    kept_t *first;
} retained_t;

/* Whom to watch, and in which process. */
typedef struct watched_t {
    const up_sticky_t *sticky;
    pid_t parent;
    apr_pool_t *p;
} watched_t;

static retained_t *retained(void)
{
    retained_t *all = ap_retained_data_get(RETAINED);

    return all ? all : ap_retained_data_create(RETAINED, sizeof(*all));
}

static apr_status_t keep(ap_socache_instance_t *instance, server_rec *s,
                         void *group, const unsigned char *id,
                         unsigned int idlen, const unsigned char *data,
                         unsigned int datalen, apr_pool_t *p)
{
    kept_t *one;

    (void)instance;
    (void)s;
    (void)p;
    if (idlen + datalen > LARGEST || !(one = calloc(1, sizeof(*one)))) {
        return APR_SUCCESS;
    }
    one->group = strdup(group);
    one->idlen = idlen;
    one->datalen = datalen;
    memcpy(one->bytes, id, idlen);
    memcpy(one->bytes + idlen, data, datalen);
    one->next = retained()->first;
    retained()->first = one;
    return APR_SUCCESS;
}

static apr_status_t keep_all(void *data)
{
    const watched_t *watched = data;
    const up_sticky_t *sticky = watched->sticky;

    if (getpid() == watched->parent) {
        sticky->provider->iterate(sticky->instance, ap_server_conf,
                                  (void *)sticky->group, keep, watched->p);
    }
    return APR_SUCCESS;
}

void up_keeper_watch(apr_pool_t *pconf, const up_sticky_t *sticky)
{
    watched_t *watched = apr_pcalloc(pconf, sizeof(*watched));

    watched->sticky = sticky;
    watched->parent = getpid();
    watched->p = pconf;
    apr_pool_pre_cleanup_register(pconf, watched, keep_all);
}

static void put_back(apr_pool_t *p, const up_sticky_t *sticky, server_rec *s,
                     kept_t *one)
{
    unsigned char *record = one->bytes + one->idlen;
    unsigned long long expires = 0;
    char text[17] = "";

    memcpy(text, record, one->datalen < 16 ? one->datalen : 16);
    if (sscanf(text, "%16llx", &expires) == 1
        && (apr_time_t)expires > apr_time_now()) {
        sticky->provider->store(sticky->instance, s, one->bytes, one->idlen,
                                (apr_time_t)expires, record, one->datalen, p);
    }
}

void up_keeper_restore(apr_pool_t *p, const up_sticky_t *sticky,
                       server_rec *s)
{
    kept_t **where = &retained()->first;
    kept_t *one;

    while ((one = *where)) {
        if (strcmp(one->group, sticky->group) != 0) {
            where = &one->next;
            continue;
        }
        put_back(p, sticky, s, one);
        *where = one->next;
        free(one->group);
        free(one);
    }
}
