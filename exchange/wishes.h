/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What an answer asks of the proxy itself (X-Accel-* fields, its media
 * type), as far as UpstreamIgnoreHeaders lets it.
 */

#ifndef UP_WISHES_H
#define UP_WISHES_H

#include "config/settings.h"
#include "httpd.h"
#include "status_parser.h"

/** Texts belong to the head, or are NULL. */
typedef struct up_wishes_t {
    int buffering;        /* with all heeded: 1 buffered, 0 unbuffered */
    apr_off_t rate;       /* bytes a second to the client, 0: no limit */
    const char *redirect; /* X-Accel-Redirect */
    const char *charset;  /* X-Accel-Charset */
    const char *expires;  /* X-Accel-Expires */
} up_wishes_t;

/** Reads them. Values that cannot be read are as if they were not there. */
void up_wishes_read(const up_settings_t *settings, const up_head_t *head,
                    up_wishes_t *wishes);

/**
 * Grants those that change the response's own fields, after
 * up_reshead_apply: the charset of its Content-Type; for a mod_cache that
 * stands by to store it, how long it may do so: `s-maxage`, or the environment
 * variable no-cache.
 */
void up_wishes_grant(request_rec *r, const up_wishes_t *wishes);

#endif
