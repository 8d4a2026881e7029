/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A rate as a directive or a header field spells it, for one response.
 */

#ifndef UP_RATE_H
#define UP_RATE_H

#include "config/expressions.h"
#include "httpd.h"

/**
 * Evaluates UpstreamLimitRate.
 * @return bytes a second; 0: no limit, also for a value that is none, which
 *         is logged
 */
apr_off_t up_rate_of(request_rec *r, const up_text_t *text);

#endif
