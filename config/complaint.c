/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the forms of messages about directives.
 */

#include "config/complaint.h"

#include <string.h>

#include "apr_strings.h"

const char *up_complaint_hint(const char *word)
{
    apr_size_t len = strlen(word);

    return len > 0 && word[len - 1] == ';'
               ? ": a directive of httpd ends with its line, without a \";\""
               : "";
}

const char *up_complaint_word(const cmd_parms *cmd, const char *why,
                              const char *word)
{
    return apr_psprintf(cmd->pool, "%s %s, not \"%s\"%s", cmd->cmd->name, why,
                        word, up_complaint_hint(word));
}

const char *up_complaint_twice(const cmd_parms *cmd, const char *where)
{
    return apr_psprintf(cmd->pool, "\"%s\" directive is duplicate: keep one "
                        "of them%s", cmd->cmd->name, where);
}

const char *up_complaint_param(const cmd_parms *cmd, const char *name,
                               const char *why, const char *value)
{
    return apr_psprintf(cmd->pool, "%s: %s %s, not \"%s\"", cmd->cmd->name,
                        name, why, value);
}

const char *up_complaint_param_twice(const cmd_parms *cmd, const char *word)
{
    return apr_psprintf(cmd->pool, "%s: parameter \"%s\" is duplicate: keep "
                        "one of them", cmd->cmd->name, word);
}
