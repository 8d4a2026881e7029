/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Reads the next request's head before httpd does: httpd would wait for the
 * rest of a half-received head in the thread that reads it.
 *
 * A connection input filter on top of all others (mod_ssl's too) that keeps
 * what was read ahead and serves it first. Lives as long as the connection;
 * one thread at a time.
 */

#ifndef UP_AHEAD_H
#define UP_AHEAD_H

#include "httpd.h"

typedef struct up_ahead_t up_ahead_t;

/** register_hooks: makes the filter known. */
void up_ahead_register(void);

/** Puts the filter in place. */
up_ahead_t *up_ahead_make(conn_rec *c);

/**
 * Reads what has arrived.
 * @return APR_SUCCESS a whole head is there, or so much of one that httpd
 *         should judge it, or its end; APR_EAGAIN not yet; APR_EOF and others:
 *         the connection is at its end
 */
apr_status_t up_ahead_read(up_ahead_t *ahead);

/** Is the whole head there? Otherwise httpd may have to wait for the rest. */
int up_ahead_whole(const up_ahead_t *ahead);

/** Have so many bytes arrived behind what httpd has read? */
int up_ahead_holds(up_ahead_t *ahead, apr_off_t bytes);

/** Bytes that have arrived behind what httpd has read. */
apr_off_t up_ahead_bytes(const up_ahead_t *ahead);

/** Has any byte of the next request arrived? */
int up_ahead_started(const up_ahead_t *ahead);

#endif
