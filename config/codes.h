/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A set of response statuses, 300 to 599, as directives list them: codes and
 * ranges (404 502-504).
 *
 * Pure: no httpd, no allocation.
 */

#ifndef UP_CODES_H
#define UP_CODES_H

#include "apr.h"

#define UP_CODES_FIRST 300
#define UP_CODES_LAST  599

typedef struct up_codes_t {
    apr_uint64_t bits[(UP_CODES_LAST - UP_CODES_FIRST + 64) / 64];
} up_codes_t;

/**
 * Adds one word, a code or a range.
 * @return NULL, or a static sentence that says what is accepted ("wants ...");
 *         nothing is added then
 */
const char *up_codes_add(up_codes_t *codes, const char *word);

/** Adds every status. */
void up_codes_add_all(up_codes_t *codes);

int up_codes_has(const up_codes_t *codes, int status);

#endif
