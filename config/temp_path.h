/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The directories of UpstreamTempPath: can those who will write there?
 *
 * The server starts as root, which may write anywhere; its children may not.
 */

#ifndef UP_TEMP_PATH_H
#define UP_TEMP_PATH_H

#include "httpd.h"
#include "http_config.h"

/** While the configuration is read: remembers an absolute path. */
void up_temppath_note(apr_pool_t *pconf, const char *path);

/**
 * post_config: warns, once a directory, when the configured User cannot make
 * files in it.
 * @param usual what counts where no UpstreamTempPath is, NULL: nobody asks
 */
void up_temppath_post_config(server_rec *s, const char *usual);

#endif
