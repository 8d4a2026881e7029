/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Reading the client's socket no more often than it has something to say.
 *
 * A connection input filter right above the core's, on connections whose
 * readiness an edge-triggered loop reports. httpd's core asks its socket once
 * more after each read, and once after each request, for a pipelined one. Who
 * is told of every edge knows that without asking: a socket that was read
 * empty stays empty until its next edge.
 */

#ifndef UP_SOURCE_H
#define UP_SOURCE_H

#include "httpd.h"

typedef struct up_source_t up_source_t;

/** register_hooks: makes the filter known. */
void up_source_register(void);

/** Puts the filter in place, below all others that there are by now. It lives
 * as long as the connection; one thread at a time. */
up_source_t *up_source_make(conn_rec *c);

/**
 * An edge: something can be read, with `ended` or an end or error. To be
 * called for each, before anything is read that may have caused it.
 */
void up_source_stirred(up_source_t *source, int ended);

/**
 * From now on the connection is read by a thread that may block and waits for
 * the socket by itself: edges come when it is done, so each read asks the
 * socket. With 0 that is over.
 */
void up_source_apart(up_source_t *source, int apart);

#endif
