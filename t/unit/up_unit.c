/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The runner: every suite, one after the other. CK_VERBOSITY, CK_RUN_SUITE
 * and CK_RUN_CASE of Check work as usual.
 */

#include "t/unit/up_unit.h"

#include "apr_general.h"

#include <stdlib.h>
#include <string.h>

apr_pool_t *unit_pool;

static void setup(void)
{
    apr_pool_create(&unit_pool, NULL);
}

static void teardown(void)
{
    apr_pool_destroy(unit_pool);
}

TCase *unit_case(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60); /* sanitizers on a busy machine */
    suite_add_tcase(suite, tc);
    return tc;
}

void unit_contains(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part,
                  text);
}

int main(void)
{
    SRunner *runner;
    int failed;

    if (apr_initialize() != APR_SUCCESS) {
        return EXIT_FAILURE;
    }
    runner = srunner_create(unit_status_parser());
    srunner_add_suite(runner, unit_framing());
    srunner_add_suite(runner, unit_body_decoder());
    srunner_add_suite(runner, unit_retry());
    srunner_add_suite(runner, unit_trail());
    srunner_add_suite(runner, unit_units());
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    apr_terminate();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
