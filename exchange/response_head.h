/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A parsed head becomes the client's: r->status, r->headers_out. Hop-by-hop
 * and Connection-nominated fields go nowhere (RFC 9110 7.6.1); of fields that
 * may stand once the first counts, as in nginx.
 */

#ifndef UP_RESPONSE_HEAD_H
#define UP_RESPONSE_HEAD_H

#include "config/settings.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"
#include "exchange/framing.h"
#include "status_parser.h"

/** What the fields say about relaying. */
typedef struct up_relay_t {
    apr_interval_time_t keep_alive; /* Keep-Alive: timeout=N, -1: unsaid */
} up_relay_t;

/**
 * Sets status, status line, content type and headers of `r` from `head`.
 * Everything that an earlier phase put on r->headers_out is kept only where
 * the backend does not send the same field. Content-Length is set from the
 * framing; nothing is invented (no Content-Type, no 304).
 */
void up_reshead_apply(request_rec *r, const up_settings_t *settings,
                      const up_head_t *head, const up_framing_t *framing,
                      up_relay_t *relay);

/**
 * What an error page that takes the answer's place must not lose goes to
 * r->err_headers_out: WWW-Authenticate, Set-Cookie and Retry-After, as far as
 * up_reshead_apply would relay them.
 */
void up_reshead_keep(request_rec *r, const up_settings_t *settings,
                     const up_head_t *head);

/** Is it one that is not relayed (UpstreamHideHeader, or by default)? */
int up_reshead_hides(const request_rec *r, const up_settings_t *settings,
                     const up_field_t *field);

/**
 * What the response to an X-Accel-Redirect inherits goes to `fields`:
 * Content-Type, Content-Disposition, Cache-Control, Expires, Accept-Ranges;
 * and every Set-Cookie to r->err_headers_out. As far as up_reshead_apply would
 * relay them.
 */
void up_reshead_carry(request_rec *r, const up_settings_t *settings,
                      const up_head_t *head, apr_table_t *fields);

/** What up_reshead_apply would relay of an interim head, copied to `fields`. */
void up_reshead_hints(request_rec *r, const up_settings_t *settings,
                      const up_head_t *head, apr_table_t *fields);

/** The response's Content-Type, byte for byte. */
void up_reshead_set_type(request_rec *r, const char *value);

/** httpd cuts no ranges out of this response. */
void up_reshead_no_ranges(request_rec *r);

/**
 * Is field `index` a second one of a kind of which nginx keeps the first
 * (Content-Type, Date, Location ...)?
 */
int up_reshead_repeats(const up_head_t *head, int index);

#endif
