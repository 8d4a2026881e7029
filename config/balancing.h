/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * How a group chooses its servers: setters of the directives inside
 * <Upstream> that name a balancing method.
 *
 * In the configuration's pool, read-only after start.
 */

#ifndef UP_BALANCING_H
#define UP_BALANCING_H

#include "apr_time.h"
#include "config/expressions.h"
#include "httpd.h"
#include "http_config.h"

typedef enum up_method_e {
    UP_METHOD_ROUND_ROBIN,
    UP_METHOD_LEAST_CONN,
    UP_METHOD_IP_HASH,
    UP_METHOD_HASH,
    UP_METHOD_KETAMA, /* UpstreamHash ... consistent */
    UP_METHOD_RANDOM,
    UP_METHOD_LEAST_TIME,
    UP_METHOD_PEAK_EWMA
} up_method_e;

typedef struct up_balancing_t {
    up_method_e method;
    const ap_directive_t *at; /* which set it; only while it is read */
    const char *where;        /* file:line of that */
    const char *directive;    /* its name */
    const up_text_t *key;     /* UpstreamHash */
    int balance;              /* per cent of the mean load, 0: no limit */
    int two;                  /* UpstreamRandom */
    int last_byte;            /* UpstreamLeastTime, else header */
    int inflight;             /* the same */
    apr_interval_time_t decay; /* UpstreamPeakEWMA */
    int choices;               /* the same */
} up_balancing_t;

const char *up_balancing_set_least_conn(cmd_parms *cmd, void *dconf, int argc,
                                        char *const argv[]);
const char *up_balancing_set_ip_hash(cmd_parms *cmd, void *dconf, int argc,
                                     char *const argv[]);
const char *up_balancing_set_hash(cmd_parms *cmd, void *dconf, int argc,
                                  char *const argv[]);
const char *up_balancing_set_random(cmd_parms *cmd, void *dconf, int argc,
                                    char *const argv[]);
const char *up_balancing_set_least_time(cmd_parms *cmd, void *dconf, int argc,
                                        char *const argv[]);
const char *up_balancing_set_peak_ewma(cmd_parms *cmd, void *dconf, int argc,
                                       char *const argv[]);

/**
 * At the end of the section: a method that hashes or draws lots knows no
 * backups, wherever the server stands.
 * @return what is wrong, about the directive that cmd->err_directive is now
 */
const char *up_balancing_check(cmd_parms *cmd, const up_balancing_t *balancing,
                               const apr_array_header_t *servers);

#endif
