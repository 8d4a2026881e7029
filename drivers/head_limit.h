/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * How long a request head may take to arrive on a connection that a loop has:
 * mod_reqtimeout's RequestReadTimeout, which itself only counts while httpd
 * reads.
 *
 * Read once at start; any thread afterwards.
 */

#ifndef UP_HEAD_LIMIT_H
#define UP_HEAD_LIMIT_H

#include "httpd.h"

/** `header=20-40,MinRate=500`: 20 s, one more for every 500 bytes, 40 s. */
typedef struct up_headlimit_t {
    apr_interval_time_t first;
    apr_interval_time_t most; /* 0: it may grow for ever */
    apr_off_t rate;           /* bytes a second, 0: it does not grow */
} up_headlimit_t;

/** post_config, in the pool of the configuration. */
void up_headlimit_read(apr_pool_t *pconf, server_rec *main_server);

/**
 * The time from the first byte of a head to its last.
 * @param s     the connection's server, as for mod_reqtimeout
 * @param bytes of the head that are there
 * @return 0: without mod_reqtimeout, or it has no limit
 */
apr_interval_time_t up_headlimit_of(const server_rec *s, apr_off_t bytes);

#endif
