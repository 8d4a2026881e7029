/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the look-up of the names of all groups' servers.
 */

#include "apr_strings.h"
#include "config/address.h"
#include "config/first_look.h"
#include "config/group.h"
#include "config/log.h"
#include "config/resolver.h"
#include "config/settings.h"
#include "http_core.h"

/* What a walk over the groups carries. */
typedef struct walk_t {
    apr_pool_t *p;
    server_rec *s;
    const up_resolver_t *silent; /* has been waited for in vain */
} walk_t;

/* /etc/hosts may name one address twice; that is one peer. */
static void drop_repeated(apr_sockaddr_t *first)
{
    apr_sockaddr_t *one, **link;

    for (one = first; one != NULL; one = one->next) {
        link = &one->next;
        while (*link != NULL) {
            if (apr_sockaddr_equal(one, *link)) {
                *link = (*link)->next;
            }
            else {
                link = &(*link)->next;
            }
        }
    }
}

/* With the system's resolver, which may know more than name servers do. */
static apr_status_t ask_system(apr_pool_t *p, const up_resolver_t *resolver,
                               up_server_t *server)
{
    int family = resolver->no_ipv6 ? APR_INET
                 : resolver->no_ipv4 ? APR_INET6 : APR_UNSPEC;
    apr_status_t rv;

    if (server->unix_path != NULL) {
        return apr_sockaddr_info_get(&server->addrs, server->unix_path,
                                     APR_UNIX, 0, 0, p);
    }
    rv = apr_sockaddr_info_get(&server->addrs, server->host, family,
                               server->port, 0, p);
    if (rv == APR_SUCCESS) {
        drop_repeated(server->addrs);
    }
    else {
        server->addrs = NULL;
    }
    return rv;
}

static apr_status_t resolve(walk_t *walk, const up_group_t *group,
                            up_server_t *server)
{
    const up_resolver_t *resolver = group->resolver;
    int named = up_server_is_named(server);

    if (!named || (resolver->servers == NULL && server->service == NULL)) {
        up_resolver_t both = up_resolver_system;

        return ask_system(walk->p, named ? resolver : &both, server);
    }
    if (resolver == walk->silent) {
        return APR_TIMEUP; /* has not answered before: do not wait again */
    }
    if (up_firstlook(walk->p, group, server) != APR_SUCCESS) {
        walk->silent = server->addrs == NULL && server->targets == NULL
                           ? resolver : NULL;
    }
    return server->addrs != NULL || server->targets != NULL ? APR_SUCCESS
                                                            : APR_EGENERAL;
}

/* A name in a URL that is no group's may be a mistyped one. */
static const char *unresolved(apr_pool_t *p, const up_group_t *group,
                              const up_server_t *server)
{
    if (!group->implicit) {
        return apr_psprintf(p, "group \"%s\" (%s): the name of server %s "
                            "cannot be resolved", group->name, group->where,
                            server->text);
    }
    if (group->implicit_port != UP_ADDRESS_PORT
        && group->implicit_port != UP_ADDRESS_TLS_PORT) {
        return apr_psprintf(p, "UpstreamPass at %s: the host name %s cannot "
                            "be resolved", group->where, server->host);
    }
    return apr_psprintf(p, "UpstreamPass at %s: there is no <Upstream %s>, so "
                        "%s is taken for a host name, which cannot be "
                        "resolved", group->where, server->host, server->host);
}

/* What the group does not say itself. */
static void complete(up_group_t *group, server_rec *s)
{
    const up_settings_t *settings =
        ap_get_module_config(s->lookup_defaults, &upstream_proxy_module);

    if (group->resolver == NULL) {
        group->resolver = settings->resolver != NULL ? settings->resolver
                                                     : &up_resolver_system;
    }
    if (group->resolver_timeout == 0) {
        group->resolver_timeout = settings->resolver_timeout;
    }
}

static void resolve_group(up_group_t *group, void *baton)
{
    walk_t *walk = baton;
    int i;

    complete(group, walk->s);
    for (i = 0; i < group->servers->nelts; i++) {
        up_server_t *server = &APR_ARRAY_IDX(group->servers, i, up_server_t);
        apr_status_t rv = resolve(walk, group, server);

        if (rv != APR_SUCCESS) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, rv, walk->s,
                         UPLOGNO(0105) "%s; requests to it are answered with "
                         "502 until %s", unresolved(walk->p, group, server),
                         group->resolver->off
                             ? "the server is reloaded with a name that can"
                             : "it can");
        }
    }
}

int up_group_post_config(apr_pool_t *pconf, server_rec *s)
{
    walk_t walk = { .p = pconf, .s = s };

    /* At start the configuration is read twice; what is looked up in the
     * first reading is thrown away. */
    if (ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_PRE_CONFIG) {
        up_group_each(resolve_group, &walk);
    }
    return OK;
}
