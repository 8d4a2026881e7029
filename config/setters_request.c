/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Reads words about what a request says; see setters_request.h. */

#include "config/setters_request.h"

#include "apr_strings.h"
#include "config/complaint.h"
#include "exchange/fields.h"

const char *up_setters_parse_forwarded(const up_row_t *row, const char *text,
                                       void *field)
{
    static const struct {
        const char *word;
        int mask;
    } words[] = {
        { "off", 0 },
        { "on", UP_FORWARDED_LEGACY | UP_FORWARDED_RFC7239 },
        { "legacy", UP_FORWARDED_LEGACY },
        { "rfc7239", UP_FORWARDED_RFC7239 }
    };
    apr_size_t i;

    (void)row;
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(text, words[i].word) == 0) {
            *(int *)field = words[i].mask;
            return NULL;
        }
    }
    return "wants off, on, legacy or rfc7239";
}

const char *up_setters_parse_uri(const up_row_t *row, const char *text,
                                 void *field)
{
    (void)row;
    *(int *)field = strcasecmp(text, "normalized") == 0;
    return *(int *)field || strcasecmp(text, "raw") == 0
               ? NULL : "wants raw or normalized";
}

const char *up_setters_key(cmd_parms *cmd, void *dconf, const char *word)
{
    const char **pname = up_setters_field(cmd, dconf);
    const char *error = up_setters_begin(cmd, dconf);

    if (error != NULL) {
        return error;
    }
    if (!up_field_name_ok(word)) {
        return up_complaint_word(cmd, "wants the name of a header field such "
                                 "as Idempotency-Key, or off", word);
    }
    up_setters_mark(cmd, dconf);
    *pname = strcasecmp(word, "off") == 0 ? NULL
                                          : apr_pstrdup(cmd->pool, word);
    return NULL;
}
