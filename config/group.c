/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns <Upstream> sections and the list of all groups.
 */

#include "config/group.h"

#include <stddef.h>

#include "apr_strings.h"
#include "config/address.h"
#include "config/complaint.h"
#include "config/log.h"
#include "config/pass.h"
#include "config/section.h"
#include "config/units.h"
#include "http_core.h"

#define DEFAULT_WEIGHT       1
#define DEFAULT_MAX_FAILS    1
#define DEFAULT_FAIL_TIMEOUT apr_time_from_sec(10)

/* An open <Upstream>, hung on its directive while its content is read. */
typedef struct section_t {
    up_group_t *group;
    apr_hash_t *seen; /* names of the directives that stand there once */
} section_t;

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

static up_group_t *make_group(apr_pool_t *p, const char *name,
                              const char *where)
{
    up_group_t *group = apr_pcalloc(p, sizeof(*group));

    group->name = name;
    group->where = where;
    group->servers = apr_array_make(p, 4, sizeof(up_server_t));
    group->keepalive = 32;
    group->keepalive_requests = 1000;
    group->keepalive_time = apr_time_from_sec(3600);
    group->keepalive_timeout = apr_time_from_sec(60);
    APR_ARRAY_PUSH(groups, up_group_t *) = group;
    return group;
}

