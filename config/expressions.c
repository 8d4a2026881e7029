/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the parsing and the evaluation of values that may hold %{...}.
 */

#include "config/expressions.h"

#include "apr_strings.h"
#include "config/log.h"
#include "exchange/redirects.h"

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

/* An expression's value, with what a regular expression has found before. */
static const char *evaluate(request_rec *r, const up_text_t *text,
                            const char *subject, apr_size_t nmatch,
                            ap_regmatch_t *found)
{
    const char *error = NULL;
    const char *value = ap_expr_str_exec_re(r, text->expr, nmatch, found,
                                            &subject, &error);

    if (error != NULL || value == NULL) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      UPLOGNO(0100) "expression \"%s\" failed: %s",
                      text->source, error != NULL ? error : "no value");
        return NULL;
    }
    return value;
}

const char *up_text_raw(request_rec *r, const up_text_t *text)
{
    return text->expr != NULL ? evaluate(r, text, NULL, 0, NULL)
                              : text->literal;
}

static const char *one_line(request_rec *r, const up_text_t *text,
                            const char *value)
{
    if (value != NULL && text->expr != NULL && has_line_end(value)) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      UPLOGNO(0101) "expression \"%s\" gives a value with a "
                      "line end in it, which is refused", text->source);
        return NULL;
    }
    return value;
}

const char *up_text_value(request_rec *r, const up_text_t *text)
{
    return one_line(r, text, up_text_raw(r, text));
}

const char *up_text_match(request_rec *r, const up_text_t *text,
                          const char *subject, apr_size_t nmatch,
                          ap_regmatch_t *found)
{
    up_capture_t captures[AP_MAX_REG_MATCH];
    apr_size_t i;

    if (text->expr != NULL) {
        return one_line(r, text, evaluate(r, text, subject, nmatch, found));
    }
    nmatch = nmatch > AP_MAX_REG_MATCH ? AP_MAX_REG_MATCH : nmatch;
    for (i = 0; i < nmatch; i++) {
        captures[i].from = found[i].rm_so;
        captures[i].to = found[i].rm_eo;
    }
    return up_redirect_expand(r->pool, text->literal, subject, captures,
                              (int)nmatch);
}
