/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what happens between the words of a directive about the relaying of
 * responses and its field.
 */

#include "config/setters_relay.h"

#include <string.h>

#include "apr_strings.h"
#include "config/complaint.h"
#include "config/dollar.h"
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

/* --- UpstreamStore ------------------------------------------------------- */

/* What is wrong with a path that is written out; NULL: nothing. */
static const char *path_fault(cmd_parms *cmd, const char *path)
{
    const char *hint = up_dollar_hint(cmd->temp_pool, path);

    if (*path == '\0') {
        return "wants on, off or a path";
    }
    if (hint != NULL) {
        return apr_pstrcat(cmd->temp_pool, "wants a path (", hint, ")", NULL);
    }
    if (up_units_climbs(path)) {
        return "wants a path without \"..\"";
    }
    if (path[strlen(path) - 1] == '/') {
        return "wants the path of a file, which does not end in \"/\"";
    }
    return NULL;
}

const char *up_setters_store(cmd_parms *cmd, void *dconf, const char *args)
{
    up_settings_t *settings = dconf;
    const char *word = only_word(cmd, args);
    const char *error = up_setters_begin(cmd, settings);
    int on = 0;

    if (error != NULL) {
        return error;
    }
    if (word == NULL) {
        return usage(cmd);
    }
    if (up_units_flag(word, &on) == NULL) {
        settings->store = on ? UP_STORE_URI : UP_STORE_OFF;
        up_setters_mark(cmd, settings);
        return NULL;
    }
    error = is_expression(word) ? NULL : path_fault(cmd, word);
    if (error != NULL) {
        return up_complaint_word(cmd, error, word);
    }
    settings->store = UP_STORE_PATH;
    up_setters_mark(cmd, settings);
    return up_text_parse(cmd, word, &settings->store_path);
}

/* The bits of "user:rw", 0: it is nothing of the kind. */
static int access_bits(const char *word)
{
    static const struct {
        const char *who;
        int shift;
    } classes[] = { { "user:", 6 }, { "group:", 3 }, { "all:", 0 } };
    int i;

    for (i = 0; i < 3; i++) {
        apr_size_t len = strlen(classes[i].who);

        if (strncmp(word, classes[i].who, len) == 0) {
            return strcmp(word + len, "r") == 0 ? 4 << classes[i].shift
                   : strcmp(word + len, "rw") == 0 ? 6 << classes[i].shift
                   : 0;
        }
    }
    return 0;
}

const char *up_setters_parse_access(const up_row_t *row, const char *text,
                                    void *field)
{
    (void)row;
    *(int *)field = access_bits(text);
    return *(int *)field ? NULL
                         : "wants words such as user:rw group:r all:r";
}

/* nginx: the user may read and write unless it is said otherwise. */
const char *up_setters_access(cmd_parms *cmd, void *dconf, int argc,
                              char *const argv[])
{
    const up_row_t *row = up_setters_row(cmd);
    int *pmode = up_setters_field(cmd, dconf);
    const char *error = up_setters_begin(cmd, dconf);
    int mode = 0;
    int i;

    if (error == NULL && argc < 1) {
        error = usage(cmd);
    }
    for (i = 0; error == NULL && i < argc; i++) {
        int bits;

        error = row->parse(row, argv[i], &bits);
        if (error == NULL && (mode & bits) != 0) {
            error = "wants each of user, group and all once";
        }
        if (error != NULL) {
            return up_complaint_word(cmd, error, argv[i]);
        }
        mode |= bits;
    }
    if (error == NULL) {
        *pmode = mode & 0600 ? mode : mode | 0600;
        up_setters_mark(cmd, dconf);
    }
    return error;
}
