/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns <UpstreamMatch>: reading it, and holding an answer against it.
 */

#include "config/match.h"

#include <string.h>

#include "apr_lib.h"
#include "apr_strings.h"
#include "config/complaint.h"
#include "config/section.h"
#include "exchange/framing.h"

typedef struct range_t {
    int first;
    int last;
} range_t;

typedef struct condition_t {
    const char *name;
    const char *value; /* NULL: of a regex, or whether the field is there */
    ap_regex_t *regex;
    int negated;
} condition_t;

static apr_array_header_t *matches;

void up_match_reset(apr_pool_t *pconf)
{
    matches = apr_array_make(pconf, 2, sizeof(up_match_t *));
}

static up_match_t *find(const char *name)
{
    int i;

    for (i = 0; matches != NULL && i < matches->nelts; i++) {
        up_match_t *match = APR_ARRAY_IDX(matches, i, up_match_t *);

        if (strcasecmp(match->name, name) == 0) {
            return match;
        }
    }
    return NULL;
}

const up_match_t *up_match_find(const char *name)
{
    return find(name);
}

/* --- conditions ---------------------------------------------------------- */

static int in_ranges(const apr_array_header_t *ranges, int status)
{
    int i;

    for (i = 0; i < ranges->nelts; i++) {
        const range_t *range = &APR_ARRAY_IDX(ranges, i, range_t);

        if (status >= range->first && status <= range->last) {
            return 1;
        }
    }
    return 0;
}

static int good_status(const up_match_t *match, int status)
{
    if (match == NULL || match->statuses->nelts == 0) {
        return status >= 200 && status <= 399;
    }
    return in_ranges(match->statuses, status) != match->not_statuses;
}

static int holds(const condition_t *condition, const char *value)
{
    int is;

    if (condition->regex != NULL) {
        is = value != NULL
             && ap_regexec(condition->regex, value, 0, NULL, 0) == 0;
    }
    else if (condition->value != NULL) {
        is = value != NULL && strcmp(value, condition->value) == 0;
    }
    else {
        is = value != NULL;
    }
    return is != condition->negated;
}

const char *up_match_head(apr_pool_t *p, const up_match_t *match,
                          const up_head_t *head)
{
    int i;

    if (!good_status(match, head->status)) {
        return apr_psprintf(p, "answered %d", head->status);
    }
    for (i = 0; match != NULL && i < match->headers->nelts; i++) {
        const condition_t *condition = &APR_ARRAY_IDX(match->headers, i,
                                                      condition_t);

        if (!holds(condition, up_head_get(head, condition->name))) {
            return apr_psprintf(p, "answered with a field \"%s\" that does "
                                "not match \"%s\"", condition->name,
                                match->name);
        }
    }
    return NULL;
}

const char *up_match_body(const up_match_t *match, const char *body,
                          apr_size_t len)
{
    int is = ap_regexec_len(match->body, body, len, 0, NULL, 0) == 0;

    return is != match->not_body ? NULL
                                 : "answered with a body that does not match";
}

/* --- what stands inside -------------------------------------------------- */

static const char *section_of(const cmd_parms *cmd, up_match_t **pmatch)
{
    void *data = NULL;
    const char *error = up_section_inside(cmd, "UpstreamMatch", &data);

    *pmatch = data;
    return error;
}

static int parse_status(const char *word, range_t *range)
{
    char *end;

    range->first = (int)apr_strtoi64(word, &end, 10);
    range->last = range->first;
    if (*end == '-' && end > word) {
        word = end + 1;
        range->last = (int)apr_strtoi64(word, &end, 10);
    }
    return apr_isdigit(*word) && *end == '\0' && range->first >= 100
           && range->last <= 999 && range->first <= range->last;
}

static const char *set_status(cmd_parms *cmd, void *dconf, int argc,
                              char *const argv[])
{
    up_match_t *match = NULL;
    const char *error = section_of(cmd, &match);
    int i = 0;

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (match->statuses->nelts > 0) {
        return up_complaint_twice(cmd, " in this <UpstreamMatch>");
    }
    if (argc > 0 && strcmp(argv[0], "!") == 0) {
        match->not_statuses = 1;
        i = 1;
    }
    for (; i < argc; i++) {
        range_t range;

        if (!parse_status(argv[i], &range)) {
            return up_complaint_word(cmd, "wants codes and ranges, as in "
                                     "\"200 301-399\" or \"! 500-599\"",
                                     argv[i]);
        }
        APR_ARRAY_PUSH(match->statuses, range_t) = range;
    }
    return match->statuses->nelts > 0 ? NULL
           : apr_psprintf(cmd->pool, "%s wants codes and ranges, as in \"200 "
                          "301-399\" or \"! 500-599\"", cmd->cmd->name);
}

