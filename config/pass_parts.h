/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * An UpstreamPass URL with expressions, taken apart: what stands there as it
 * is, and each %{...} by itself. What an expression gives of the decoded path
 * has to be escaped again, byte for byte; all the rest may hold escapes.
 */

#ifndef UP_PASS_PARTS_H
#define UP_PASS_PARTS_H

#include "config/expressions.h"

/** One literal, or one %{...}. */
typedef struct up_passpart_t {
    const up_text_t *text;
    int decoded; /* a part of the path as httpd decoded it */
} up_passpart_t;

/**
 * @param pparts of up_passpart_t, in cmd->pool
 * @return NULL, or what is wrong with one of the expressions
 */
const char *up_passparts_parse(cmd_parms *cmd, const char *url,
                               const apr_array_header_t **pparts);

#endif
