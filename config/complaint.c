/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the forms of messages about directives.
 */

#include "config/complaint.h"

#include "apr_strings.h"

const char *up_complaint_word(const cmd_parms *cmd, const char *why,
                              const char *word)
{
    return apr_psprintf(cmd->pool, "%s %s, not \"%s\"", cmd->cmd->name, why,
                        word);
}

const char *up_complaint_twice(const cmd_parms *cmd, const char *where)
{
    return apr_psprintf(cmd->pool, "\"%s\" directive is duplicate: keep one "
                        "of them%s", cmd->cmd->name, where);
}
