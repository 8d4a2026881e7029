/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The unit tests of the pure helpers: one suite a source.
 *
 * To add one: unit_<source>.c with `Suite *unit_<source>(void)`, a line here,
 * one in up_unit.c and the source in unit.mk.
 */

#ifndef UP_UNIT_H
#define UP_UNIT_H

#include "t/unit/up_case.h"

/** A literal that may hold NULs: text and length. */
#define LIT(text) text, sizeof(text) - 1

Suite *unit_status_parser(void);
Suite *unit_framing(void);
Suite *unit_body_decoder(void);
Suite *unit_retry(void);
Suite *unit_error_type(void);
Suite *unit_trail(void);
Suite *unit_dns_ttl(void);
Suite *unit_units(void);
Suite *unit_uri_map(void);
Suite *unit_fields(void);
Suite *unit_wheel(void);
Suite *unit_pace(void);
Suite *unit_range(void);
Suite *unit_codes(void);
Suite *unit_accel(void);
Suite *unit_upgrade(void);
Suite *unit_wsframes(void);
Suite *unit_cookies(void);
Suite *unit_redirects(void);
Suite *unit_etags(void);

#endif
