/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamForceRanges: a client's Range served from a whole response.
 */

#ifndef UP_FORCE_RANGES_H
#define UP_FORCE_RANGES_H

#include "config/settings.h"
#include "exchange/framing.h"
#include "exchange/range.h"
#include "httpd.h"

/**
 * After up_reshead_apply. A 200 whose length is known gets our
 * Accept-Ranges; a GET for one range of it becomes a 206, unless If-Range
 * (RFC 9110 13.1.5) is not met. Everything else stays as it is.
 * @param range the bytes to pass on, set for UP_RANGE_PART
 * @return for UP_RANGE_BAD answer 416; its Content-Range has been set
 */
up_range_e up_ranges_force(request_rec *r, const up_settings_t *settings,
                           const up_framing_t *framing, up_range_t *range);

#endif
