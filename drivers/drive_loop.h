/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The driver whose waiting exchanges hold no thread: they move to an event
 * loop, together with the client's connection. On the event MPM.
 *
 * Not for HTTP/2 streams, subrequests, what internal redirects lead to,
 * connections that may be upgraded to HTTP/2, and UpstreamAsync off: those
 * are driven by drive_sync.
 */

#ifndef UP_DRIVE_LOOP_H
#define UP_DRIVE_LOOP_H

#include "httpd.h"
#include "upstream_request.h"

/** child_init: starts the loops where the MPM allows, and says where not. */
apr_status_t up_drive_loop_child_init(apr_pool_t *p, server_rec *s);

/** May this request's exchange wait in a loop? */
int up_drive_loop_fits(request_rec *r);

/**
 * In front of all handlers: must this request leave the loop that runs it?
 * @param ours its handler is this module's
 * @return SUSPENDED: it does; DECLINED: go on
 */
int up_drive_loop_divert(request_rec *r, int ours);

/**
 * Runs the exchange until it is done or has to wait for long.
 * @return the handler's result; SUSPENDED when a loop goes on with it
 */
int up_drive_loop(up_request_t *ur, request_rec *r);

/** register_hooks: suspend_connection and the rest that only this needs. */
void up_drive_loop_register(void);

#endif
