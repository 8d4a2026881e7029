/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The driver that waits in the calling thread: for MPMs and connections that
 * cannot do better. Never wrong, one thread an exchange.
 */

#ifndef UP_DRIVE_SYNC_H
#define UP_DRIVE_SYNC_H

#include "upstream_request.h"

/** Runs the exchange to its end; returns the handler's result. A place of
 * this server that the answer sends the request to is asked here. */
int up_drive_sync(up_request_t *ur, request_rec *r);

/**
 * Runs it until it is done (UP_DONE) or would have to wait beyond the moment
 * `until` (UP_WAIT).
 */
up_verdict_e up_drive_sync_until(up_request_t *ur, conn_rec *c,
                                 apr_time_t until);

/**
 * child_stopping: exchanges go on for UpstreamShutdownTimeout, or not at all:
 * when it is not graceful the MPM has closed the clients' sockets.
 */
void up_drive_sync_stop(int graceful);

#endif
