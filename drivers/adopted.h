/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A client connection that a loop has taken over from the MPM, from the
 * first exchange that waits to the last byte: httpd 2.4 has no way to give
 * it back. What the MPM's process_socket does for its connections happens
 * here, without a thread:
 *
 *   PARKED     an exchange waits               [up_request_step]
 *   WRITING    the client takes its time       [up_clientnet_write]
 *   IDLE       kept alive, or half a head      [up_ahead_read]
 *   (process)  the next request                [ap_run_process_connection]
 *   ASIDE      something that may block runs on the side pool
 *   LINGERING  closing, the client may still send
 *   DOOMED     closed; the pool waits until nobody else looks into it
 *
 * The object comes from malloc and belongs to its loop; everything else to
 * the connection's pool, which is destroyed here. That tells the MPM.
 */

#ifndef UP_ADOPTED_H
#define UP_ADOPTED_H

#include "httpd.h"
#include "upstream_request.h"

typedef struct up_adopted_t up_adopted_t;

/** What has been made of this connection, or NULL. */
up_adopted_t *up_adopted_of(conn_rec *c);

/**
 * In the handler of a connection of the MPM: the exchange is to wait in a
 * loop. The handler returns SUSPENDED; up_adopted_enter follows.
 * @return NULL: no memory
 */
up_adopted_t *up_adopted_make(request_rec *r, up_request_t *ur);

/** suspend_connection hook, last: hands a connection just made to a loop. */
void up_adopted_enter(conn_rec *c);

/** In the handler of an adopted connection: the exchange waits. The handler
 * returns SUSPENDED. */
void up_adopted_park(up_adopted_t *adopted, request_rec *r, up_request_t *ur);

/** Does a loop's thread run this request's hooks and handler now? Not asked
 * of subrequests and what internal redirects lead to: no. */
int up_adopted_on_loop(const request_rec *r);

/**
 * In front of all handlers: this one must not be run on the loop.
 * @return SUSPENDED: it will be run on the side pool; DECLINED: go on, there
 *         is no loop here
 */
int up_adopted_divert(request_rec *r);

/**
 * quick_handler, first: a request whose like has blocked the loop of late is
 * processed on the side pool from its first hook on. Results as above.
 */
int up_adopted_divert_slow(request_rec *r);

/**
 * The exchange has ended with `status`, and what comes now may block: a
 * request for a local ErrorDocument, or for the place that the answer sends it
 * to (exchange/jump.h). Not on the loop.
 * @return SUSPENDED; or `status`: go on
 */
int up_adopted_divert_end(request_rec *r, int status);

/**
 * This request, or the one that led to it, is refused before its body was
 * read, and httpd would read that first. On a loop, when it has not arrived,
 * the connection ends with the answer instead.
 */
void up_adopted_refuse_body(request_rec *r);

/** The thread that runs this hook has left all connections it worked on
 * before. */
void up_adopted_thread_moved_on(void);

/** Exchanges that wait in this child. */
int up_adopted_parked(void);

/** Connections that this child's loops have. */
int up_adopted_count(void);

#endif
