/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Setters of the directives that rewrite redirects and cookies:
 * rows_rewrite.h. Each fills a list of up_rule_t.
 *
 * Only while the configuration is read.
 */

#ifndef UP_SETTERS_REWRITE_H
#define UP_SETTERS_REWRITE_H

#include "config/setters.h"

/** UpstreamRedirect: default, off, or pattern and replacement. */
const char *up_setters_redirect(cmd_parms *cmd, void *dconf,
                                const char *args);

/** UpstreamCookieDomain: off, or pattern and replacement. */
const char *up_setters_domain(cmd_parms *cmd, void *dconf, const char *args);

/** UpstreamCookiePath: the same. */
const char *up_setters_cookie_path(cmd_parms *cmd, void *dconf,
                                   const char *args);

/** UpstreamCookieFlags: off, or a cookie's name and up to three flags. */
const char *up_setters_flags(cmd_parms *cmd, void *dconf, const char *args);

#endif
