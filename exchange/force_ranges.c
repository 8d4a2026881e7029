/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Which part of a response a client gets. httpd's own BYTERANGE filter is no
 * help: it wants the whole body in one brigade.
 */

#include "exchange/force_ranges.h"

#include "apr_strings.h"
#include "http_protocol.h"

static void make_partial(request_rec *r, apr_off_t size,
                         const up_range_t *range)
{
    r->status = HTTP_PARTIAL_CONTENT;
    r->status_line = "206 Partial Content";
    apr_table_setn(r->headers_out, "Content-Range",
                   apr_psprintf(r->pool, "bytes %" APR_OFF_T_FMT
                                "-%" APR_OFF_T_FMT "/%" APR_OFF_T_FMT,
                                range->first,
                                range->first + range->length - 1, size));
    ap_set_content_length(r, range->length);
}

up_range_e up_ranges_force(request_rec *r, const up_settings_t *settings,
                           const up_framing_t *framing, up_range_t *range)
{
    apr_off_t size = framing->announced;
    up_range_e part;

    if (!settings->force_ranges || r->status != HTTP_OK || size < 0
        || apr_table_get(r->headers_out, "Content-Range")) {
        return UP_RANGE_ALL;
    }
    apr_table_setn(r->headers_out, "Accept-Ranges", "bytes");
    if (r->method_number != M_GET || r->header_only
        || framing->kind != UP_FRAMING_LENGTH) {
        return UP_RANGE_ALL;
    }
    part = up_range_read(apr_table_get(r->headers_in, "Range"), size, range);
    if (part != UP_RANGE_ALL
        && ap_condition_if_range(r, r->headers_out) == AP_CONDITION_NOMATCH) {
        return UP_RANGE_ALL;
    }
    if (part == UP_RANGE_PART) {
        make_partial(r, size, range);
    }
    else if (part == UP_RANGE_BAD) {
        apr_table_setn(r->err_headers_out, "Content-Range",
                       apr_psprintf(r->pool, "bytes */%" APR_OFF_T_FMT,
                                    size));
    }
    return part;
}
