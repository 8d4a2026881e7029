/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the comparison of raw and decoded paths and the two ways of escaping.
 */

#include "exchange/uri_map.h"

#include <string.h>

#include "apr_lib.h"
#include "apr_strings.h"
#include "config/units.h"

/* nginx's NGX_ESCAPE_URI set less the percent sign, which each caller
 * treats in its own way; '#' and '?' would end the path. */
static const unsigned char unsafe[256] = {
    [0x00 ... 0x20] = 1, ['"'] = 1,  ['#'] = 1, ['<'] = 1, ['>'] = 1,
    ['?'] = 1,           ['\\'] = 1, ['^'] = 1, ['`'] = 1, ['{'] = 1,
    ['|'] = 1,           ['}'] = 1,  [0x7f ... 0xff] = 1,
};

/* The byte that the escape at `s` stands for, or -1: no escape there. */
static int escaped_byte(const char *s)
{
    int high, low;

    if (s[0] != '%' || (high = up_units_hex(s[1])) < 0
        || (low = up_units_hex(s[2])) < 0) {
        return -1;
    }
    return high * 16 + low;
}

static int ends_path(char c)
{
    return c == '\0' || c == '?' || c == '#';
}

/* How many bytes of `decoded` the byte or escape at `raw` accounts for: 3
 * for an encoded slash that was kept, else 1; 0 when they differ. */
static apr_size_t step(const char *raw, const char *decoded,
                       apr_size_t *praw)
{
    int byte = escaped_byte(raw);

    if (byte < 0) {
        *praw = 1;
        return *raw == *decoded ? 1 : 0;
    }
    *praw = 3;
    if (byte == '/' && strncmp(raw, decoded, 3) == 0) {
        return 3;
    }
    return byte != 0 && byte == (unsigned char)*decoded ? 1 : 0;
}

int up_urimap_match(const char *raw, const char *decoded, apr_size_t prefix,
                    const char **prest)
{
    apr_size_t at = 0;

    *prest = NULL;
    while (!ends_path(*raw)) {
        apr_size_t nraw, n;

        if (at == prefix) {
            *prest = raw;
        }
        n = step(raw, decoded + at, &nraw);
        if (n == 0) {
            return 0;
        }
        raw += nraw;
        at += n;
    }
    if (at == prefix) {
        *prest = raw;
    }
    return decoded[at] == '\0' && *prest != NULL;
}

static char *put_escape(char *to, char c)
{
    static const char digits[] = "0123456789ABCDEF";

    *to++ = '%';
    *to++ = digits[((unsigned char)c) >> 4];
    *to++ = digits[((unsigned char)c) & 15];
    return to;
}

const char *up_urimap_escape(apr_pool_t *p, const char *decoded,
                             int keep_slash)
{
    char *out = apr_palloc(p, strlen(decoded) * 3 + 1);
    char *to = out;

    for (; *decoded; decoded++) {
        int escape = unsafe[(unsigned char)*decoded];

        if (*decoded == '%') {
            escape = !(keep_slash && escaped_byte(decoded) == '/');
        }
        if (escape) {
            to = put_escape(to, *decoded);
        }
        else {
            *to++ = *decoded;
        }
    }
    *to = '\0';
    return out;
}

static const char *protect(apr_pool_t *p, const char *raw, apr_size_t len,
                           int target)
{
    char *out = apr_palloc(p, len * 3 + 1);
    char *to = out;
    apr_size_t i;

    for (i = 0; i < len; i++) {
        int escape = unsafe[(unsigned char)raw[i]];

        if (raw[i] == '?' && target) {
            escape = 0;
        }
        else if (raw[i] == '%') {
            escape = len - i < 3 || escaped_byte(raw + i) < 0;
        }
        if (escape) {
            to = put_escape(to, raw[i]);
        }
        else {
            *to++ = raw[i];
        }
    }
    *to = '\0';
    return out;
}

const char *up_urimap_protect(apr_pool_t *p, const char *raw, apr_size_t len)
{
    return protect(p, raw, len, 0);
}

const char *up_urimap_protect_target(apr_pool_t *p, const char *target)
{
    return protect(p, target, strlen(target), 1);
}

int up_urimap_clean(const char *target)
{
    const unsigned char *at = (const unsigned char *)target;

    for (; *at; at++) {
        if (*at <= 0x20 || *at == 0x7f) {
            return 0;
        }
    }
    return 1;
}

/* One decoded byte of a raw path; *pat moves behind it. */
static int next_byte(const char **pat)
{
    int byte = escaped_byte(*pat);

    if (byte < 0) {
        byte = (unsigned char)**pat;
        *pat += 1;
    }
    else {
        *pat += 3;
    }
    return byte;
}

/* Has the path a ".." segment? *pencoded: and an encoded slash? */
static int look_for_parent(const char *target, int *pencoded)
{
    int dots = 0; /* of the segment, -1: not only dots */
    int climbs = 0;

    *pencoded = 0;

    while (!ends_path(*target)) {
        int escape = *target == '%';
        int byte = next_byte(&target);

        if (byte == '/') {
            climbs |= dots == 2;
            *pencoded |= escape;
            dots = 0;
        }
        else {
            dots = byte == '.' && dots >= 0 ? dots + 1 : -1;
        }
    }
    return climbs || dots == 2;
}

int up_urimap_climbs(const char *target)
{
    int encoded;

    return look_for_parent(target, &encoded) && encoded;
}

int up_urimap_has_parent(const char *target)
{
    int encoded;

    return look_for_parent(target, &encoded);
}

int up_urimap_has_double(const char *raw)
{
    while ((raw = strstr(raw, "%25")) != NULL) {
        raw += 3;
        if (raw[0] == '2' && (raw[1] == 'f' || raw[1] == 'F')) {
            return 1;
        }
    }
    return 0;
}
