/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the form of the file: {"version": 1, "peers": {"127.0.0.1:80": order}}.
 */

#include "observe/state_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apr_strings.h"
#include "config/log.h"
#include "config/zone.h"
#include "observe/order.h"
#include "peers/zone.h"

/* --- reading ------------------------------------------------------------- */

typedef struct loading_t {
    apr_pool_t *p;
    server_rec *s;
} loading_t;

static const char *load_peer(apr_pool_t *p, up_group_t *group,
                             const char *name, json_t *json)
{
    up_zonemem_t *zone = group->zone->memory;
    up_order_t order;
    const char *error = up_order_read(p, json, &order);
    up_peerstate_t *state;

    if (error) {
        return apr_psprintf(p, "%s: %s", name, error);
    }
    state = up_zonemem_find(zone, group, NULL, name);
    if (!state) {
        return apr_psprintf(p, "%s: the zone is full", name);
    }
    up_peerstate_order(state, &order);
    up_zonemem_leave(zone, state); /* it is there until children want it */
    return NULL;
}

static const char *load_peers(apr_pool_t *p, up_group_t *group, json_t *json)
{
    json_t *peers = json_object_get(json, "peers");
    const char *name, *error = NULL;
    json_t *one;

    if (json_integer_value(json_object_get(json, "version")) != 1
        || !json_is_object(peers)) {
        return "it is not a file of UpstreamState";
    }
    json_object_foreach(peers, name, one) {
        if (!error) {
            error = load_peer(p, group, name, one);
        }
    }
    return error;
}

static void load_group(up_group_t *group, void *baton)
{
    const loading_t *loading = baton;
    const char *error;
    json_error_t where;
    json_t *json;

    if (!group->state_file || !group->zone->memory
        || access(group->state_file, F_OK) != 0) {
        return;
    }
    json = json_load_file(group->state_file, 0, &where);
    error = json ? load_peers(loading->p, group, json) : where.text;
    json_decref(json);
    if (error) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, loading->s, UPLOGNO(0852)
                     "UpstreamState of group %s: cannot use %s: %s; servers "
                     "are as configured, mend the file or remove it",
                     group->name, group->state_file, error);
    }
}

void up_statefile_load(apr_pool_t *p, server_rec *s)
{
    loading_t loading = { p, s };

    up_group_each(load_group, &loading);
}

/* --- writing ------------------------------------------------------------- */

static void add_orders(json_t *peers, const up_peerlist_t *list)
{
    int i;

    for (i = 0; i < list->count; i++) {
        json_t *order = up_order_write(list->peers[i]->state);

        if (order) {
            json_object_set_new(peers, list->peers[i]->name, order);
        }
    }
}

static json_t *make_json(up_group_t *group)
{
    json_t *json = json_object();
    json_t *peers = json_object();

    apr_thread_mutex_lock(group->peers->lock);
    add_orders(peers, &group->peers->primary);
    add_orders(peers, &group->peers->backup);
    apr_thread_mutex_unlock(group->peers->lock);
    json_object_set_new(json, "version", json_integer(1));
    json_object_set_new(json, "peers", peers);
    return json;
}

/* The file that is to take the other one's place, locked. Somebody else may
 * have renamed it while this one waited for the lock. */
static int open_next(const char *name)
{
    struct stat opened, there;
    int fd;

    for (;;) {
        fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0) {
            return -1;
        }
        if (flock(fd, LOCK_EX) == 0 && fstat(fd, &opened) == 0
            && stat(name, &there) == 0 && opened.st_ino == there.st_ino) {
            return fd;
        }
        close(fd);
    }
}

static int write_all(int fd, json_t *json)
{
    return ftruncate(fd, 0) == 0
           && json_dumpfd(json, fd, JSON_INDENT(2) | JSON_SORT_KEYS) == 0
           && write(fd, "\n", 1) == 1 && fsync(fd) == 0;
}

apr_status_t up_statefile_save(request_rec *r, up_group_t *group)
{
    apr_status_t rv = APR_SUCCESS;
    const char *next;
    json_t *json;
    int fd;

    if (!group->state_file) {
        return APR_SUCCESS;
    }
    next = apr_pstrcat(r->pool, group->state_file, ".new", NULL);
    fd = open_next(next);
    if (fd < 0) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    else {
        json = make_json(group); /* with the lock: what is newest is last */
        if (!write_all(fd, json) || rename(next, group->state_file) != 0) {
            rv = APR_FROM_OS_ERROR(errno);
        }
        json_decref(json);
        close(fd);
    }
    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, UPLOGNO(0853)
                      "UpstreamState: cannot write %s: its directory has to "
                      "be writable for the user of the children (User)",
                      group->state_file);
    }
    return rv;
}
