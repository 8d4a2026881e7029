/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamPass with expressions: its value for one request, read with the
 * grammar of what is written in the configuration.
 */

#ifndef UP_PASS_VALUE_H
#define UP_PASS_VALUE_H

#include "httpd.h"
#include "mod_upstream_proxy.h"

/**
 * The pass itself when it has no expressions; else one in r->pool, evaluated.
 * What came out of the decoded path is escaped again, and in all of the URI
 * part everything that could end a request line or confuse a backend; in the
 * authority such bytes are refused. The group is one of the configuration, or
 * NULL: there is none of this name.
 * @return NULL with *pstatus 400 or 500 and *perror the reason
 */
const up_pass_t *up_passvalue_of(request_rec *r, const up_pass_t *pass,
                                 int *pstatus, const char **perror);

#endif
