/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the unit tests share: one suite a pure source, a pool for each test.
 *
 * To add one: unit_<source>.c with `Suite *unit_<source>(void)`, a line here,
 * one in up_unit.c and the source in unit.mk.
 */

#ifndef UP_UNIT_H
#define UP_UNIT_H

#include "apr_pools.h"

#include <check.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/** A literal that may hold NULs: text and length. */
#define LIT(text) text, sizeof(text) - 1

/** Made anew for each test. */
extern apr_pool_t *unit_pool;

/** A test case with unit_pool, added to `suite`. */
TCase *unit_case(Suite *suite, const char *name);

/** Fails the test unless `text` contains `part`. */
void unit_contains(const char *text, const char *part);

Suite *unit_status_parser(void);
Suite *unit_framing(void);
Suite *unit_body_decoder(void);
Suite *unit_retry(void);
Suite *unit_trail(void);
Suite *unit_units(void);

#endif
