/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the UpstreamSSL directives mean for one request, and what is said to a
 * server before everything else (UpstreamProxyProtocol).
 */

#ifndef UP_TLS_PLAN_H
#define UP_TLS_PLAN_H

#include "config/pass.h"
#include "config/settings.h"
#include "httpd.h"
#include "transport/backend_tls.h"

/**
 * For a pass that says https://. In r->pool.
 * @return NULL: an expression or a certificate failed, logged; answer 500
 */
const up_tlsplan_t *up_tlsplan_of(request_rec *r,
                                  const up_settings_t *settings,
                                  const up_pass_t *pass);

/**
 * The head of the PROXY protocol for this request's client. In r->pool.
 * @param version 1 or 2
 * @param plen gets its length
 */
const char *up_proxyline_of(request_rec *r, int version, apr_size_t *plen);

#endif
