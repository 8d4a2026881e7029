/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns UpstreamHealthCheck.
 */

#include "config/checks.h"

#include <stddef.h>
#include <string.h>

#include "apr_strings.h"
#include "config/complaint.h"
#include "config/group.h"
#include "config/group_section.h"
#include "config/log.h"
#include "config/section.h"
#include "config/units.h"

typedef enum kind_e { TIME, NUMBER, WORD, MARK } kind_e;

typedef struct param_t {
    const char *name; /* with the = where a value follows */
    kind_e kind;
    apr_size_t offset;
    int least;        /* of a time: 1 forbids 0 */
    int http;         /* of HTTP checks alone */
} param_t;

#define AT(field) offsetof(up_check_t, field)

static const param_t params[] = {
    {"uri=", WORD, AT(uri), 0, 1},
    {"host=", WORD, AT(host), 0, 1},
    {"match=", WORD, AT(match_name), 0, 1},
    {"interval=", TIME, AT(interval), 1, 0},
    {"jitter=", TIME, AT(jitter), 0, 0},
    {"timeout=", TIME, AT(timeout), 1, 0},
    {"fails=", NUMBER, AT(fails), 1, 0},
    {"passes=", NUMBER, AT(passes), 1, 0},
    {"port=", NUMBER, AT(port), 1, 0},
    {"drain=", NUMBER, AT(drain), 100, 1},
    {"mandatory", MARK, AT(mandatory), 0, 0},
    {"persistent", MARK, AT(persistent), 0, 0},
    {"reuse", MARK, AT(reuse), 0, 1},
    {NULL, MARK, 0, 0, 0}
};

static const param_t *find_param(const char *word)
{
    const param_t *param;

    for (param = params; param->name != NULL; param++) {
        if (up_units_param(word, param->name) != NULL) {
            return param;
        }
    }
    return NULL;
}

static const char *set_value(const param_t *param, up_check_t *check,
                             const char *value)
{
    void *field = (char *)check + param->offset;

    switch (param->kind) {
    case TIME:
        return param->least ? up_units_span(value, field)
                            : up_units_time(value, field);
    case NUMBER:
        return up_units_number(value, param->least, field);
    case WORD:
        *(const char **)field = value;
        return *value == '\0' ? "wants a value" : NULL;
    default:
        *(int *)field = 1;
        return NULL;
    }
}

static const char *set_param(cmd_parms *cmd, up_check_t *check,
                             const char *word, unsigned int *pseen)
{
    const param_t *param = find_param(word);
    const char *value;
    const char *error;

    if (param == NULL) {
        return up_complaint_word(cmd, "has an invalid parameter: it takes "
                                 "tcp, http, uri= host= match= interval= "
                                 "jitter= timeout= fails= passes= port= "
                                 "drain= mandatory persistent reuse", word);
    }
    if ((*pseen & (1u << (param - params))) != 0) {
        return up_complaint_param_twice(cmd, word);
    }
    *pseen |= 1u << (param - params);
    if (param->http && !check->http) {
        return apr_psprintf(cmd->pool, "%s: \"%s\" goes with http, a tcp "
                            "check sends nothing: leave it out",
                            cmd->cmd->name, word);
    }
    value = up_units_param(word, param->name);
    error = set_value(param, check, value);
    return error == NULL ? NULL
                         : up_complaint_param(cmd, param->name, error, value);
}

static up_check_t *make(cmd_parms *cmd, const up_group_t *group)
{
    up_check_t *check = apr_pcalloc(cmd->pool, sizeof(*check));

    check->http = 1;
    check->uri = "/";
    check->host = group->name;
    check->interval = apr_time_from_sec(5);
    check->timeout = apr_time_from_sec(5);
    check->fails = 1;
    check->passes = 1;
    check->where = up_section_where(cmd);
    return check;
}

/* What goes into the request as it is written. */
static const char *check_words(cmd_parms *cmd, const up_check_t *check)
{
    const char *at;

    for (at = check->uri; *at != '\0'; at++) {
        if (check->uri[0] != '/' || (unsigned char)*at <= ' '
            || *at == 0x7f) {
            return apr_psprintf(cmd->pool, "%s: uri= wants a path such as "
                                "/health, escaped as in a URL, not \"%s\"",
                                cmd->cmd->name, check->uri);
        }
    }
    for (at = check->host; *at != '\0'; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f) {
            return apr_psprintf(cmd->pool, "%s: host= wants a host name, not "
                                "\"%s\"", cmd->cmd->name, check->host);
        }
    }
    return check->port > 65535
               ? apr_psprintf(cmd->pool, "%s: port= wants at most 65535, not "
                              "\"%d\"", cmd->cmd->name, check->port)
               : NULL;
}

const char *up_checks_set(cmd_parms *cmd, void *dconf, int argc,
                          char *const argv[])
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);
    unsigned int seen = 0;
    up_check_t *check;
    int i = 0;

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    check = make(cmd, group);
    if (argc > 0 && strcasecmp(argv[0], "https") == 0) {
        return "UpstreamHealthCheck: https checks are not built yet: write "
               "tcp, or http with the port= of a plain listener";
    }
    if (argc > 0 && (strcasecmp(argv[0], "tcp") == 0
                     || strcasecmp(argv[0], "http") == 0)) {
        check->http = strcasecmp(argv[0], "http") == 0;
        i = 1;
    }
    for (; i < argc && error == NULL; i++) {
        error = set_param(cmd, check, apr_pstrdup(cmd->pool, argv[i]), &seen);
    }
    if (error == NULL) {
        error = check_words(cmd, check);
    }
    if (error == NULL && check->persistent && !check->mandatory) {
        error = "UpstreamHealthCheck: persistent goes with mandatory, without "
                "which every server begins healthy: leave it out";
    }
    group->check = check;
    return error;
}

typedef struct resolving_t {
    server_rec *server;
    int result;
} resolving_t;

static void resolve(up_group_t *group, void *baton)
{
    up_check_t *check = group->check;
    resolving_t *at = baton;

    if (check == NULL || check->match_name == NULL) {
        return;
    }
    check->match = up_match_find(check->match_name);
    if (check->match == NULL) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, at->server, UPLOGNO(0910)
                     "UpstreamHealthCheck at %s: there is no <UpstreamMatch "
                     "%s>: write one, or leave match= out", check->where,
                     check->match_name);
        at->result = HTTP_INTERNAL_SERVER_ERROR;
    }
}

int up_checks_resolve(server_rec *s)
{
    resolving_t at = { .server = s, .result = OK };

    up_group_each(resolve, &at);
    return at.result;
}
