/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The machine: one proxied exchange, from the client's body to the last byte
 * of the response.
 *
 * Lives in the request's pool; stepped by one thread at a time. A step never
 * blocks (except towards an HTTP/2 stream, see client.h). Drivers wait for
 * what up_request_want says and never look at anything else.
 */

#ifndef UPSTREAM_REQUEST_H
#define UPSTREAM_REQUEST_H

#include "httpd.h"
#include "mod_upstream_proxy.h"
#include "peers/counts.h"
#include "transport/want.h"

typedef enum up_verdict_e {
    UP_AGAIN, /* step again at once */
    UP_WAIT,  /* wait for up_request_want first */
    UP_DONE   /* take the result; everything is released */
} up_verdict_e;

/** register_hooks: what other modules may ask for. */
void up_request_register(void);

/**
 * Makes the machine for a request whose pass is `pass`.
 * @return NULL when the request is answered without a backend: *pstatus is
 *         the handler's result then
 */
up_request_t *up_request_make(request_rec *r, const up_pass_t *pass,
                              int *pstatus);

up_verdict_e up_request_step(up_request_t *ur);

/** After UP_WAIT. */
const up_want_t *up_request_want(const up_request_t *ur);

/** want->until has passed. Step again afterwards. */
void up_request_expire(up_request_t *ur);

/**
 * The client's socket signalled the end of its stream (hangup 0) or an error
 * (1). Step again afterwards.
 */
void up_request_client_end(up_request_t *ur, int hangup);

/**
 * `leaving` is called whenever the exchange is about to part with its backend
 * connection, while the socket is still open.
 */
void up_request_on_leave(up_request_t *ur, void (*leaving)(void *baton),
                         void *baton);

/** Gives the exchange up, whatever it is at. Step again afterwards. */
void up_request_abort(up_request_t *ur);

/** Sockets to poll: -1 when there is none. */
int up_request_backend_fd(const up_request_t *ur);
/** The connection behind it, NULL: none held. */
up_conn_t *up_request_conn(const up_request_t *ur);
int up_request_client_fd(const up_request_t *ur);

/** The counts of its group, for what drivers do with it. */
up_counts_t *up_request_counts(const up_request_t *ur);

/** Is the end of the client's stream of interest? */
int up_request_watches_client(const up_request_t *ur);

/** Is it a tunnel by now? Its steps run no filter of the request's, nor
 * anything else that may block. */
int up_request_is_tunnel(const up_request_t *ur);

/**
 * The handler's result, after UP_DONE. A client that left before it got
 * anything is noted on the request as nginx logs it, with 499.
 */
int up_request_result(up_request_t *ur);

#endif
