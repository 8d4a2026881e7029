/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns <Upstream> sections: where they may stand, what may stand in them, and
 * the directives about the kept connections of a group.
 */

#include "config/group_section.h"

#include <stddef.h>

#include "apr_strings.h"
#include "config/address.h"
#include "config/balancing.h"
#include "config/checks.h"
#include "config/complaint.h"
#include "config/limits.h"
#include "config/resolver.h"
#include "config/section.h"
#include "config/server.h"
#include "config/sticky.h"
#include "config/units.h"
#include "config/zone.h"
#include "http_core.h"

/* An open <Upstream>, hung on its directive while its content is read. */
typedef struct section_t {
    up_group_t *group;
    apr_hash_t *seen; /* names of the directives that stand there once */
} section_t;

/* --- what stands inside a section ---------------------------------------- */

/* The open section that the directive stands in. */
static const char *section_of(const cmd_parms *cmd, section_t **psection)
{
    void *data = NULL;
    const char *error = up_section_inside(cmd, "Upstream", &data);

    *psection = data;
    return error;
}

const char *up_group_section(cmd_parms *cmd, up_group_t **pgroup)
{
    section_t *section;
    const char *error = section_of(cmd, &section);

    if (error == NULL) {
        *pgroup = section->group;
    }
    return error;
}

const char *up_group_section_once(cmd_parms *cmd, up_group_t **pgroup)
{
    section_t *section;
    const char *error = section_of(cmd, &section);

    if (error != NULL) {
        return error;
    }
    *pgroup = section->group;
    if (apr_hash_get(section->seen, cmd->cmd->name,
                     APR_HASH_KEY_STRING) != NULL) {
        return up_complaint_twice(cmd, " in this <Upstream>");
    }
    apr_hash_set(section->seen, cmd->cmd->name, APR_HASH_KEY_STRING, cmd);
    return NULL;
}

static const char *set_keepalive(cmd_parms *cmd, void *dconf,
                                 const char *number, const char *local)
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (local != NULL && strcasecmp(local, "local") != 0) {
        return up_complaint_word(cmd, "wants nothing but \"local\" after the "
                                 "number", local);
    }
    group->keepalive_local = local != NULL;
    error = up_units_number(number, 0, &group->keepalive);
    return error != NULL ? up_complaint_word(cmd, error, number) : NULL;
}

static const char *set_keepalive_requests(cmd_parms *cmd, void *dconf,
                                          const char *number)
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    error = up_units_number(number, 1, &group->keepalive_requests);
    return error != NULL ? up_complaint_word(cmd, error, number) : NULL;
}

/* cmd_data is the offset of the field. */
static const char *set_keepalive_span(cmd_parms *cmd, void *dconf,
                                      const char *time)
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);
    apr_interval_time_t span;

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    error = up_units_time(time, &span);
    if (error == NULL && span == 0) {
        error = "wants a time that is longer than 0 (\"UpstreamKeepalive 0\" "
                "turns keeping off)";
    }
    if (error != NULL) {
        return up_complaint_word(cmd, error, time);
    }
    *(apr_interval_time_t *)((char *)group
                             + (apr_size_t)cmd->info) = span;
    return NULL;
}

/* --- <Upstream> ---------------------------------------------------------- */

static const char *check_place(cmd_parms *cmd)
{
    if (cmd->server->is_virtual || cmd->directive->parent != NULL
        || cmd->pool == cmd->temp_pool) {
        return "<Upstream> belongs in the main server configuration, outside "
               "<VirtualHost> and every other section";
    }
    return NULL;
}

static const char *parse_name(cmd_parms *cmd, const char *args,
                              const char **pname)
{
    const char *end = ap_strrchr_c(args, '>');
    const up_group_t *other;
    up_address_t address;
    const char *name;

    if (end == NULL || end[1] != '\0') {
        return "<Upstream is not closed: write <Upstream name>";
    }
    args = apr_pstrmemdup(cmd->temp_pool, args, end - args);
    name = ap_getword_conf(cmd->pool, &args);
    if (*args != '\0' || name[0] == '\0') {
        return "<Upstream> wants one name, as in <Upstream backend>";
    }
    if (up_address_parse(cmd->pool, name, &address) != NULL
        || address.port != 0 || address.v6 || address.host == NULL) {
        return apr_psprintf(cmd->pool, "<Upstream> wants a name of letters, "
                            "digits, dots, dashes and underscores, not \"%s\"",
                            name);
    }
    other = up_group_find(name);
    if (other != NULL) {
        return apr_psprintf(cmd->pool, "duplicate upstream \"%s\": the other "
                            "<Upstream> is at %s, give one of them another "
                            "name", name, other->where);
    }
    *pname = name;
    return NULL;
}

