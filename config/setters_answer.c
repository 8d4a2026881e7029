/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what happens between the words of a directive about a backend's answer
 * and its field.
 */

#include "config/setters_answer.h"

#include <string.h>

#include "apr_strings.h"
#include "config/codes.h"
#include "config/complaint.h"
#include "config/section.h"
#include "config/units.h"

/* --- UpstreamInterceptErrors --------------------------------------------- */

static const char *read_codes(cmd_parms *cmd, int argc, char *const argv[],
                              up_codes_t *codes)
{
    int i;

    for (i = 0; i < argc; i++) {
        const char *error = up_codes_add(codes, argv[i]);

        if (error != NULL) {
            return up_complaint_word(cmd, error, argv[i]);
        }
    }
    return NULL;
}

const char *up_setters_codes(cmd_parms *cmd, void *dconf, int argc,
                             char *const argv[])
{
    const up_codes_t **pcodes = up_setters_field(cmd, dconf);
    const char *error = up_setters_begin(cmd, dconf);
    up_codes_t *codes;

    if (error != NULL) {
        return error;
    }
    if (argc < 1) {
        return apr_psprintf(cmd->pool, "%s wants %s",
                            up_setters_row(cmd)->name, cmd->cmd->errmsg);
    }
    up_setters_mark(cmd, dconf);
    *pcodes = NULL;
    if (argc == 1 && strcasecmp(argv[0], "off") == 0) {
        return NULL;
    }
    codes = apr_pcalloc(cmd->pool, sizeof(*codes));
    *pcodes = codes;
    if (argc == 1 && strcasecmp(argv[0], "on") == 0) {
        up_codes_add_all(codes);
        return NULL;
    }
    return read_codes(cmd, argc, argv, codes);
}

/* --- UpstreamIgnoreHeaders ----------------------------------------------- */

static const up_word_t ignorable[] = {
    {"X-Accel-Redirect", UP_IGNORE_REDIRECT},
    {"X-Accel-Expires", UP_IGNORE_EXPIRES},
    {"X-Accel-Limit-Rate", UP_IGNORE_RATE},
    {"X-Accel-Buffering", UP_IGNORE_BUFFERING},
    {"X-Accel-Charset", UP_IGNORE_CHARSET},
    {"Expires", UP_IGNORE_INERT},
    {"Cache-Control", UP_IGNORE_INERT << 1},
    {"Set-Cookie", UP_IGNORE_INERT << 2},
    {"Vary", UP_IGNORE_INERT << 3},
    {NULL, 0}
};

const char *up_setters_ignored(cmd_parms *cmd, void *dconf, const char *word)
{
    return up_setters_words(cmd, dconf, ignorable, word);
}

/* --- UpstreamStreamTypes ------------------------------------------------- */

/* type/subtype, where a * may stand for the end of either name. */
static int is_pattern(const char *word)
{
    const char *slash = strchr(word, '/');
    const char *star = strchr(word, '*');
    apr_size_t len = strlen(word);

    return slash != NULL && slash > word && slash[1] != '\0'
           && strpbrk(word, ";, \t\"") == NULL
           && (star == NULL || star == word + len - 1);
}

const char *up_setters_types(cmd_parms *cmd, void *dconf, const char *word)
{
    up_settings_t *settings = dconf;
    apr_array_header_t **ptypes = up_setters_field(cmd, settings);
    const char *error = up_section_misplaced(cmd);

    if (error != NULL) {
        return error;
    }
    if (!up_setters_given(settings, up_setters_row(cmd))) {
        *ptypes = apr_array_make(cmd->pool, 4, sizeof(const char *));
        up_setters_mark(cmd, settings);
    }
    if (strcasecmp(word, "none") == 0) {
        apr_array_clear(*ptypes);
        return NULL;
    }
    if (!is_pattern(word)) {
        return up_complaint_word(cmd, "wants media types such as "
                                 "text/event-stream or application/grpc*, or "
                                 "none", word);
    }
    APR_ARRAY_PUSH(*ptypes, const char *) = apr_pstrdup(cmd->pool, word);
    return NULL;
}

apr_array_header_t *up_setters_usual_types(apr_pool_t *p)
{
    static const char *const usual[] = {
        "text/event-stream", "application/x-ndjson", "application/grpc*"
    };
    apr_array_header_t *types = apr_array_make(p, 3, sizeof(const char *));
    apr_size_t i;

    for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        APR_ARRAY_PUSH(types, const char *) = usual[i];
    }
    return types;
}
