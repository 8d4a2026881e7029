/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Replaces parts of URLs; see redirects.h. */

#include "exchange/redirects.h"

#include <string.h>

#include "apr_cstr.h"
#include "apr_lib.h"
#include "apr_strings.h"

const char *up_redirect_refresh(const char *value)
{
    for (; *value != '\0'; value++) {
        if (apr_cstr_casecmpn(value, "url=", 4) == 0) {
            value += 4;
            return *value == '"' || *value == '\'' ? value + 1 : value;
        }
    }
    return NULL;
}

const char *up_redirect_swap(apr_pool_t *p, const char *value,
                             const char *prefix, const char *replacement)
{
    apr_size_t len = strlen(prefix);

    if (len == 0 || strncmp(value, prefix, len) != 0) {
        return NULL;
    }
    return apr_pstrcat(p, replacement, value + len, NULL);
}

/* One pass: counts without `to`, copies with it. */
static apr_size_t expand(const char *text, const char *subject,
                         const up_capture_t *captures, int count, char *to)
{
    apr_size_t len = 0;

    for (; *text != '\0'; text++) {
        const char *piece = text;
        apr_size_t piece_len = 1;

        if (*text == '$' && apr_isdigit(text[1])) {
            int n = *++text - '0';

            piece_len = 0;
            if (n < count && captures[n].from >= 0
                && captures[n].to > captures[n].from) {
                piece = subject + captures[n].from;
                piece_len = (apr_size_t)(captures[n].to - captures[n].from);
            }
        }
        if (to != NULL) {
            memcpy(to + len, piece, piece_len);
        }
        len += piece_len;
    }
    return len;
}

const char *up_redirect_expand(apr_pool_t *p, const char *text,
                               const char *subject,
                               const up_capture_t *captures, int count)
{
    apr_size_t len = expand(text, subject, captures, count, NULL);
    char *to = apr_palloc(p, len + 1);

    expand(text, subject, captures, count, to);
    to[len] = '\0';
    return to;
}
