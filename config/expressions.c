/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the parsing and the evaluation of values that may hold %{...}.
 */

#include "config/expressions.h"

#include "apr_strings.h"
#include "config/log.h"

static int has_line_end(const char *value)
{
    return strpbrk(value, "\r\n") != NULL;
}

const char *up_text_parse(cmd_parms *cmd, const char *arg,
                          const up_text_t **ptext)
{
    up_text_t *text = apr_pcalloc(cmd->pool, sizeof(*text));
    const char *error = NULL;

    text->source = apr_pstrdup(cmd->pool, arg);
    if (has_line_end(arg)) {
        return apr_psprintf(cmd->pool, "%s wants a value without line ends",
                            cmd->cmd->name);
    }
    if (strstr(arg, "%{") == NULL) {
        text->literal = text->source;
        *ptext = text;
        return NULL;
    }
    /* What a backend is asked for is no reason for a Vary to the client. */
    text->expr = ap_expr_parse_cmd(cmd, text->source,
                                   AP_EXPR_FLAG_STRING_RESULT
                                       | AP_EXPR_FLAG_DONT_VARY,
                                   &error, NULL);
    if (error != NULL) {
        return apr_psprintf(cmd->pool,
                            "%s wants a value or an expression such as "
                            "%%{HTTP_HOST}, and \"%s\" is neither: %s",
                            cmd->cmd->name, arg, error);
    }
    *ptext = text;
    return NULL;
}

const char *up_text_raw(request_rec *r, const up_text_t *text)
{
    const char *error = NULL;
    const char *value;

    if (text->expr == NULL) {
        return text->literal;
    }
    value = ap_expr_str_exec(r, text->expr, &error);
    if (error != NULL || value == NULL) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      UPLOGNO(0100) "expression \"%s\" failed: %s",
                      text->source, error != NULL ? error : "no value");
        return NULL;
    }
    return value;
}

const char *up_text_value(request_rec *r, const up_text_t *text)
{
    const char *value = up_text_raw(r, text);

    if (value != NULL && text->expr != NULL && has_line_end(value)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      UPLOGNO(0101) "expression \"%s\" gives a value with a "
                      "line end in it, which is refused", text->source);
        return NULL;
    }
    return value;
}
