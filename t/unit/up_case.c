/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The runner of unit tests.
 */

#include "t/unit/up_case.h"

#include "apr_general.h"

#include <stdlib.h>
#include <string.h>

apr_pool_t *unit_pool;
void (*unit_prepare)(void);

static void setup(void)
{
    apr_pool_create(&unit_pool, NULL);
    if (unit_prepare) {
        unit_prepare();
    }
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

int unit_run(Suite *(*const *suites)(void))
{
    SRunner *runner;
    int failed;

    if (apr_initialize() != APR_SUCCESS) {
        return EXIT_FAILURE;
    }
    runner = srunner_create((*suites)());
    while (*++suites) {
        srunner_add_suite(runner, (*suites)());
    }
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    apr_terminate();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
