/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What a group does when its servers are busy or fail: setters of directives
 * inside <Upstream>.
 */

#ifndef UP_LIMITS_H
#define UP_LIMITS_H

#include "httpd.h"
#include "http_config.h"

const char *up_limits_set_queue(cmd_parms *cmd, void *dconf, int argc,
                                char *const argv[]);

#endif
