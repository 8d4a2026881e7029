/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the grammar of UpstreamResolver and where it may stand.
 */

#include "config/resolver.h"

#include "apr_strings.h"
#include "config/address.h"
#include "config/complaint.h"
#include "config/group.h"
#include "config/group_section.h"
#include "config/units.h"

#define DNS_PORT 53u
#define MOST_SERVERS 8

const up_resolver_t up_resolver_system;

int up_resolver_is_directive(const char *name)
{
    return strcasecmp(name, "UpstreamResolver") == 0
           || strcasecmp(name, "UpstreamResolverTimeout") == 0;
}

apr_interval_time_t up_resolver_validity(const up_resolver_t *resolver,
                                         int ttl)
{
    apr_interval_time_t own = apr_time_from_sec(ttl);

    if (resolver->valid) {
        return resolver->valid;
    }
    return own < UP_RESOLVER_FLOOR ? UP_RESOLVER_FLOOR : own;
}

/* --- words --------------------------------------------------------------- */

static const char *add_server(cmd_parms *cmd, up_resolver_t *resolver,
                              const char *word, int *pcount)
{
    up_address_t address;
    up_local_t ip;
    const char *error = up_address_parse(cmd->pool, word, &address);

    if (error != NULL || address.host == NULL
        || !up_address_local(address.host, &ip)) {
        return up_complaint_word(cmd, "wants IP addresses of name servers, "
                                 "such as 127.0.0.1 or [::1]:5353", word);
    }
    if (++*pcount > MOST_SERVERS) {
        return up_complaint_word(cmd, "takes at most 8 name servers", word);
    }
    resolver->servers = apr_psprintf(
        cmd->pool, address.v6 ? "%s%s[%s]:%u" : "%s%s%s:%u",
        resolver->servers != NULL ? resolver->servers : "",
        resolver->servers != NULL ? "," : "", address.host,
        address.port != 0 ? (unsigned int)address.port : DNS_PORT);
    return NULL;
}

static const char *set_valid(cmd_parms *cmd, up_resolver_t *resolver,
                             const char *value)
{
    const char *error = up_units_span(value, &resolver->valid);

    return error == NULL ? NULL
                         : up_complaint_param(cmd, "valid=", error, value);
}

static const char *set_family(cmd_parms *cmd, const char *name,
                              const char *value, int *pno)
{
    int on = 1;
    const char *error = up_units_flag(value, &on);

    *pno = !on;
    return error == NULL ? NULL : up_complaint_param(cmd, name, error, value);
}

static const char *take_word(cmd_parms *cmd, up_resolver_t *resolver,
                             const char *word, int *pcount)
{
    const char *value;

    if ((value = up_units_param(word, "valid=")) != NULL) {
        return set_valid(cmd, resolver, value);
    }
    if ((value = up_units_param(word, "ipv4=")) != NULL) {
        return set_family(cmd, "ipv4=", value, &resolver->no_ipv4);
    }
    if ((value = up_units_param(word, "ipv6=")) != NULL) {
        return set_family(cmd, "ipv6=", value, &resolver->no_ipv6);
    }
    if (up_units_param(word, "status_zone=") != NULL) {
        return up_complaint_word(cmd, "does not count look-ups yet: leave "
                                 "status_zone= out", word);
    }
    if (strchr(word, '=') != NULL) {
        return up_complaint_word(cmd, "has an invalid parameter: it takes "
                                 "addresses and valid= ipv4= ipv6=", word);
    }
    return add_server(cmd, resolver, word, pcount);
}

static const char *parse(cmd_parms *cmd, int argc, char *const argv[],
                         const up_resolver_t **presolver)
{
    up_resolver_t *resolver = apr_pcalloc(cmd->pool, sizeof(*resolver));
    const char *error = NULL;
    int count = 0;
    int i;

    *presolver = resolver;
    if (argc < 1) {
        return apr_psprintf(cmd->pool, "%s wants %s", cmd->cmd->name,
                            cmd->cmd->errmsg);
    }
    if (argc == 1 && strcasecmp(argv[0], "off") == 0) {
        resolver->off = 1;
        return NULL;
    }
    for (i = 0; i < argc && error == NULL; i++) {
        error = take_word(cmd, resolver, argv[i], &count);
    }
    if (error == NULL && resolver->no_ipv4 && resolver->no_ipv6) {
        error = apr_psprintf(cmd->pool, "%s: with ipv4=off and ipv6=off "
                             "nothing is left: leave one of them out",
                             cmd->cmd->name);
    }
    return error;
}

/* --- places -------------------------------------------------------------- */

static int is_in_group(const cmd_parms *cmd)
{
    const ap_directive_t *parent = cmd->directive->parent;

    return parent != NULL && strcasecmp(parent->directive, "<Upstream") == 0;
}

const char *up_resolver_set(cmd_parms *cmd, void *dconf, int argc,
                            char *const argv[])
{
    up_settings_t *settings = dconf;
    up_group_t *group = NULL;
    const char *error;

    if (is_in_group(cmd)) {
        error = up_group_section_once(cmd, &group);
        return error != NULL ? error
                             : parse(cmd, argc, argv, &group->resolver);
    }
    error = up_setters_begin(cmd, settings);
    if (error == NULL) {
        error = parse(cmd, argc, argv, &settings->resolver);
        up_setters_mark(cmd, settings);
    }
    return error;
}

const char *up_resolver_set_timeout(cmd_parms *cmd, void *dconf,
                                    const char *time)
{
    up_group_t *group = NULL;
    const char *error;

    if (!is_in_group(cmd)) {
        return up_setters_plain(cmd, dconf, time);
    }
    error = up_group_section_once(cmd, &group);
    if (error != NULL) {
        return error;
    }
    error = up_setters_parse_time(up_setters_row(cmd), time,
                                  &group->resolver_timeout);
    return error != NULL ? up_complaint_word(cmd, error, time) : NULL;
}
