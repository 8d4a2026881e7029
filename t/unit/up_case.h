/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What all unit tests share: a pool for each test, and a runner.
 */

#ifndef UP_CASE_H
#define UP_CASE_H

#include "apr_pools.h"

#include <check.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/** Made anew for each test. */
extern apr_pool_t *unit_pool;

/** Called before each test, when unit_pool is there; NULL: nothing. */
extern void (*unit_prepare)(void);

/** A test case with unit_pool, added to `suite`. */
TCase *unit_case(Suite *suite, const char *name);

/** Fails the test unless `text` contains `part`. */
void unit_contains(const char *text, const char *part);

/**
 * Runs suites, one after the other; the list ends with NULL. CK_VERBOSITY,
 * CK_RUN_SUITE and CK_RUN_CASE of Check work as usual.
 * @return what main returns
 */
int unit_run(Suite *(*const *suites)(void));

#endif
