/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Times, sizes, numbers, flags and words in nginx's spelling. A text that is
 * not taken to its end, or that would overflow, is refused and changes
 * nothing.
 */

#include "config/units.h"

#include "apr_cstr.h"
#include "apr_lib.h"

#include <limits.h>
#include <string.h>

/* A deadline is now + a time: far from the edge, the sum cannot overflow. */
#define MAX_TIME (APR_INT64_MAX / 8)

/* A unit of time. Tables are in falling order, a unit may be named once. */
typedef struct scale_t {
    const char *name;
    apr_interval_time_t unit;
} scale_t;

#define SECONDS(n) ((apr_interval_time_t)(n) * APR_USEC_PER_SEC)

static const scale_t fine_scales[] = {
    { "w", SECONDS(7 * 24 * 3600) },
    { "d", SECONDS(24 * 3600) },
    { "h", SECONDS(3600) },
    { "m", SECONDS(60) },
    { "s", SECONDS(1) },
    { "ms", 1000 },
    { NULL, 0 }
};

static const scale_t coarse_scales[] = {
    { "y", SECONDS(365 * 24 * 3600) },
    { "M", SECONDS(30 * 24 * 3600) },
    { "w", SECONDS(7 * 24 * 3600) },
    { "d", SECONDS(24 * 3600) },
    { "h", SECONDS(3600) },
    { "m", SECONDS(60) },
    { "s", SECONDS(1) },
    { NULL, 0 }
};

/* Reads digits up to `max`. Returns the first byte behind, NULL: no digit,
 * or more than max. */
static const char *read_digits(const char *s, apr_int64_t max,
                               apr_int64_t *pn)
{
    apr_int64_t n = 0;

    if (!apr_isdigit(*s)) {
        return NULL;
    }
    for (; apr_isdigit(*s); ++s) {
        int digit = *s - '0';

        if (n > (max - digit) / 10) {
            return NULL;
        }
        n = n * 10 + digit;
    }
    *pn = n;
    return s;
}

/* The row, from `scale` on, of the unit that starts at s; no letter at all
 * means seconds. NULL: no such unit, or out of order. */
static const scale_t *find_scale(const scale_t *scale, const char *s,
                                 apr_size_t len)
{
    if (len == 0) {
        s = "s";
        len = 1;
    }
    for (; scale->name; ++scale) {
        if (strlen(scale->name) == len && memcmp(scale->name, s, len) == 0) {
            return scale;
        }
    }
    return NULL;
}

/* Reads "1m 30s". Returns nonzero when the text was good. */
static int read_time(const char *s, const scale_t *scale,
                     apr_interval_time_t *ptime)
{
    apr_interval_time_t total = 0;

    for (;;) {
        apr_int64_t n;
        apr_size_t len = 0;

        s = read_digits(s, MAX_TIME, &n);
        if (!s) {
            return 0;
        }
        while (apr_isalpha(s[len])) {
            ++len;
        }
        scale = find_scale(scale, s, len);
        if (!scale || n > (MAX_TIME - total) / scale->unit) {
            return 0;
        }
        total += n * scale->unit;
        ++scale;
        s += len;
        if (!*s) {
            *ptime = total;
            return 1;
        }
        while (*s == ' ') {
            ++s;
        }
    }
}

const char *up_units_time(const char *text, apr_interval_time_t *ptime)
{
    return read_time(text, fine_scales, ptime)
               ? NULL
               : "wants a time such as 60s, 1m30s or 500ms";
}

const char *up_units_span(const char *text, apr_interval_time_t *ptime)
{
    const char *error = up_units_time(text, ptime);

    return error == NULL && *ptime == 0 ? "wants a time that is longer than 0"
                                        : error;
}

const char *up_units_param(const char *word, const char *name)
{
    size_t len = strlen(name);
    int same = name[len - 1] == '=' ? strncmp(word, name, len) == 0
                                    : strcmp(word, name) == 0;

    return same ? word + len : NULL;
}

const char *up_units_seconds(const char *text, apr_interval_time_t *ptime)
{
    return read_time(text, coarse_scales, ptime)
               ? NULL
               : "wants a time in whole seconds such as 10s, 1m30s or 2h";
}

const char *up_units_size(const char *text, int giga, apr_off_t *psize)
{
    const char *s;
    apr_int64_t n = 0;
    int shift = 0;

    s = read_digits(text, UP_OFF_MAX, &n);
    if (s && (*s == 'k' || *s == 'K')) {
        shift = 10;
    }
    else if (s && (*s == 'm' || *s == 'M')) {
        shift = 20;
    }
    else if (s && giga && (*s == 'g' || *s == 'G')) {
        shift = 30;
    }
    if (!s || s[shift != 0] || n > (UP_OFF_MAX >> shift)) {
        return giga ? "wants a size such as 8192, 16k, 1m or 1g"
                    : "wants a size such as 8192, 16k or 1m";
    }
    *psize = (apr_off_t)n << shift;
    return NULL;
}

const char *up_units_number(const char *text, int least, int *pnumber)
{
    apr_int64_t n;
    const char *s = read_digits(text, INT_MAX, &n);

    if (!s || *s || n < least) {
        return least > 1    ? "wants a larger whole number"
               : least == 1 ? "wants a whole number from 1 up"
                            : "wants a whole number, 0 or more";
    }
    *pnumber = (int)n;
    return NULL;
}

int up_units_hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *up_units_flag(const char *text, int *pflag)
{
    int on = !apr_cstr_casecmp(text, "on");

    if (!on && apr_cstr_casecmp(text, "off")) {
        return "wants on or off";
    }
    *pflag = on;
    return NULL;
}

int up_units_climbs(const char *path)
{
    for (;;) {
        apr_size_t len = strcspn(path, "/");

        if (len == 2 && path[0] == '.' && path[1] == '.') {
            return 1;
        }
        if (path[len] == '\0') {
            return 0;
        }
        path += len + 1;
    }
}

unsigned int up_units_word(const up_word_t *words, const char *text)
{
    for (; words->word; ++words) {
        if (!apr_cstr_casecmp(words->word, text)) {
            return words->bit;
        }
    }
    return 0;
}
