/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Keeps the last chunk of a client's body (RFC 9112 7.1) back until its
 * trailers have arrived: httpd's HTTP_IN, once it has seen that chunk, waits
 * for them in the thread that reads, whatever it was asked for.
 *
 * A request's input filter right below HTTP_IN. It reads on for as long as
 * that takes no waiting, and says APR_EAGAIN where HTTP_IN would block. Reads
 * that may block pass.
 */

#ifndef UP_LAST_CHUNK_H
#define UP_LAST_CHUNK_H

#include "httpd.h"

/** register_hooks: makes the filter known. */
void up_last_chunk_register(void);

/**
 * Puts the filter in place, if it is not: before anything of a body in chunks
 * is read. Trailers that are too long are APR_ENOSPC.
 */
void up_last_chunk_hold(request_rec *r);

#endif
