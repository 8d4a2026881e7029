/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Runs the suites of the pure helpers.
 */

#include "t/unit/up_unit.h"

int main(void)
{
    static Suite *(*const suites[])(void) = {
        unit_status_parser, unit_framing, unit_body_decoder, unit_retry,
        unit_error_type,
        unit_trail, unit_dns_ttl, unit_units, unit_uri_map, unit_fields,
        unit_wheel,
        unit_pace, unit_range, unit_codes, unit_accel, unit_upgrade,
        unit_wsframes, unit_cookies, unit_redirects, unit_etags,
        NULL
    };

    return unit_run(suites);
}
