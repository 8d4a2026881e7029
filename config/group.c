/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the list of all groups.
 */

#include "config/group.h"

#include "apr_strings.h"
#include "config/pass.h"
#include "config/resolver.h"
#include "config/server.h"
#include "config/settings.h"
#include "config/log.h"


/* All groups of this configuration, the implicit ones last. */
static apr_array_header_t *groups; /* of up_group_t * */

void up_group_reset(apr_pool_t *pconf)
{
    groups = apr_array_make(pconf, 8, sizeof(up_group_t *));
}

void up_group_each(void (*visit)(up_group_t *group, void *baton), void *baton)
{
    int i;

    for (i = 0; groups != NULL && i < groups->nelts; i++) {
        visit(APR_ARRAY_IDX(groups, i, up_group_t *), baton);
    }
}

up_group_t *up_group_find(const char *name)
{
    int i;

    for (i = 0; groups != NULL && i < groups->nelts; i++) {
        up_group_t *group = APR_ARRAY_IDX(groups, i, up_group_t *);

        if (!group->implicit && strcasecmp(group->name, name) == 0) {
            return group;
        }
    }
    return NULL;
}

/* --- making -------------------------------------------------------------- */

void up_group_init(apr_pool_t *p, up_group_t *group, const char *name,
                   const char *where)
{
    memset(group, 0, sizeof(*group));
    group->name = name;
    group->where = where;
    group->servers = apr_array_make(p, 4, sizeof(up_server_t));
    group->keepalive = 32;
    group->keepalive_requests = 1000;
    group->keepalive_time = apr_time_from_sec(3600);
    group->keepalive_timeout = apr_time_from_sec(60);
    group->queue_timeout = apr_time_from_sec(60);
}

up_group_t *up_group_make(apr_pool_t *p, const char *name, const char *where)
{
    up_group_t *group = apr_palloc(p, sizeof(*group));

    up_group_init(p, group, name, where);
    APR_ARRAY_PUSH(groups, up_group_t *) = group;
    return group;
}

/* Is this the implicit group of the same place? */
static int is_place(const up_group_t *group, const up_pass_t *pass)
{
    const up_server_t *server;

    if (!group->implicit) {
        return 0;
    }
    server = &APR_ARRAY_IDX(group->servers, 0, up_server_t);
    if (pass->unix_path != NULL) {
        return server->unix_path != NULL
               && strcmp(server->unix_path, pass->unix_path) == 0;
    }
    return server->host != NULL && group->implicit_port == pass->port
           && strcasecmp(server->host, pass->host) == 0;
}

/* Of the section that the pass stands in, else of its server. */
static const up_resolver_t *resolver_of(const up_pass_t *pass)
{
    const up_settings_t *settings =
        ap_get_module_config(pass->server->lookup_defaults,
                             &upstream_proxy_module);

    return pass->section != NULL && pass->section->resolver != NULL
               ? pass->section->resolver : settings->resolver;
}

static up_group_t *find_place(const up_pass_t *pass)
{
    int i;

    for (i = 0; groups != NULL && i < groups->nelts; i++) {
        up_group_t *group = APR_ARRAY_IDX(groups, i, up_group_t *);

        if (is_place(group, pass)) {
            return group;
        }
    }
    return NULL;
}

up_group_t *up_group_named(const up_pass_t *pass)
{
    up_group_t *group = NULL;

    if (pass->host != NULL && !pass->has_port) {
        group = up_group_find(pass->host);
    }
    return group != NULL ? group : find_place(pass);
}

up_group_t *up_group_implicit(apr_pool_t *p, const up_pass_t *pass)
{
    up_group_t *group = find_place(pass);
    up_server_t *server;

    if (group != NULL) {
        return group;
    }
    group = up_group_make(p, pass->unix_path != NULL
                              ? apr_pstrcat(p, "unix:", pass->unix_path, NULL)
                              : pass->host_value,
                       pass->where);
    group->implicit = 1;
    group->implicit_port = pass->port;
    group->resolver = resolver_of(pass);
    server = apr_array_push(group->servers);
    up_server_init(server, group->name);
    server->host = pass->host;
    server->unix_path = pass->unix_path;
    server->port = pass->port;
    return group;
}
