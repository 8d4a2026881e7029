/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamState: what is ordered of a group's servers, kept in a file over
 * restarts. Read when the server starts; written by the child that has
 * changed something, whole, by a rename, so that a reader never sees half.
 */

#ifndef UP_STATE_FILE_H
#define UP_STATE_FILE_H

#include "config/group.h"
#include "httpd.h"

/** post_config, when the zones are there: reads the files. One that cannot be
 * read is logged, and the servers are as configured. */
void up_statefile_load(apr_pool_t *p, server_rec *s);

/** Writes a group's file, if it has one. Blocks. */
apr_status_t up_statefile_save(request_rec *r, up_group_t *group);

#endif
