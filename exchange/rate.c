/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* From a text to bytes a second; see rate.h. */

#include "exchange/rate.h"

#include "config/log.h"
#include "config/units.h"
#include "http_core.h"

apr_off_t up_rate_of(request_rec *r, const up_text_t *text)
{
    const char *value = text ? up_text_value(r, text) : NULL;
    apr_off_t rate = 0;

    if (value && *value && up_units_size(value, 1, &rate) != NULL) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0640)
                      "UpstreamLimitRate: \"%s\" gives \"%s\", which is no "
                      "size such as 500k: the response is not limited",
                      text->source, ap_escape_logitem(r->pool, value));
        return 0;
    }
    return rate;
}
