/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * nginx's $variables in a value, where they would be sent as they stand: an
 * expression of httpd has to be written.
 *
 * Only while the configuration is read.
 */

#ifndef UP_DOLLAR_H
#define UP_DOLLAR_H

#include "apr_pools.h"

/**
 * The first of nginx's variables in `text`, $name or ${name}, in a sentence
 * that names the expression for it. A dollar sign that no variable of nginx
 * follows is just that.
 * @return "$host is nginx's: write %{HTTP_HOST}", NULL: there is none
 */
const char *up_dollar_hint(apr_pool_t *p, const char *text);

#endif
