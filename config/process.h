/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What is configured once for the whole server: the event loops of a child.
 *
 * Set while the configuration is read, read-only afterwards.
 */

#ifndef UP_PROCESS_H
#define UP_PROCESS_H

#include "apr_time.h"
#include "httpd.h"
#include "http_config.h"

typedef struct up_process_t {
    int loops;         /* UpstreamLoops: event loops a child; 0: one a
                          processor, at most four */
    int max_suspended; /* UpstreamMaxSuspended: exchanges of a child that may
                          wait without a thread; 0: no limit */
    apr_interval_time_t async_delay; /* UpstreamAsyncDelay: how long the first
                                        request of a connection keeps its
                                        thread */
    apr_interval_time_t shutdown_timeout; /* UpstreamShutdownTimeout: what is
                                             under way at a graceful stop may
                                             take this long; 0: no limit */
} up_process_t;

const up_process_t *up_process(void);

/** pre_config: back to the defaults. */
void up_process_reset(void);

extern const command_rec up_process_commands[];

#endif
