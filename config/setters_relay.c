/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what happens between the words of a directive about the relaying of
 * responses and its field.
 */

#include "config/setters_relay.h"

#include <string.h>

#include "apr_strings.h"
#include "config/complaint.h"
#include "config/units.h"
#include "http_core.h"

static int is_expression(const char *word)
{
    return strstr(word, "%{") != NULL;
}

/* The only word of raw arguments, which may be empty; NULL: there is none, or
 * another one behind it. */
static const char *only_word(cmd_parms *cmd, const char *args)
{
    const char *word;

    args += strspn(args, " \t");
    if (*args == '\0') {
        return NULL;
    }
    word = ap_getword_conf(cmd->pool, &args);
    return args[strspn(args, " \t")] == '\0' ? word : NULL;
}

static const char *usage(const cmd_parms *cmd)
{
    return apr_psprintf(cmd->pool, "%s wants %s", up_setters_row(cmd)->name,
                        cmd->cmd->errmsg);
}

const char *up_setters_rate(cmd_parms *cmd, void *dconf, const char *args)
{
    const char *word = only_word(cmd, args);
    const char *error = up_setters_begin(cmd, dconf);
    apr_off_t rate;

    if (error != NULL) {
        return error;
    }
    if (word == NULL) {
        return usage(cmd);
    }
    if (!is_expression(word) && up_units_size(word, 1, &rate) != NULL) {
        return up_complaint_word(cmd, "wants bytes a second such as 500k, 0 "
                                 "for no limit, or an expression", word);
    }
    up_setters_mark(cmd, dconf);
    return up_text_parse(cmd, word, up_setters_field(cmd, dconf));
}
