/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the lists of field names: hop-by-hop, written by us, never nominated.
 */

#include "exchange/fields.h"

#include <string.h>

#include "apr_strings.h"

/* tchar, RFC 9110 5.6.2 */
static const char token[256] = {
    ['!'] = 1, ['#'] = 1,         ['$'] = 1,         ['%'] = 1,
    ['&'] = 1, ['\''] = 1,        ['*'] = 1,         ['+'] = 1,
    ['-'] = 1, ['.'] = 1,         ['^'] = 1,         ['_'] = 1,
    ['`'] = 1, ['|'] = 1,         ['~'] = 1,         ['0' ... '9'] = 1,
    ['A' ... 'Z'] = 1,            ['a' ... 'z'] = 1,
};

/* Lower case as ASCII has it, whatever the locale. */
static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : (unsigned char)c;
}

int up_field_same(const char *name, const char *other)
{
    while (*name == *other || lower(*name) == lower(*other)) {
        if (*name == '\0') {
            return 1;
        }
        name++;
        other++;
    }
    return 0;
}

int up_field_name_ok(const char *name)
{
    const unsigned char *at = (const unsigned char *)name;

    while (token[*at]) {
        at++;
    }
    return *at == '\0' && *name != '\0';
}

/* Most names are told apart by their first letter: no need to look at the
 * whole lists for each. */
int up_field_is_hop(const char *name)
{
    switch (lower(*name)) {
    case 'c':
        return up_field_is(name, "Connection");
    case 'k':
        return up_field_is(name, "Keep-Alive");
    case 'p':
        return up_field_is(name, "Proxy-Connection");
    case 't':
        return up_field_is(name, "TE") || up_field_is(name, "Trailer")
               || up_field_is(name, "Transfer-Encoding");
    case 'u':
        return up_field_is(name, "Upgrade");
    default:
        return 0;
    }
}

int up_field_is_ours(const char *name)
{
    switch (lower(*name)) {
    case 'c':
        return up_field_is(name, "Content-Length") || up_field_is_hop(name);
    case 'e':
        return up_field_is(name, "Expect");
    case 'h':
        return up_field_is(name, "Host")
               || up_field_is(name, "HTTP2-Settings");
    default:
        return up_field_is_hop(name);
    }
}

static int for_the_far_end(const char *name)
{
    static const char *const names[] = {
        "Authorization", "Cache-Control",    "Content-Encoding",
        "Content-Range", "Content-Type",     "Cookie",
        "Forwarded",     "Host",             "Location",
        "Origin",        "Range",            "Set-Cookie",
        "Via",           "WWW-Authenticate", "X-Forwarded-For",
        "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP",
    };
    apr_size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (up_field_is(name, names[i])) {
            return 1;
        }
    }
    return 0;
}

int up_field_fits_trailer(const char *name)
{
    static const char *const names[] = {
        "Accept-Ranges", "Age",           "Allow",
        "If-Match",      "If-Modified-Since", "If-None-Match",
        "If-Range",      "If-Unmodified-Since", "Expires",
        "Max-Forwards",  "Pragma",        "Proxy-Authenticate",
        "Proxy-Authorization", "Refresh", "Retry-After",
        "Vary",          "WWW-Authenticate",
    };
    apr_size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (up_field_is(name, names[i])) {
            return 0;
        }
    }
    return up_field_name_ok(name) && !up_field_is_ours(name)
           && !for_the_far_end(name);
}

void up_nominated_init(up_nominated_t *nominated, apr_pool_t *p)
{
    nominated->p = p;
    nominated->names = NULL;
}

static void nominate(up_nominated_t *nominated, const char *name)
{
    /* The usual options name no field, or one that is dropped anyway. */
    if (up_field_is(name, "close") || up_field_is_hop(name)
        || for_the_far_end(name)) {
        return;
    }
    if (nominated->names == NULL) {
        nominated->names =
            apr_array_make(nominated->p, 4, sizeof(const char *));
    }
    APR_ARRAY_PUSH(nominated->names, const char *) = name;
}

void up_nominated_add(up_nominated_t *nominated, const char *value)
{
    for (;;) {
        apr_size_t len;

        value += strspn(value, ", \t");
        if (*value == '\0') {
            return;
        }
        len = strcspn(value, ", \t");
        nominate(nominated, apr_pstrmemdup(nominated->p, value, len));
        value += len;
    }
}

int up_nominated_has(const up_nominated_t *nominated, const char *name)
{
    int i;

    for (i = 0; nominated->names && i < nominated->names->nelts; i++) {
        if (up_field_is(APR_ARRAY_IDX(nominated->names, i, const char *),
                        name)) {
            return 1;
        }
    }
    return 0;
}
