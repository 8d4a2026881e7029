/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns UpstreamServer: an address and its parameters.
 */

#include "config/server.h"

#include <stddef.h>

#include "apr_lib.h"
#include "apr_strings.h"
#include "config/address.h"
#include "config/complaint.h"
#include "config/group_section.h"
#include "config/units.h"

#define DEFAULT_WEIGHT       1
#define DEFAULT_MAX_FAILS    1
#define DEFAULT_FAIL_TIMEOUT apr_time_from_sec(10)

void up_server_init(up_server_t *server, const char *text)
{
    memset(server, 0, sizeof(*server));
    server->text = text;
    server->weight = DEFAULT_WEIGHT;
    server->max_fails = DEFAULT_MAX_FAILS;
    server->fail_timeout = DEFAULT_FAIL_TIMEOUT;
}

typedef enum kind_e { COUNT, SECONDS, MARK, WORD, ROUTE, NOT_YET } kind_e;

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
    {"resolve", MARK, offsetof(up_server_t, resolve), 0, NULL},
    {"service=", WORD, offsetof(up_server_t, service), 0, NULL},
    {"route=", ROUTE, offsetof(up_server_t, route), 0, NULL},
    {"drain", MARK, offsetof(up_server_t, drain), 0, NULL},
    {"slow_start=", NOT_YET, 0, 0,
     "leave it out, or begin with a small weight="},
    {NULL, MARK, 0, 0, NULL}
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

/* It goes into cookies. NULL: good. */
static const char *check_route(const char *value)
{
    apr_size_t len = 0;

    while (apr_isalnum(value[len]) || (value[len] && strchr("._-", value[len])))
    {
        len++;
    }
    return value[len] == '\0' && len >= 1 && len <= UP_ROUTE_LEN
               ? NULL
               : "wants 1 to 32 letters, digits, dots, dashes or underscores";
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
    case WORD:
        *(const char **)field = apr_pstrdup(cmd->pool, value);
        error = *value == '\0' ? "wants a name" : NULL;
        break;
    case ROUTE:
        *(const char **)field = apr_pstrdup(cmd->pool, value);
        error = check_route(value);
        break;
    case NOT_YET:
        return apr_psprintf(cmd->pool, "%s: parameter \"%s\" is not supported "
                            "yet: %s", cmd->cmd->name, word, param->remedy);
    }
    return error == NULL ? NULL
                         : apr_pstrcat(cmd->pool,
                                       up_complaint_param(cmd, param->name,
                                                          error, value),
                                       up_complaint_hint(value), NULL);
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
                                     "fail_timeout= backup down resolve "
                                     "service= route= drain", argv[i]);
        }
        if ((seen & (1u << (param - params))) != 0) {
            return up_complaint_param_twice(cmd, argv[i]);
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
    if (strchr(text, '$') != NULL || strstr(text, "%{") != NULL) {
        return up_complaint_word(cmd, "wants a fixed address: one that is "
                                 "made for a request belongs into the URL of "
                                 "UpstreamPass", text);
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
    server->port = address.port;
    return NULL;
}

int up_server_is_named(const up_server_t *server)
{
    up_local_t unused;

    return server->host != NULL && strcasecmp(server->host, "localhost") != 0
           && !up_address_local(server->host, &unused);
}

/* What goes with a name alone. */
static const char *check_name(cmd_parms *cmd, const up_server_t *server,
                              int has_port)
{
    const char *at = server->service;

    if (server->resolve && server->unix_path != NULL) {
        return up_complaint_word(cmd, "cannot resolve a socket: leave "
                                 "\"resolve\" out", server->text);
    }
    if (at == NULL) {
        return NULL;
    }
    if (!up_server_is_named(server)) {
        return up_complaint_word(cmd, "wants a host name where service= "
                                 "stands", server->text);
    }
    if (has_port) {
        return up_complaint_word(cmd, "takes its ports from the service: "
                                 "leave the port out", server->text);
    }
    while (apr_isalnum(*at) || *at == '-' || *at == '_' || *at == '.') {
        at++;
    }
    return *at == '\0' ? NULL
                       : up_complaint_word(cmd, "wants a service such as http "
                                           "or _http._tcp", server->service);
}

const char *up_server_add(cmd_parms *cmd, void *dconf, int argc,
                          char *const argv[])
{
    up_group_t *group = NULL;
    up_server_t server;
    int has_port = 0;
    const char *error = up_group_section(cmd, &group);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (argc < 1) {
        return apr_psprintf(cmd->pool, "%s wants an address and parameters, "
                            "as in \"127.0.0.1:8080 weight=2\"",
                            cmd->cmd->name);
    }
    up_server_init(&server, apr_pstrdup(cmd->pool, argv[0]));
    error = set_address(cmd, &server);
    if (error == NULL) {
        has_port = server.port != 0;
        server.port = has_port ? server.port : UP_ADDRESS_PORT;
        error = set_params(cmd, &server, argc - 1, argv + 1);
    }
    if (error == NULL && server.down && server.drain) {
        error = up_complaint_word(cmd, "has \"down\" and \"drain\": keep one "
                                  "of them", server.text);
    }
    if (error == NULL) {
        error = check_name(cmd, &server, has_port);
        server.usual_port = !has_port && server.unix_path == NULL
                            && server.service == NULL;
    }
    if (error == NULL) {
        APR_ARRAY_PUSH(group->servers, up_server_t) = server;
    }
    return error;
}
