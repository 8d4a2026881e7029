/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the directives that name a balancing method.
 */

#include "config/balancing.h"

#include "apr_strings.h"
#include "config/complaint.h"
#include "config/group.h"
#include "config/group_section.h"
#include "config/section.h"
#include "config/units.h"

#define DEFAULT_DECAY   apr_time_from_sec(10)
#define DEFAULT_CHOICES 2

/* The group gets this method. NULL: *pbalancing; else what is wrong. */
static const char *begin(cmd_parms *cmd, up_method_e method,
                         up_balancing_t **pbalancing)
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);
    up_balancing_t *balancing;

    if (error != NULL) {
        return error;
    }
    if (group->balancing != NULL) {
        return apr_psprintf(cmd->pool, "%s: the group has a balancing method "
                            "already, %s at %s: keep one of them",
                            cmd->cmd->name, group->balancing->directive,
                            group->balancing->where);
    }
    balancing = apr_pcalloc(cmd->pool, sizeof(*balancing));
    balancing->method = method;
    balancing->at = cmd->directive;
    balancing->where = up_section_where(cmd);
    balancing->directive = cmd->cmd->name;
    group->balancing = balancing;
    *pbalancing = balancing;
    return NULL;
}

/* A number in `name`. NULL: good. */
static const char *set_number(cmd_parms *cmd, const char *name,
                              const char *value, int least, int most,
                              int *pnumber)
{
    const char *error = up_units_number(value, 0, pnumber);

    if (error == NULL && *pnumber >= least && *pnumber <= most) {
        return NULL;
    }
    return up_complaint_param(cmd, name,
                    apr_psprintf(cmd->pool, "wants a whole number from %d to "
                                 "%d", least, most), value);
}

static const char *set_bare(cmd_parms *cmd, up_method_e method, int argc,
                            char *const argv[])
{
    up_balancing_t *balancing;
    const char *error = begin(cmd, method, &balancing);

    return error == NULL && argc > 0
               ? up_complaint_word(cmd, "stands alone", argv[0]) : error;
}

const char *up_balancing_set_least_conn(cmd_parms *cmd, void *dconf, int argc,
                                        char *const argv[])
{
    (void)dconf;
    return set_bare(cmd, UP_METHOD_LEAST_CONN, argc, argv);
}

const char *up_balancing_set_ip_hash(cmd_parms *cmd, void *dconf, int argc,
                                     char *const argv[])
{
    (void)dconf;
    return set_bare(cmd, UP_METHOD_IP_HASH, argc, argv);
}

const char *up_balancing_set_hash(cmd_parms *cmd, void *dconf, int argc,
                                  char *const argv[])
{
    up_balancing_t *balancing = NULL;
    const char *error = begin(cmd, UP_METHOD_HASH, &balancing);
    const char *value;

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (argc < 1 || argc > 3) {
        return apr_psprintf(cmd->pool, "%s wants a key and, if need be, "
                            "\"consistent\" and balance=, as in "
                            "\"%%{REQUEST_URI} consistent balance=150\"",
                            cmd->cmd->name);
    }
    error = up_text_parse(cmd, argv[0], &balancing->key);
    if (error != NULL || argc == 1) {
        return error;
    }
    if (strcasecmp(argv[1], "consistent") != 0) {
        return up_complaint_word(cmd, "wants nothing but \"consistent\" after "
                                 "the key", argv[1]);
    }
    balancing->method = UP_METHOD_KETAMA;
    if (argc == 2) {
        return NULL;
    }
    value = up_units_param(argv[2], "balance=");
    if (value == NULL) {
        return up_complaint_word(cmd, "wants nothing but balance= after "
                                 "\"consistent\"", argv[2]);
    }
    return set_number(cmd, "balance=", value, 101, 100000,
                      &balancing->balance);
}

