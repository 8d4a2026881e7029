/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Reads what a backend may ask for in X-Accel-* fields; see accel.h. */

#include "exchange/accel.h"

#include <string.h>

#include "apr_cstr.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "config/units.h"
#include "exchange/fields.h"

int up_accel_buffering(const char *value)
{
    if (value == NULL) {
        return -1;
    }
    if (apr_cstr_casecmp(value, "yes") == 0) {
        return 1;
    }
    return apr_cstr_casecmp(value, "no") == 0 ? 0 : -1;
}

/* Digits and nothing else, at most INT64_MAX; -1: not that. */
static apr_int64_t number(const char *text)
{
    apr_int64_t n = 0;

    if (text == NULL || *text == '\0') {
        return -1;
    }
    for (; *text != '\0'; text++) {
        int digit = *text - '0';

        if (digit < 0 || digit > 9 || n > (APR_INT64_MAX - digit) / 10) {
            return -1;
        }
        n = n * 10 + digit;
    }
    return n;
}

apr_off_t up_accel_rate(const char *value)
{
    apr_int64_t n = number(value);

    return n > APR_INT32_MAX ? APR_INT32_MAX : (apr_off_t)n;
}

apr_int64_t up_accel_expires(const char *value, apr_time_t now)
{
    apr_int64_t n;

    if (value == NULL || *value != '@') {
        n = number(value);
    }
    else {
        n = number(value + 1);
        if (n >= 0) {
            n = n > apr_time_sec(now) ? n - apr_time_sec(now) : 0;
        }
    }
    return n > APR_INT32_MAX ? APR_INT32_MAX : n;
}

/* --- Content-Type -------------------------------------------------------- */

/* Behind the parameter that begins at `at`, quotes heeded. */
static const char *parameter_end(const char *at)
{
    int quoted = 0;

    for (; *at != '\0' && (quoted || *at != ';'); at++) {
        if (*at == '"') {
            quoted = !quoted;
        }
        else if (quoted && *at == '\\' && at[1] != '\0') {
            at++;
        }
    }
    return at;
}

static int is_charset(const char *parameter)
{
    parameter += strspn(parameter, "; \t");
    return apr_cstr_casecmpn(parameter, "charset", 7) == 0
           && parameter[7 + strspn(parameter + 7, " \t")] == '=';
}

const char *up_accel_charset(apr_pool_t *p, const char *type,
                             const char *charset)
{
    const char *at = type + strcspn(type, ";");
    const char *out;
    apr_size_t len = (apr_size_t)(at - type);

    if (!up_field_name_ok(charset)) {
        return NULL;
    }
    while (len > 0 && (type[len - 1] == ' ' || type[len - 1] == '\t')) {
        len--;
    }
    out = apr_pstrmemdup(p, type, len);
    while (*at == ';') {
        const char *end = parameter_end(at + 1);

        if (!is_charset(at)) {
            out = apr_pstrcat(p, out,
                              apr_pstrmemdup(p, at, (apr_size_t)(end - at)),
                              NULL);
        }
        at = end;
    }
    return apr_pstrcat(p, out, "; charset=", charset, NULL);
}

int up_accel_streams(const apr_array_header_t *types, const char *type)
{
    apr_size_t len;
    int i;

    if (type == NULL) {
        return 0;
    }
    len = strcspn(type, "; \t");
    for (i = 0; i < types->nelts; i++) {
        const char *pattern = APR_ARRAY_IDX(types, i, const char *);
        apr_size_t want = strlen(pattern);
        int open = want > 0 && pattern[want - 1] == '*';

        want -= (apr_size_t)open;
        if ((open ? len >= want : len == want)
            && apr_cstr_casecmpn(pattern, type, want) == 0) {
            return 1;
        }
    }
    return 0;
}

/* --- Cache-Control ------------------------------------------------------- */

/* The end of a list member, quotes heeded. */
static const char *member_end(const char *at)
{
    int quoted = 0;

    for (; *at != '\0' && (quoted || *at != ','); at++) {
        if (*at == '"') {
            quoted = !quoted;
        }
    }
    return at;
}

static int is_s_maxage(const char *member)
{
    return apr_cstr_casecmpn(member, "s-maxage", 8) == 0
           && strchr("=, \t", member[8]) != NULL;
}

const char *up_accel_cache_control(apr_pool_t *p, const char *value,
                                   apr_int64_t seconds)
{
    const char *out = apr_psprintf(p, "s-maxage=%" APR_INT64_T_FMT, seconds);
    const char *at = value != NULL ? value : "";

    while (*at != '\0') {
        const char *end;

        at += strspn(at, ", \t");
        end = member_end(at);
        if (end > at && !is_s_maxage(at)) {
            out = apr_pstrcat(p, out, ", ",
                              apr_pstrmemdup(p, at, (apr_size_t)(end - at)),
                              NULL);
        }
        at = end;
    }
    return out;
}

/* --- X-Accel-Redirect ---------------------------------------------------- */

static int climbs(const char *path)
{
    const char *at;

    for (at = strstr(path, "/.."); at != NULL; at = strstr(at + 1, "/..")) {
        if (at[3] == '/' || at[3] == '\0') {
            return 1;
        }
    }
    return 0;
}

const char *up_accel_path(apr_pool_t *p, const char *value,
                          const char **pargs)
{
    apr_size_t len = strcspn(value, "?");
    char *path = apr_palloc(p, len + 1);
    char *to = path;
    const char *end = value + len;

    *pargs = *end == '?' ? apr_pstrdup(p, end + 1) : NULL;
    while (value < end) {
        unsigned char c = (unsigned char)*value++;

        if (c == '%' && end - value >= 2 && up_units_hex(value[0]) >= 0
            && up_units_hex(value[1]) >= 0) {
            c = (unsigned char)(up_units_hex(value[0]) * 16
                                + up_units_hex(value[1]));
            value += 2;
        }
        if (apr_iscntrl(c)) {
            return NULL;
        }
        *to++ = (char)c;
    }
    *to = '\0';
    return *path == '/' && !climbs(path) ? path : NULL;
}

int up_accel_named(const char *value)
{
    const char *at = value + 1;

    while (apr_isalnum(*at) || (*at != '\0' && strchr("-_.", *at))) {
        at++;
    }
    return *value == '@' && at > value + 1 && *at == '\0'
           && strstr(value, "..") == NULL;
}
