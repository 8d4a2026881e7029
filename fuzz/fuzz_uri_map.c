/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes exchange/uri_map.c: the input is a raw target, a newline and a
 * decoded path. What escaping gives must fit a request line, and decoding it
 * must give back what went in.
 */

#define FUZZ_REAL_POOLS
#include "fuzz/fuzz.h"
#include "exchange/uri_map.h"

#include "apr_strings.h"

static int hex(int c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Undoes an escaping in which every percent sign starts an escape. */
static char *unescape(apr_pool_t *p, const char *text)
{
    char *out = apr_palloc(p, strlen(text) + 1);
    char *to = out;

    for (; *text; text++) {
        if (*text == '%') {
            *to++ = (char)(hex(text[1]) * 16 + hex(text[2]));
            text += 2;
        }
        else {
            *to++ = *text;
        }
    }
    *to = '\0';
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *decoded, *rest, *text;
    apr_pool_t *p;
    char *raw;

    apr_pool_create(&p, NULL);
    raw = apr_pstrmemdup(p, (const char *)data, size);
    decoded = strchr(raw, '\n');
    if (decoded) {
        raw[decoded - raw] = '\0';
        decoded++;
    }
    else {
        decoded = raw;
    }
    text = up_urimap_escape(p, decoded, 0);
    require(up_urimap_clean(text));
    require(strcmp(unescape(p, text), decoded) == 0);
    require(up_urimap_match(text, decoded, 0, &rest) && rest == text);
    require(up_urimap_clean(up_urimap_escape(p, decoded, 1)));
    text = up_urimap_protect(p, raw, strlen(raw));
    require(up_urimap_clean(text));
    require(strcmp(up_urimap_protect(p, text, strlen(text)), text) == 0);
    if (up_urimap_match(raw, decoded, size / 2, &rest)) {
        require(rest >= raw && rest <= raw + strlen(raw));
    }
    text = up_urimap_protect_target(p, raw);
    require(up_urimap_clean(text));
    require(strcmp(up_urimap_protect_target(p, text), text) == 0);
    require(!up_urimap_climbs(raw) || up_urimap_has_parent(raw));
    up_urimap_has_double(raw);
    apr_pool_destroy(p);
    return 0;
}