static const char *compile(cmd_parms *cmd, const char *text,
                           ap_regex_t **pregex)
{
    *pregex = ap_pregcomp(cmd->pool, text, AP_REG_EXTENDED | AP_REG_NOSUB);
    return *pregex != NULL ? NULL
           : up_complaint_word(cmd, "wants a regular expression behind ~",
                               text);
}

#define HEADER_USAGE                                                          \
    "wants a field name, \"! name\", or a name, one of = != ~ !~ and a value"

static const char *set_header(cmd_parms *cmd, void *dconf, int argc,
                              char *const argv[])
{
    condition_t condition = { .name = argc > 0 ? argv[0] : NULL };
    up_match_t *match = NULL;
    const char *error = section_of(cmd, &match);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (argc == 2 && strcmp(argv[0], "!") == 0) {
        condition.name = argv[1];
        condition.negated = 1;
    }
    else if (argc == 3) {
        const char *how = argv[1] + (argv[1][0] == '!');

        condition.negated = argv[1][0] == '!';
        if (strcmp(how, "~") == 0) {
            error = compile(cmd, argv[2], &condition.regex);
        }
        else if (strcmp(how, "=") == 0) {
            condition.value = argv[2];
        }
        else {
            return up_complaint_word(cmd, HEADER_USAGE, argv[1]);
        }
    }
    else if (argc != 1) {
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " " HEADER_USAGE, NULL);
    }
    APR_ARRAY_PUSH(match->headers, condition_t) = condition;
    return error;
}

static const char *set_body(cmd_parms *cmd, void *dconf, const char *how,
                            const char *text)
{
    up_match_t *match = NULL;
    const char *error = section_of(cmd, &match);

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (match->body != NULL) {
        return up_complaint_twice(cmd, " in this <UpstreamMatch>");
    }
    match->not_body = how[0] == '!';
    if (strcmp(how + match->not_body, "~") != 0) {
        return up_complaint_word(cmd, "wants ~ or !~ and a regular "
                                 "expression", how);
    }
    return compile(cmd, text, &match->body);
}

/* --- <UpstreamMatch> ----------------------------------------------------- */

static const char *check_content(cmd_parms *cmd)
{
    const ap_directive_t *at;

    for (at = cmd->directive->first_child; at != NULL; at = at->next) {
        if (!up_section_has_row(up_match_commands + 1, at->directive)) {
            cmd->err_directive = at;
            return apr_psprintf(cmd->pool, "%s does not belong inside "
                                "<UpstreamMatch>: there may stand "
                                "UpstreamMatchStatus, UpstreamMatchHeader and "
                                "UpstreamMatchBody", at->directive);
        }
    }
    return NULL;
}

static const char *read_section(cmd_parms *cmd, void *dconf, const char *args)
{
    const char *end = ap_strrchr_c(args, '>');
    const up_match_t *other;
    const char *error;
    up_match_t *match;
    const char *name;

    (void)dconf;
    if (cmd->server->is_virtual || cmd->directive->parent != NULL) {
        return "<UpstreamMatch> belongs in the main server configuration, "
               "outside <VirtualHost> and every other section";
    }
    args = end != NULL ? apr_pstrmemdup(cmd->temp_pool, args, end - args) : "";
    name = ap_getword_conf(cmd->pool, &args);
    if (end == NULL || end[1] != '\0' || *args != '\0' || name[0] == '\0') {
        return "<UpstreamMatch> wants one name, as in <UpstreamMatch alive>";
    }
    other = find(name);
    if (other != NULL) {
        return apr_psprintf(cmd->pool, "duplicate <UpstreamMatch %s>: the "
                            "other one is at %s, give one of them another "
                            "name", name, other->where);
    }
    match = apr_pcalloc(cmd->pool, sizeof(*match));
    match->name = name;
    match->where = up_section_where(cmd);
    match->statuses = apr_array_make(cmd->pool, 2, sizeof(range_t));
    match->headers = apr_array_make(cmd->pool, 2, sizeof(condition_t));
    APR_ARRAY_PUSH(matches, up_match_t *) = match;
    error = check_content(cmd);
    return error != NULL ? error : up_section_walk(cmd, match);
}

#define WHERE (RSRC_CONF | ACCESS_CONF)

/* The section itself comes first, check_content relies on it. */
const command_rec up_match_commands[] = {
    AP_INIT_RAW_ARGS("<UpstreamMatch", read_section, NULL, WHERE,
                     "a name, as in <UpstreamMatch alive>"),
    AP_INIT_TAKE_ARGV("UpstreamMatchStatus", set_status, NULL, WHERE,
                      "codes and ranges, as in 200 301-399 or ! 500-599"),
    AP_INIT_TAKE_ARGV("UpstreamMatchHeader", set_header, NULL, WHERE,
                      "a field name, ! name, or a name, one of = != ~ !~ and "
                      "a value"),
    AP_INIT_TAKE2("UpstreamMatchBody", set_body, NULL, WHERE,
                  "~ or !~ and a regular expression"),
    {.name = NULL}
};
