/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamSticky's texts: what a request says about its server or session,
 * and the cookie that tells the client.
 */

#ifndef UP_STICK_H
#define UP_STICK_H

#include "config/sticky.h"
#include "httpd.h"

/**
 * The server's id that the request asks for (cookie, route), or the name of
 * its session (learn). NULL: none. In r->pool or the request's own.
 */
const char *up_stick_asked(request_rec *r, const up_sticky_t *sticky);

/** The session that the answer begins. NULL: none. */
const char *up_stick_created(request_rec *r, const up_sticky_t *sticky);

/** The value of a Set-Cookie that names the server `id`. */
const char *up_stick_cookie(request_rec *r, const up_sticky_t *sticky,
                            const char *id, apr_time_t now);

#endif
