/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * nginx's spelling of times, sizes, flags and word lists, as numbers.
 *
 * Pure: no httpd, no allocation. Every function that returns a text returns
 * NULL when its own was good and *presult is set, else a static sentence that
 * says what is accepted ("wants a time such as 60s, 1m30s or 500ms").
 */

#ifndef UP_UNITS_H
#define UP_UNITS_H

#include "apr.h"
#include "apr_time.h"

/** The largest apr_off_t. */
#define UP_OFF_MAX                                                            \
    ((apr_off_t)(sizeof(apr_off_t) == 8 ? APR_INT64_MAX : APR_INT32_MAX))

/** A word of a word list and the bit it stands for. */
typedef struct up_word_t {
    const char *word;
    unsigned int bit;
} up_word_t;

/**
 * A time of millisecond resolution: units w d h m s ms, each at most once
 * and in falling order, blanks allowed between ("1m 30s"); a bare number is
 * seconds. Overflow is refused: the largest is 36,000 years, so that now + a
 * time never overflows. Blanks at the ends are refused.
 * @param ptime microseconds
 */
const char *up_units_time(const char *text, apr_interval_time_t *ptime);

/** The same, longer than 0. */
const char *up_units_span(const char *text, apr_interval_time_t *ptime);

/** The same in whole seconds (fail_timeout), 0 as well: units y M w d h m s, no
 * ms. */
const char *up_units_seconds(const char *text, apr_interval_time_t *ptime);

/** Digits and an optional k, K, m or M (also g, G where `giga`). */
const char *up_units_size(const char *text, int giga, apr_off_t *psize);

/** Decimal digits only, `least`..INT_MAX. */
const char *up_units_number(const char *text, int least, int *pnumber);

/** The value of a hexadecimal digit, -1: it is none. */
int up_units_hex(char c);

/** on or off in any case. */
const char *up_units_flag(const char *text, int *pflag);

/** Has the path a segment ".."? */
int up_units_climbs(const char *path);

/**
 * The value of a parameter that a word may be.
 * @param name with the = where a value follows
 * @return into word, "" for a name without one; NULL: it is another
 */
const char *up_units_param(const char *word, const char *name);

/**
 * Looks up one word, in any case, in `words` (closed by a NULL word).
 * @return its bit, 0: unknown
 */
unsigned int up_units_word(const up_word_t *words, const char *text);

#endif
