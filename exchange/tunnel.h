/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Moves bytes both ways between client and backend after a 101, as they are.
 *
 * Each direction holds at most UpstreamBufferSize bytes (or 16k: a larger one
 * is no use), and memory only for what the other side has not taken yet: while
 * that lasts it is not read. The
 * end of one direction is passed on and leaves the other one alone, where the
 * client's side can tell the two apart (not over TLS and HTTP/2: there the
 * backend's end is the tunnel's).
 *
 * In the request's pool, one thread. Never blocks, but for writing to an
 * HTTP/2 stream.
 */

#ifndef UP_TUNNEL_H
#define UP_TUNNEL_H

#include "config/settings.h"
#include "exchange/wire.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"
#include "status_parser.h"
#include "transport/client.h"
#include "transport/want.h"

/** A tunnel over what `leg` and `client` have. */
up_tunnel_t *up_tunnel_make(request_rec *r, const up_settings_t *settings,
                            up_leg_t *leg, up_client_t *client);

/**
 * Sends the 101 `head` with its end-to-end fields, Upgrade and Connection, and
 * with the fields of `more`.
 * @return APR_SUCCESS, else the client is gone
 */
apr_status_t up_tunnel_open(up_tunnel_t *tunnel, const up_head_t *head,
                            const apr_table_t *more);

/**
 * Moves what can be moved.
 * @param half the request has not been sent wholly yet: nothing more of the
 *             client is read here
 * @param want what to wait for is added when APR_EAGAIN is returned
 * @return APR_SUCCESS both directions have ended; APR_EAGAIN
 */
apr_status_t up_tunnel_step(up_tunnel_t *tunnel, int half, up_want_t *want);

/** The client's socket has signalled an end: up_request_client_end. */
void up_tunnel_client_end(up_tunnel_t *tunnel, int hangup);

/** Has no byte moved for UpstreamTunnelTimeout? */
int up_tunnel_idle(const up_tunnel_t *tunnel, apr_time_t now);

/**
 * The tunnel is about to be closed from here: where it is a WebSocket and
 * between two frames, both sides get a Close that says 1001.
 */
void up_tunnel_farewell(up_tunnel_t *tunnel);

/** Who ended it, for the log. */
const char *up_tunnel_why(const up_tunnel_t *tunnel);

/** Bytes that came from the client, and that were passed to it. */
apr_off_t up_tunnel_from_client(const up_tunnel_t *tunnel);
apr_off_t up_tunnel_to_client(const up_tunnel_t *tunnel);

#endif