/* What nginx has in the place, as it would be called behind "Upstream". */
static int is_not_built(const char *directive)
{
    static const char *const names[] = {
        "NTLM", NULL
    };
    int i;

    for (i = 0; names[i] != NULL; i++) {
        if (strncasecmp(directive, "Upstream", 8) == 0
            && strcasecmp(directive + 8, names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Names of what may stand inside a section. */
static const char *all_names(apr_pool_t *p)
{
    const command_rec *row = up_group_commands + 1;
    const char *all = row->name;

    for (row++; row->name != NULL; row++) {
        all = apr_pstrcat(p, all, " ", row->name, NULL);
    }
    return all;
}

static const char *does_not_belong(cmd_parms *cmd, const char *directive)
{
    module *modules = ap_top_module;

    if (is_not_built(directive)) {
        return apr_psprintf(cmd->pool, "%s is not built yet: leave it out",
                            directive);
    }
    if (ap_find_command_in_modules(directive, &modules) == NULL) {
        return apr_psprintf(cmd->pool, "%s is unknown: inside <Upstream> may "
                            "stand %s", directive, all_names(cmd->pool));
    }
    return apr_psprintf(cmd->pool, "%s does not belong inside <Upstream>: "
                        "write it outside", directive);
}

/* Other directives would silently be taken as the main server's. */
static const char *check_content(cmd_parms *cmd)
{
    const ap_directive_t *at;

    for (at = cmd->directive->first_child; at != NULL; at = at->next) {
        if (!up_section_has_row(up_group_commands + 1, at->directive)
            && !up_resolver_is_directive(at->directive)) {
            cmd->err_directive = at;
            return does_not_belong(cmd, at->directive);
        }
    }
    return NULL;
}

static const char *check_servers(cmd_parms *cmd, const up_group_t *group)
{
    int i, primaries = 0;

    for (i = 0; i < group->servers->nelts; i++) {
        primaries += !APR_ARRAY_IDX(group->servers, i, up_server_t).backup;
    }
    if (group->servers->nelts == 0) {
        return apr_psprintf(cmd->pool, "<Upstream %s> has no server: write at "
                            "least one UpstreamServer in it", group->name);
    }
    if (primaries == 0) {
        return apr_psprintf(cmd->pool, "no servers in upstream \"%s\": all "
                            "are backup, write at least one UpstreamServer "
                            "without it", group->name);
    }
    return up_balancing_check(cmd, group->balancing, group->servers);
}

static const char *read_section(cmd_parms *cmd, void *dconf, const char *args)
{
    section_t section;
    const char *name = NULL, *error = check_place(cmd);

    (void)dconf;
    if (error == NULL) {
        error = parse_name(cmd, args, &name);
    }
    if (error == NULL) {
        error = check_content(cmd);
    }
    if (error != NULL) {
        return error;
    }
    section.group = up_group_make(cmd->pool, name, up_section_where(cmd));
    section.seen = apr_hash_make(cmd->temp_pool);
    error = up_section_walk(cmd, &section);
    if (error == NULL) {
        error = check_servers(cmd, section.group);
    }
    return error != NULL ? error : up_zone_check_group(cmd, section.group);
}

/* httpd lets them stand everywhere but in .htaccess, so that the setters can
 * say where they belong. */
#define WHERE (RSRC_CONF | ACCESS_CONF)

#define SPAN_OF(field) ((void *)offsetof(up_group_t, field))

/* The section itself comes first, check_content relies on it. */
const command_rec up_group_commands[] = {
    AP_INIT_RAW_ARGS("<Upstream", read_section, NULL, WHERE,
                     "a name, as in <Upstream backend>"),
    AP_INIT_TAKE_ARGV("UpstreamServer", up_server_add, NULL, WHERE,
                      "an address and parameters"),
    AP_INIT_TAKE_ARGV("UpstreamLeastConn", up_balancing_set_least_conn, NULL,
                      WHERE, "nothing"),
    AP_INIT_TAKE_ARGV("UpstreamIPHash", up_balancing_set_ip_hash, NULL, WHERE,
                      "nothing"),
    AP_INIT_TAKE_ARGV("UpstreamHash", up_balancing_set_hash, NULL, WHERE,
                      "a key and, if need be, consistent and balance="),
    AP_INIT_TAKE_ARGV("UpstreamRandom", up_balancing_set_random, NULL, WHERE,
                      "nothing, two, or two least_conn"),
    AP_INIT_TAKE_ARGV("UpstreamLeastTime", up_balancing_set_least_time, NULL,
                      WHERE, "header or last_byte and, if need be, inflight"),
    AP_INIT_TAKE_ARGV("UpstreamPeakEWMA", up_balancing_set_peak_ewma, NULL,
                      WHERE, "decay= and choices=, if need be"),
    AP_INIT_TAKE_ARGV("UpstreamSticky", up_sticky_set, NULL, WHERE,
                      "cookie, route or learn, and what belongs to it"),
    AP_INIT_TAKE12("UpstreamKeepalive", set_keepalive, NULL, WHERE,
                   "a number of idle connections and, if need be, local"),
    AP_INIT_TAKE1("UpstreamKeepaliveRequests", set_keepalive_requests, NULL,
                  WHERE, "a number such as 1000"),
    AP_INIT_TAKE1("UpstreamKeepaliveTime", set_keepalive_span,
                  SPAN_OF(keepalive_time), WHERE, "a time such as 1h"),
    AP_INIT_TAKE1("UpstreamKeepaliveTimeout", set_keepalive_span,
                  SPAN_OF(keepalive_timeout), WHERE, "a time such as 60s"),
    AP_INIT_TAKE_ARGV("UpstreamQueue", up_limits_set_queue, NULL, WHERE,
                      "a number of requests and, if need be, timeout="),
    AP_INIT_TAKE_ARGV("UpstreamHealthCheck", up_checks_set, NULL, WHERE,
                      "tcp or http and parameters, if need be"),
    AP_INIT_TAKE1("UpstreamState", up_zone_set_state, NULL, WHERE,
                  "a file that the children can write"),
    AP_INIT_TAKE12("UpstreamZone", up_zone_set, NULL, WHERE,
                   "a name and, once, a size such as 64k"),
    {.name = NULL}
};
