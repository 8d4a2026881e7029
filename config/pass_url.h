/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The URL of UpstreamPass: http://host[:port][/uri], http://group[/uri],
 * http://unix:/path[:/uri]. The same grammar for what is written and for what
 * an expression gives.
 */

#ifndef UP_PASS_URL_H
#define UP_PASS_URL_H

#include "apr_pools.h"
#include "config/pass.h"

/**
 * Reads a URL into the fields of `pass` from url to port_value, in pool p.
 * @param pword the part that is wrong, in url
 * @return NULL, or what is wrong with it: a sentence that begins with a verb
 */
const char *up_passurl_parse(apr_pool_t *p, const char *url, up_pass_t *pass,
                             const char **pword);

/** The length of the scheme, http:// or https://. 0: it is neither */
apr_size_t up_passurl_scheme(const char *url);

/** The length of scheme and authority, the rest is the URI part. 0: no URL */
apr_size_t up_passurl_prefix(const char *url);

/**
 * Scheme and authority of a URL with an expression, when that begins in the
 * URI part. NULL: it may be a part of the authority
 */
const char *up_passurl_fixed(apr_pool_t *p, const char *url);

#endif
