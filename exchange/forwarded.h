/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamForwarded: what a backend is told of the client and of how it has
 * reached this server.
 */

#ifndef UP_FORWARDED_H
#define UP_FORWARDED_H

#include "config/settings.h"
#include "httpd.h"

#define UP_FORWARDED_MOST 5 /* fields */

/** A field to send. */
typedef struct up_forwarded_t {
    const char *name;
    const char *value; /* in r->pool */
} up_forwarded_t;

/**
 * The fields to send, in r->pool. The address is the one that mod_remoteip
 * has found; where it has found one in the fields of the peer, that peer is
 * trusted: it is named behind the client, and what it says in
 * X-Forwarded-Host, -Proto and -Port counts. Nobody else's does.
 * @return how many, at most UP_FORWARDED_MOST
 */
int up_forwarded_make(request_rec *r, const up_settings_t *settings,
                      up_forwarded_t *fields);

/**
 * Is it one of those fields, whichever the settings ask for? Then the
 * client's is not sent. So is X_Forwarded_For: for a CGI program it is the
 * same.
 */
int up_forwarded_is(const char *name);

#endif
