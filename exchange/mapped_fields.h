/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Fields of the client's request that mean something else behind the proxy:
 * Destination (RFC 4918 10.3) and the entity tags of conditions.
 */

#ifndef UP_MAPPED_FIELDS_H
#define UP_MAPPED_FIELDS_H

#include "config/settings.h"
#include "httpd.h"

/**
 * The value to send for the client's: its own, or one in r->pool.
 * @param host the Host that is sent
 */
const char *up_mapped_value(request_rec *r, const up_settings_t *settings,
                            const up_pass_t *pass, const char *host,
                            const char *name, const char *value);

#endif
