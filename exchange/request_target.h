/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The request target that the backend gets: byte for byte the client's, or
 * with the location's prefix replaced.
 */

#ifndef UP_REQUEST_TARGET_H
#define UP_REQUEST_TARGET_H

#include "httpd.h"
#include "mod_upstream_proxy.h"

/**
 * Remembers the URI as it is before anybody rewrites it, to know later
 * whether the client's own bytes still count.
 * @param decoded the decoded path httpd works with
 * @return baton to hand to up_target_of, in r->pool
 */
const void *up_target_remember(request_rec *r, const char *decoded);

/**
 * The target. Raw when the pass has no URI part and nobody rewrote, was
 * redirected internally or made a subrequest; raw prefix replaced textually
 * when it has one and the raw prefix matches (keeping %2F); else the decoded
 * path escaped (nginx's set of bytes) behind the URI part; with UpstreamURI
 * normalized always that, and an encoded slash is a slash.
 * Blanks, controls and NUL never get out, nor does a path that has both an
 * encoded slash and a ".." segment: what httpd checked and what the backend
 * makes of it could differ.
 * @param baton from up_target_remember, NULL: the raw bytes do not count
 * @return in r->pool; NULL with *pstatus = 400 and *perror the reason
 */
const char *up_target_of(request_rec *r, const up_settings_t *settings,
                         const up_pass_t *pass, const void *baton,
                         int *pstatus,
                         const char **perror);

/**
 * What the request asks for, path and arguments: the client's bytes as long
 * as they count, else the decoded path escaped again.
 */
const char *up_target_own(request_rec *r, const void *baton);

/**
 * A location whose name ends in a slash answers the slash-less URI with a 301
 * that keeps the arguments (nginx's proxy_pass).
 * @return the Location value, or NULL when r is no such request
 */
const char *up_target_slash_redirect(request_rec *r, const up_pass_t *pass);

#endif
