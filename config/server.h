/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamServer: an address and its parameters, as configured.
 *
 * To add a parameter: a field in up_server_t (config/group.h), its default in
 * up_server_init and a row in server.c.
 */

#ifndef UP_SERVER_H
#define UP_SERVER_H

#include "config/group.h"

#define UP_ROUTE_LEN 32 /* bytes of a route= at most */

/** The defaults; `text` is kept. */
void up_server_init(up_server_t *server, const char *text);

/** The setter of UpstreamServer. */
const char *up_server_add(cmd_parms *cmd, void *dconf, int argc,
                          char *const argv[]);

#endif
