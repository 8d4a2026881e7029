/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Trailers on their way through (UpstreamPassTrailers): which of them go on,
 * and how they get into a message. httpd reads those of a request into
 * r->trailers_in. Those of a response go to r->trailers_out, from where
 * mod_http2 sends them; for HTTP/1.1 its chunk filter sends none, so that a
 * filter of ours behind it does.
 */

#ifndef UP_TRAILERS_H
#define UP_TRAILERS_H

#include "config/settings.h"
#include "httpd.h"
#include "status_parser.h"

/** register_hooks: makes the filter known. */
void up_trailers_register(void);

/** Can this client get trailers, when the response is sent in chunks? */
int up_trailers_wanted(const request_rec *r, const up_settings_t *settings);

/** Before the head goes out: the client of HTTP/1.1 may get trailers. */
void up_trailers_expect(request_rec *r);

/**
 * Puts those of a response that go on into r->trailers_out, before its end is
 * passed: hidden fields do not, nor what up_field_fits_trailer refuses.
 */
void up_trailers_respond(request_rec *r, const up_settings_t *settings,
                         const up_head_t *trailers);

/**
 * Those of the request, once its body has been read to its end, as lines with
 * CR LF; without what UpstreamSetHeader sets: a backend may take one for the
 * other.
 * @return in r->pool; "" when there are none, or none go on
 */
const char *up_trailers_of_request(request_rec *r,
                                   const up_settings_t *settings);

#endif
