/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamResolver: who is asked for the addresses of names, and how long an
 * answer counts. At server, section and group level.
 *
 * In the configuration's pool, read-only after start, any thread.
 */

#ifndef UP_RESOLVER_H
#define UP_RESOLVER_H

#include "config/setters.h"
#include "httpd.h"
#include "http_config.h"

/** What rules without `valid=`: an answer's own time, at least this. */
#define UP_RESOLVER_FLOOR apr_time_from_sec(5)

typedef struct up_resolver_t {
    int off;             /* names are looked up at the start alone */
    const char *servers; /* "1.1.1.1:53,[::1]:53"; NULL: the system's */
    apr_interval_time_t valid; /* 0: as long as the answer says */
    int no_ipv4;
    int no_ipv6;
} up_resolver_t;

/** The system's settings. */
extern const up_resolver_t up_resolver_system;

/** The setters: of a group inside <Upstream>, else of the settings. */
const char *up_resolver_set(cmd_parms *cmd, void *dconf, int argc,
                            char *const argv[]);
const char *up_resolver_set_timeout(cmd_parms *cmd, void *dconf,
                                    const char *time);

/** May these directives stand inside <Upstream> although they are settings? */
int up_resolver_is_directive(const char *name);

/** For how long an answer counts whose own time is `ttl` seconds. */
apr_interval_time_t up_resolver_validity(const up_resolver_t *resolver,
                                         int ttl);

#endif
