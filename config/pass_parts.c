/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the way in which a URL with expressions is cut into parts.
 */

#include "config/pass_parts.h"

#include <string.h>

#include "apr_strings.h"

/* The end of the expression that begins at `text`. One that is not closed
 * goes on to the end: httpd says so. */
static const char *end_of(const char *text)
{
    const char *close = text[2] == ':' ? ":}" : "}"; /* %{: ... :} nests */
    const char *end = strstr(text + 3, close);

    return end != NULL ? end + strlen(close) : text + strlen(text);
}

/* Expressions that give the decoded path or, as captures of <LocationMatch>,
 * pieces of it. */
static int is_decoded(const char *expression)
{
    static const char *const names[] = {
        "%{reqenv:MATCH_", "%{env:MATCH_", "%{ENV:MATCH_", "%{REQUEST_URI}",
        "%{DOCUMENT_URI}", "%{PATH_INFO}", NULL
    };
    int i;

    for (i = 0; names[i] != NULL; i++) {
        if (strncmp(expression, names[i], strlen(names[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

const char *up_passparts_parse(cmd_parms *cmd, const char *url,
                               const apr_array_header_t **pparts)
{
    apr_array_header_t *parts = apr_array_make(cmd->pool, 4,
                                               sizeof(up_passpart_t));
    const char *error = NULL;

    while (*url != '\0' && error == NULL) {
        up_passpart_t *part = apr_array_push(parts);
        const char *expression = strstr(url, "%{");
        const char *end = expression == NULL ? url + strlen(url)
                          : expression == url ? end_of(url) : expression;

        part->decoded = expression == url && is_decoded(url);
        error = up_text_parse(cmd, apr_pstrmemdup(cmd->temp_pool, url,
                                                  (apr_size_t)(end - url)),
                              &part->text);
        url = end;
    }
    *pparts = parts;
    return error;
}
