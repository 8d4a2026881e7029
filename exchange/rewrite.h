/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamRedirect and UpstreamCookie*: the value that a response field has
 * on this side.
 */

#ifndef UP_REWRITE_H
#define UP_REWRITE_H

#include "config/settings.h"
#include "httpd.h"
#include "status_parser.h"

/**
 * The value to relay: the backend's own, or one in r->pool when a rule
 * applies to it. Rules are tried in their order, the first that matches
 * counts; one whose expression fails (logged) leaves the value as it is. No
 * control character comes in that was not in the value or in a literal.
 */
const char *up_rewrite_value(request_rec *r, const up_settings_t *settings,
                             const up_field_t *field);

#endif
