/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The rules of UpstreamRedirect and UpstreamCookie*: one each, read-only
 * after start, in the configuration pool.
 *
 * A list of them in the settings is NULL when nothing was said, and empty for
 * `off`.
 */

#ifndef UP_REWRITE_RULES_H
#define UP_REWRITE_RULES_H

#include "apr_tables.h"
#include "config/expressions.h"

#define UP_RULE_FLAGS 3 /* at most */

typedef struct up_rule_t {
    int usual;                    /* UpstreamRedirect default: what the pass
                                     says; nothing below is set */
    const ap_regex_t *regex;      /* NULL: the pattern counts */
    const up_text_t *pattern;
    const up_text_t *replacement; /* NULL: of flags */
    const up_text_t *flags[UP_RULE_FLAGS];
    int nflags;
} up_rule_t;

#endif