const char *up_balancing_set_random(cmd_parms *cmd, void *dconf, int argc,
                                    char *const argv[])
{
    up_balancing_t *balancing = NULL;
    const char *error = begin(cmd, UP_METHOD_RANDOM, &balancing);

    (void)dconf;
    if (error != NULL || argc == 0) {
        return error;
    }
    if (strcasecmp(argv[0], "two") != 0) {
        return up_complaint_word(cmd, "wants \"two\" or nothing", argv[0]);
    }
    balancing->two = 1;
    if (argc > 1 && strcasecmp(argv[1], "least_conn") != 0) {
        return up_complaint_word(cmd, "wants nothing but \"least_conn\" after "
                                 "\"two\"", argv[1]);
    }
    return argc > 2 ? up_complaint_word(cmd, "wants nothing more after "
                                        "\"least_conn\"", argv[2])
                    : NULL;
}

const char *up_balancing_set_least_time(cmd_parms *cmd, void *dconf, int argc,
                                        char *const argv[])
{
    up_balancing_t *balancing = NULL;
    const char *error = begin(cmd, UP_METHOD_LEAST_TIME, &balancing);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    balancing->last_byte = argc > 0 && strcasecmp(argv[0], "last_byte") == 0;
    if (argc == 0
        || (!balancing->last_byte && strcasecmp(argv[0], "header") != 0)) {
        return up_complaint_word(cmd, "wants header or last_byte",
                                 argc == 0 ? "" : argv[0]);
    }
    balancing->inflight = argc > 1 && strcasecmp(argv[1], "inflight") == 0;
    if (argc > 2 || (argc == 2 && !balancing->inflight)) {
        return up_complaint_word(cmd, "wants nothing but \"inflight\" after "
                                 "header or last_byte", argv[argc - 1]);
    }
    return NULL;
}

const char *up_balancing_set_peak_ewma(cmd_parms *cmd, void *dconf, int argc,
                                       char *const argv[])
{
    up_balancing_t *balancing = NULL;
    const char *error = begin(cmd, UP_METHOD_PEAK_EWMA, &balancing);
    const char *value;
    int i;

    (void)dconf;
    for (i = 0; i < argc && error == NULL; i++) {
        if ((value = up_units_param(argv[i], "decay=")) != NULL
            && balancing->decay == 0) {
            error = up_units_span(value, &balancing->decay);
            if (error != NULL) {
                error = up_complaint_param(cmd, "decay=", error, value);
            }
        }
        else if ((value = up_units_param(argv[i], "choices=")) != NULL
                 && balancing->choices == 0) {
            error = set_number(cmd, "choices=", value, 2, 100,
                               &balancing->choices);
        }
        else {
            error = up_complaint_word(cmd, "takes decay= and choices=, once "
                                      "each", argv[i]);
        }
    }
    if (error != NULL) {
        return error;
    }
    balancing->decay = balancing->decay ? balancing->decay : DEFAULT_DECAY;
    balancing->choices = balancing->choices ? balancing->choices
                                            : DEFAULT_CHOICES;
    return NULL;
}

static int knows_backups(const up_balancing_t *balancing)
{
    switch (balancing->method) {
    case UP_METHOD_IP_HASH:
    case UP_METHOD_HASH:
    case UP_METHOD_KETAMA:
    case UP_METHOD_RANDOM:
        return 0;
    default:
        return 1;
    }
}

const char *up_balancing_check(cmd_parms *cmd, const up_balancing_t *balancing,
                               const apr_array_header_t *servers)
{
    int i;

    if (balancing == NULL || knows_backups(balancing)) {
        return NULL;
    }
    for (i = 0; i < servers->nelts; i++) {
        const up_server_t *server = &APR_ARRAY_IDX(servers, i, up_server_t);

        if (server->backup) {
            cmd->err_directive = balancing->at;
            return apr_psprintf(cmd->pool, "%s knows no backup servers: leave "
                                "\"backup\" of UpstreamServer %s out, or take "
                                "another method", balancing->directive,
                                server->text);
        }
    }
    return NULL;
}
