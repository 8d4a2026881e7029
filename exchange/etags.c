/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Changes entity tags; see etags.h. */

#include "exchange/etags.h"

#include <string.h>

#include "apr_strings.h"

const char *up_etags_strip(apr_pool_t *p, const char *list,
                           const char *suffix)
{
    apr_size_t len = strlen(suffix);
    char *text = apr_pstrdup(p, list);
    char *to = text;
    char *tag = NULL; /* where the one that is open begins */

    for (; *list != '\0'; list++) {
        if (*list == '"') {
            if (tag && (apr_size_t)(to - tag) > len
                && memcmp(to - len, suffix, len) == 0) {
                to -= len;
            }
            tag = tag ? NULL : to + 1;
        }
        *to++ = *list;
    }
    *to = '\0';
    return text;
}
