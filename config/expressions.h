/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A directive's value that may hold %{...}: nginx's $variables as httpd's
 * string expressions. A value without "%{" is a literal and costs nothing
 * per request.
 *
 * Lives in the configuration pool, read-only after start, any thread.
 */

#ifndef UP_EXPRESSIONS_H
#define UP_EXPRESSIONS_H

#include "ap_expr.h"
#include "httpd.h"
#include "http_config.h"
#include "mod_upstream_proxy.h"

struct up_text_t {
    const char *literal;  /* never NULL unless expr is set */
    ap_expr_info_t *expr; /* NULL: the literal counts */
    const char *source;   /* as written, for messages */
};

/**
 * Parses `arg` in the context of `cmd` into cmd->pool.
 * @return NULL, or what is wrong with the expression
 */
const char *up_text_parse(cmd_parms *cmd, const char *arg,
                          const up_text_t **ptext);

/**
 * The value for this request as up_text_value gives it, line ends and all:
 * for who escapes them.
 */
const char *up_text_raw(request_rec *r, const up_text_t *text);

/**
 * The value for this request where $0 to $9 stand for what a regular
 * expression has found in `subject`. Refused like up_text_value's.
 * @return NULL on failure, logged
 */
const char *up_text_match(request_rec *r, const up_text_t *text,
                          const char *subject, apr_size_t nmatch,
                          ap_regmatch_t *found);

/**
 * The value for this request: the literal, or the expression evaluated into
 * r->pool. CR, LF and NUL never survive: an evaluated value that holds one
 * is refused, so that no value can split a header or a request line.
 * @return NULL on failure, logged; the caller answers 500
 */
const char *up_text_value(request_rec *r, const up_text_t *text);

#endif
