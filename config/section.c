/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the questions about the place of a directive in the tree.
 */

#include "config/section.h"

#include "apr_fnmatch.h"
#include "apr_strings.h"

static int is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcasecmp(name, *names) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_condition(const ap_directive_t *section)
{
    static const char *const names[] = {"<If", "<ElseIf", "<Else", NULL};

    return is_one_of(section->directive, names);
}

/* <Location "~ regex">, <Location ~ regex> and <Location "/a*"> */
static int is_pattern(cmd_parms *cmd, const ap_directive_t *section)
{
    const char *args = section->args;

    if (strcasecmp(section->directive, "<LocationMatch") == 0) {
        return 1;
    }
    if (strcmp(ap_getword_conf(cmd->temp_pool, &args), "~") == 0) {
        return 1;
    }
    return cmd->path != NULL && apr_fnmatch_test(cmd->path);
}

up_section_e up_section_of(cmd_parms *cmd)
{
    static const char *const locations[] = {"<Location", "<LocationMatch",
                                            NULL};
    const ap_directive_t *at;

    for (at = cmd->directive->parent; at != NULL; at = at->parent) {
        if (is_condition(at)) {
            return UP_SECTION_IF;
        }
        if (is_one_of(at->directive, locations)) {
            return is_pattern(cmd, at) ? UP_SECTION_PATTERN
                                       : UP_SECTION_PREFIX;
        }
    }
    return UP_SECTION_SERVER;
}

const char *up_section_misplaced(cmd_parms *cmd)
{
    static const char *const refused[] = {
        "<Directory", "<DirectoryMatch", "<Files", "<FilesMatch",
        "<Proxy", "<ProxyMatch", "<Limit", "<LimitExcept",
        "<Upstream", NULL
    };
    static const char belongs[] =
        "it belongs in the server configuration, <VirtualHost>, <Location>, "
        "<LocationMatch> or <If>";
    const ap_directive_t *at;

    /* AllowOverrideList lets a directive into .htaccess whatever its
     * overrides say; httpd reads those files into one pool. */
    if (cmd->pool == cmd->temp_pool) {
        return apr_psprintf(cmd->pool, "%s cannot stand in .htaccess: %s",
                            cmd->cmd->name, belongs);
    }
    for (at = cmd->directive->parent; at != NULL; at = at->parent) {
        if (is_one_of(at->directive, refused)) {
            return apr_psprintf(cmd->pool, "%s cannot stand inside %s>: %s",
                                cmd->cmd->name, at->directive, belongs);
        }
    }
    return NULL;
}

const char *up_section_where(cmd_parms *cmd)
{
    return apr_psprintf(cmd->pool, "%s:%d", cmd->directive->filename,
                        cmd->directive->line_num);
}

const char *up_section_walk(cmd_parms *cmd, void *data)
{
    const char *error;

    cmd->directive->data = data;
    error = ap_walk_config(cmd->directive->first_child, cmd, cmd->context);
    cmd->directive->data = NULL;
    return error;
}

const char *up_section_inside(const cmd_parms *cmd, const char *name,
                              void **pdata)
{
    const ap_directive_t *parent = cmd->directive->parent;

    if (parent == NULL || parent->directive[0] != '<'
        || strcasecmp(parent->directive + 1, name) != 0) {
        return apr_psprintf(cmd->pool, "%s belongs inside <%s name> ... "
                            "</%s>", cmd->cmd->name, name, name);
    }
    *pdata = parent->data;
    return NULL;
}

int up_section_has_row(const command_rec *rows, const char *name)
{
    while (rows->name != NULL && strcasecmp(name, rows->name) != 0) {
        rows++;
    }
    return rows->name != NULL;
}
