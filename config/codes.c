/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Owns the reading of status lists; see codes.h. */

#include "config/codes.h"

#include <stddef.h>

#include "apr_lib.h"

static int is_code(int status)
{
    return status >= UP_CODES_FIRST && status <= UP_CODES_LAST;
}

/* Exactly three digits; NULL: something else. */
static const char *read_code(const char *at, int *pcode)
{
    int i;

    *pcode = 0;
    for (i = 0; i < 3; i++, at++) {
        if (!apr_isdigit(*at)) {
            return NULL;
        }
        *pcode = *pcode * 10 + (*at - '0');
    }
    return at;
}

static void add_range(up_codes_t *codes, int first, int last)
{
    for (; first <= last; first++) {
        unsigned int n = (unsigned int)(first - UP_CODES_FIRST);

        codes->bits[n / 64] |= APR_UINT64_C(1) << n % 64;
    }
}

const char *up_codes_add(up_codes_t *codes, const char *word)
{
    int first;
    int last;
    const char *at = read_code(word, &first);

    last = first;
    if (at != NULL && *at == '-') {
        at = read_code(at + 1, &last);
    }
    if (at == NULL || *at != '\0' || !is_code(first) || !is_code(last)
        || first > last) {
        return "wants on, off, or statuses from 300 to 599 and ranges of "
               "them, as in \"404 502-504\"";
    }
    add_range(codes, first, last);
    return NULL;
}

void up_codes_add_all(up_codes_t *codes)
{
    add_range(codes, UP_CODES_FIRST, UP_CODES_LAST);
}

int up_codes_has(const up_codes_t *codes, int status)
{
    unsigned int n = (unsigned int)(status - UP_CODES_FIRST);

    return is_code(status) && (codes->bits[n / 64] >> n % 64 & 1) != 0;
}