static void init_server(up_server_t *server, const char *text)
{
    memset(server, 0, sizeof(*server));
    server->text = text;
    server->weight = DEFAULT_WEIGHT;
    server->max_fails = DEFAULT_MAX_FAILS;
    server->fail_timeout = DEFAULT_FAIL_TIMEOUT;
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

up_group_t *up_group_implicit(apr_pool_t *p, const up_pass_t *pass)
{
    up_group_t *group;
    up_server_t *server;
    int i;

    for (i = 0; i < groups->nelts; i++) {
        group = APR_ARRAY_IDX(groups, i, up_group_t *);
        if (is_place(group, pass)) {
            return group;
        }
    }
    group = make_group(p, pass->unix_path != NULL
                              ? apr_pstrcat(p, "unix:", pass->unix_path, NULL)
                              : pass->host_value,
                       pass->where);
    group->implicit = 1;
    group->implicit_port = pass->port;
    server = apr_array_push(group->servers);
    init_server(server, group->name);
    server->host = pass->host;
    server->unix_path = pass->unix_path;
    server->port = pass->port;
    return group;
}

/* --- UpstreamServer ------------------------------------------------------ */

typedef enum kind_e { COUNT, SECONDS, MARK, NOT_YET } kind_e;

/* A parameter's bit in `seen` is its place in the table. */
typedef struct param_t {
    const char *name; /* with the = where a value follows */
    kind_e kind;
    apr_size_t offset;
    int least;
    const char *remedy; /* of NOT_YET */
} param_t;

static const param_t params[] = {
    {"weight=", COUNT, offsetof(up_server_t, weight), 1, NULL},
    {"max_conns=", COUNT, offsetof(up_server_t, max_conns), 0, NULL},
    {"max_fails=", COUNT, offsetof(up_server_t, max_fails), 0, NULL},
    {"fail_timeout=", SECONDS, offsetof(up_server_t, fail_timeout), 0, NULL},
    {"backup", MARK, offsetof(up_server_t, backup), 0, NULL},
    {"down", MARK, offsetof(up_server_t, down), 0, NULL},
    {"resolve", NOT_YET, 0, 0,
     "leave it out; names are looked up when the server starts or reloads"},
    {"service=", NOT_YET, 0, 0,
     "write one UpstreamServer host:port for each target"},
    {"route=", NOT_YET, 0, 0, "leave it out"},
    {"slow_start=", NOT_YET, 0, 0,
     "leave it out, or begin with a small weight="},
    {"drain", NOT_YET, 0, 0, "write down"},
    {NULL, MARK, 0, 0, NULL}
};

static const param_t *find_param(const char *word)
{
    const param_t *param;

    for (param = params; param->name != NULL; param++) {
        apr_size_t len = strlen(param->name);
        int has_value = param->name[len - 1] == '=';

        if (has_value ? strncmp(word, param->name, len) == 0
                      : strcmp(word, param->name) == 0) {
            return param;
        }
    }
    return NULL;
}

static const char *set_param(cmd_parms *cmd, const param_t *param,
                             up_server_t *server, const char *word)
{
    void *field = (char *)server + param->offset;
    const char *value = word + strlen(param->name);
    const char *error = NULL;

    switch (param->kind) {
    case COUNT:
        error = up_units_number(value, param->least, field);
        break;
    case SECONDS:
        error = up_units_seconds(value, field);
        break;
    case MARK:
        *(int *)field = 1;
        break;
    case NOT_YET:
        return apr_psprintf(cmd->pool, "%s: parameter \"%s\" is not supported "
                            "yet: %s", cmd->cmd->name, word, param->remedy);
    }
    return error == NULL ? NULL
                         : apr_psprintf(cmd->pool, "%s: %s %s, not \"%s\"",
                                        cmd->cmd->name, param->name, error,
                                        value);
}

static const char *set_params(cmd_parms *cmd, up_server_t *server, int argc,
                              char *const argv[])
{
    unsigned int seen = 0;
    int i;

    for (i = 0; i < argc; i++) {
        const param_t *param = find_param(argv[i]);
        const char *error;

        if (param == NULL) {
            return up_complaint_word(cmd, "has an invalid parameter: it takes "
                                     "weight= max_conns= max_fails= "
                                     "fail_timeout= backup down", argv[i]);
        }
        if ((seen & (1u << (param - params))) != 0) {
            return apr_psprintf(cmd->pool, "%s: parameter \"%s\" is "
                                "duplicate: keep one of them",
                                cmd->cmd->name, argv[i]);
        }
        seen |= 1u << (param - params);
        error = set_param(cmd, param, server, argv[i]);
        if (error != NULL) {
            return error;
        }
    }
    return NULL;
}

static const char *set_address(cmd_parms *cmd, up_server_t *server)
{
    const char *text = server->text;
    up_address_t address;
    const char *error;

    if (strstr(text, "://") != NULL) {
        return up_complaint_word(cmd, "wants an address and no URL, as in "
                                 "127.0.0.1:8080", text);
    }
    if (strncasecmp(text, "unix:", 5) == 0 && text[5] != '\0'
        && text[5] != '/') {
        text = apr_pstrcat(cmd->pool, "unix:",
                           ap_server_root_relative(cmd->pool, text + 5), NULL);
    }
    error = up_address_parse(cmd->pool, text, &address);
    if (error != NULL) {
        return up_complaint_word(cmd, error, server->text);
    }
    server->host = address.host;
    server->unix_path = address.unix_path;
    server->port = address.port != 0 ? address.port : UP_ADDRESS_PORT;
    return NULL;
}

/* --- what stands inside a section ---------------------------------------- */

static const char *find_section(cmd_parms *cmd, section_t **psection)
{
    const ap_directive_t *parent = cmd->directive->parent;

    if (parent == NULL || strcasecmp(parent->directive, "<Upstream") != 0) {
        return apr_psprintf(cmd->pool, "%s belongs inside <Upstream name> ... "
                            "</Upstream>", cmd->cmd->name);
    }
    *psection = parent->data;
    return NULL;
}

/* The same for a directive that stands in a group once. */
static const char *find_section_once(cmd_parms *cmd, section_t **psection)
{
    const char *error = find_section(cmd, psection);

    if (error != NULL) {
        return error;
    }
    if (apr_hash_get((*psection)->seen, cmd->cmd->name,
                     APR_HASH_KEY_STRING) != NULL) {
        return up_complaint_twice(cmd, " in this <Upstream>");
    }
    apr_hash_set((*psection)->seen, cmd->cmd->name, APR_HASH_KEY_STRING, cmd);
    return NULL;
}

static const char *add_server(cmd_parms *cmd, void *dconf, int argc,
                              char *const argv[])
{
    section_t *section = NULL;
    up_server_t server;
    const char *error = find_section(cmd, &section);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (argc < 1) {
        return apr_psprintf(cmd->pool, "%s wants an address and parameters, "
                            "as in \"127.0.0.1:8080 weight=2\"",
                            cmd->cmd->name);
    }
    init_server(&server, apr_pstrdup(cmd->pool, argv[0]));
    error = set_address(cmd, &server);
    if (error == NULL) {
        error = set_params(cmd, &server, argc - 1, argv + 1);
    }
    if (error == NULL) {
        APR_ARRAY_PUSH(section->group->servers, up_server_t) = server;
    }
    return error;
}

static const char *set_keepalive(cmd_parms *cmd, void *dconf,
                                 const char *number, const char *local)
{
    section_t *section = NULL;
    const char *error = find_section_once(cmd, &section);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (local != NULL && strcasecmp(local, "local") != 0) {
        return up_complaint_word(cmd, "wants nothing but \"local\" after the "
                                 "number", local);
    }
    section->group->keepalive_local = local != NULL;
    error = up_units_number(number, 0, &section->group->keepalive);
    return error != NULL ? up_complaint_word(cmd, error, number) : NULL;
}

static const char *set_keepalive_requests(cmd_parms *cmd, void *dconf,
                                          const char *number)
{
    section_t *section = NULL;
    const char *error = find_section_once(cmd, &section);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    error = up_units_number(number, 1, &section->group->keepalive_requests);
    return error != NULL ? up_complaint_word(cmd, error, number) : NULL;
}

/* cmd_data is the offset of the field. */
static const char *set_keepalive_span(cmd_parms *cmd, void *dconf,
                                      const char *time)
{
    section_t *section = NULL;
    const char *error = find_section_once(cmd, &section);
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
    *(apr_interval_time_t *)((char *)section->group
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
        "LeastConn", "LeastTime", "IPHash", "Hash", "Random", "Sticky", "Zone",
        "State", "Queue", "Resolver", "ResolverTimeout", "NTLM", NULL
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
        return apr_psprintf(cmd->pool, "%s is not built yet: there is only "
                            "weighted round robin, counted in each child "
                            "process by itself, so leave it out", directive);
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
        const command_rec *row = up_group_commands + 1;

        while (row->name != NULL && strcasecmp(at->directive, row->name)) {
            row++;
        }
        if (row->name == NULL) {
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
    return NULL;
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
    section.group = make_group(cmd->pool, name, up_section_where(cmd));
    section.seen = apr_hash_make(cmd->temp_pool);
    cmd->directive->data = &section;
    error = ap_walk_config(cmd->directive->first_child, cmd, cmd->context);
    cmd->directive->data = NULL;
    return error != NULL ? error : check_servers(cmd, section.group);
}

/* httpd lets them stand everywhere but in .htaccess, so that the setters can
 * say where they belong. */
#define WHERE (RSRC_CONF | ACCESS_CONF)

#define SPAN_OF(field) ((void *)offsetof(up_group_t, field))

/* The section itself comes first, check_content relies on it. */
const command_rec up_group_commands[] = {
    AP_INIT_RAW_ARGS("<Upstream", read_section, NULL, WHERE,
                     "a name, as in <Upstream backend>"),
    AP_INIT_TAKE_ARGV("UpstreamServer", add_server, NULL, WHERE,
                      "an address and parameters"),
    AP_INIT_TAKE12("UpstreamKeepalive", set_keepalive, NULL, WHERE,
                   "a number of idle connections and, if need be, local"),
    AP_INIT_TAKE1("UpstreamKeepaliveRequests", set_keepalive_requests, NULL,
                  WHERE, "a number such as 1000"),
    AP_INIT_TAKE1("UpstreamKeepaliveTime", set_keepalive_span,
                  SPAN_OF(keepalive_time), WHERE, "a time such as 1h"),
    AP_INIT_TAKE1("UpstreamKeepaliveTimeout", set_keepalive_span,
                  SPAN_OF(keepalive_timeout), WHERE, "a time such as 60s"),
    {.name = NULL}
};
