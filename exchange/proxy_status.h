/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The Proxy-Status field (RFC 9209): what this proxy has to say of the answer,
 * behind what proxies further back have said.
 */

#ifndef UP_PROXY_STATUS_H
#define UP_PROXY_STATUS_H

#include "config/settings.h"
#include "exchange/trail.h"
#include "httpd.h"

/**
 * Adds the member for `tried` to a field that `headers` may have; nothing
 * while UpstreamProxyStatus is off. Which server it was is not told: clients
 * need not know the network (RFC 9209 4).
 * @param tried NULL: no server was chosen
 */
void up_proxystatus_add(request_rec *r, const up_settings_t *settings,
                        const up_try_t *tried, apr_table_t *headers);

#endif
