/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The grammar of one range of bytes; see range.h. */

#include "exchange/range.h"

#include <string.h>

#include "apr_cstr.h"
#include "apr_lib.h"
#include "config/units.h"

/* Digits, the largest number for those that are too many; -1: there is none.
 * Moves *ptext behind them. */
static apr_off_t read_number(const char **ptext)
{
    const char *s = *ptext;
    apr_off_t n = apr_isdigit(*s) ? 0 : -1;

    for (; apr_isdigit(*s); s++) {
        int digit = *s - '0';

        n = n > (UP_OFF_MAX - digit) / 10 ? UP_OFF_MAX : n * 10 + digit;
    }
    *ptext = s;
    return n;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* "-500": the last bytes. */
static up_range_e last_bytes(apr_off_t count, apr_off_t size,
                             up_range_t *range)
{
    if (count == 0) {
        return UP_RANGE_BAD;
    }
    range->length = count < size ? count : size;
    range->first = size - range->length;
    return UP_RANGE_PART;
}

up_range_e up_range_read(const char *text, apr_off_t size, up_range_t *range)
{
    apr_off_t first;
    apr_off_t last;

    if (!text || size == 0 || apr_cstr_casecmpn(text, "bytes=", 6) != 0) {
        return UP_RANGE_ALL;
    }
    text = skip_blanks(text + 6);
    first = read_number(&text);
    if (*text++ != '-') {
        return UP_RANGE_ALL;
    }
    last = read_number(&text);
    if (*skip_blanks(text) || (first < 0 && last < 0)
        || (last >= 0 && last < first)) {
        return UP_RANGE_ALL;
    }
    if (first < 0) {
        return last_bytes(last, size, range);
    }
    if (first >= size) {
        return UP_RANGE_BAD;
    }
    range->first = first;
    range->length = (last < 0 || last >= size ? size - 1 : last) - first + 1;
    return UP_RANGE_PART;
}
