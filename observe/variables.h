/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What expressions and log formats can ask about a proxied request:
 * %{UPSTREAM_ADDR} and its kin, %{upstream_http:name},
 * %{upstream_cookie:name}; values as nginx's $upstream_* have them.
 *
 * Known to the expressions of every module. Read off the request's trail, or
 * off that of the request it was redirected from.
 */

#ifndef UP_VARIABLES_H
#define UP_VARIABLES_H

#include "httpd.h"
#include "mod_upstream_proxy.h"

/** Hooks into the expression parser, the configuration and the log phase. */
void up_variables_register(apr_pool_t *p);

/**
 * Sets the UPSTREAM_* values in r->subprocess_env, for LogFormat
 * "%{UPSTREAM_ADDR}e". Runs by itself in front of the loggers when the
 * configuration names such a value anywhere.
 */
void up_variables_publish(request_rec *r);

#endif
