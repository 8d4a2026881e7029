/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * X-Accel-Redirect: an answer that sends the request to another place of this
 * server. httpd's internal redirect does it, whose request may be served by
 * any handler, our own included.
 *
 *   /path?args  GET (or HEAD) of that path
 *   @name       the same request, body and all, below the location /@name:
 *               /a/b?c becomes /@name/a/b?c, so that
 *               <Location /@name/> UpstreamPass http://other/ </Location>
 *               sends it on unchanged
 *
 * The machine prepares it; who runs the handler runs it, for it may block.
 * Lives in the request's pool, which the redirected request shares.
 */

#ifndef UP_JUMP_H
#define UP_JUMP_H

#include "config/settings.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"
#include "status_parser.h"

/**
 * Takes over what the new response inherits of the answer: its Content-Type,
 * Content-Disposition, Cache-Control, Expires, Accept-Ranges, every
 * Set-Cookie, the charset and the rate that it asks for.
 * @param value of X-Accel-Redirect
 * @return OK: up_jump_pending now; else the status for the client, logged:
 *         404 for a place that cannot be, 500 when a body has gone by
 */
int up_jump_prepare(request_rec *r, const up_settings_t *settings,
                    const up_head_t *head, const char *value);

/** Is there one to be run? */
int up_jump_pending(const request_rec *r);

/**
 * Runs it, if the exchange ended with `status` OK and there is one. Blocks
 * as long as the other handler does.
 * @return the handler's result
 */
int up_jump_run(request_rec *r, int status);

/**
 * In front of all handlers: r may be what a jump has led to; then it gets
 * what it inherits.
 * @param ours the handler to come is our own
 */
void up_jump_arrive(request_rec *r, int ours);

/** The rate that a jump to r brings along, bytes a second; 0: none. */
apr_off_t up_jump_rate(const request_rec *r);

/** A jump to r that keeps the request as it is brings its body along. */
void up_jump_bring_body(const request_rec *r, up_reqbody_t *body);

/** register_hooks: makes the filter known. */
void up_jump_register(void);

#endif
