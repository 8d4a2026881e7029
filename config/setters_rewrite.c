/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what happens between the words of a directive that rewrites redirects
 * or cookies and its list of rules.
 */

#include "config/setters_rewrite.h"

#include <string.h>

#include "apr_strings.h"
#include "config/complaint.h"
#include "config/dollar.h"
#include "config/rewrite_rules.h"
#include "config/section.h"
#include "exchange/cookies.h"

#define MOST_WORDS (3 + UP_RULE_FLAGS) /* ~ regex flag flag flag, one over */

typedef struct words_t {
    const char *word[MOST_WORDS];
    int count;
} words_t;

static const char *usage(const cmd_parms *cmd)
{
    return apr_psprintf(cmd->pool, "%s wants %s", up_setters_row(cmd)->name,
                        cmd->cmd->errmsg);
}

static void read_words(cmd_parms *cmd, const char *args, words_t *words)
{
    const char *word;

    words->count = 0;
    while (words->count < MOST_WORDS
           && (word = up_setters_word(cmd, &args)) != NULL) {
        words->word[words->count++] = word;
    }
}

/* --- the list ------------------------------------------------------------ */

static const char *mixed(const cmd_parms *cmd)
{
    return apr_psprintf(cmd->pool, "%s off cannot stand in one section with "
                        "other %s: remove one of them",
                        up_setters_row(cmd)->name, up_setters_row(cmd)->name);
}

/* Off is a list without rules; NULL in *prule then. */
static const char *begin_rule(cmd_parms *cmd, up_settings_t *settings,
                              int off, up_rule_t **prule)
{
    apr_array_header_t **plist = up_setters_field(cmd, settings);
    int given = up_setters_given(settings, up_setters_row(cmd));
    const char *error = up_section_misplaced(cmd);

    *prule = NULL;
    if (error != NULL) {
        return error;
    }
    if (given && (off || (*plist)->nelts == 0)) {
        return off && (*plist)->nelts == 0
                   ? up_complaint_twice(cmd, " in this section")
                   : mixed(cmd);
    }
    if (!given) {
        *plist = apr_array_make(cmd->pool, 2, sizeof(up_rule_t));
        up_setters_mark(cmd, settings);
    }
    if (!off) {
        *prule = apr_array_push(*plist);
        memset(*prule, 0, sizeof(**prule));
    }
    return NULL;
}

/* --- its parts ----------------------------------------------------------- */

/* A value of ours; nginx's variables would be sent as they stand. */
static const char *parse_text(cmd_parms *cmd, const char *word,
                              const up_text_t **ptext)
{
    const char *hint = up_dollar_hint(cmd->temp_pool, word);

    if (hint != NULL) {
        return apr_psprintf(cmd->pool, "%s at \"%s\": %s",
                            up_setters_row(cmd)->name, word, hint);
    }
    return up_text_parse(cmd, word, ptext);
}

static const char *parse_regex(cmd_parms *cmd, const char *text, int flags,
                               up_rule_t *rule)
{
    if (*text == '\0') {
        return up_complaint_word(cmd, "wants a regular expression behind ~",
                                 text);
    }
    rule->regex = ap_pregcomp(cmd->pool, text, AP_REG_EXTENDED | flags);
    return rule->regex ? NULL
           : up_complaint_word(cmd, "wants a regular expression that can be "
                               "compiled", text);
}

/*
 * The pattern: a string, ~regex or ~*regex; with a blank behind the ~, too.
 * @param caseless AP_REG_ICASE: ~ alone is so already
 * @param pused how many words it took
 */
static const char *parse_pattern(cmd_parms *cmd, const words_t *words,
                                 int caseless, up_rule_t *rule, int *pused)
{
    const char *word = words->word[0];

    *pused = 1;
    if (*word != '~') {
        if (*word == '\0') {
            return up_complaint_word(cmd, "wants a pattern that is not empty",
                                     word);
        }
        return parse_text(cmd, word, &rule->pattern);
    }
    word++;
    if (*word == '*') {
        caseless = AP_REG_ICASE;
        word++;
    }
    if (*word == '\0' && words->count > 1) {
        word = words->word[1];
        *pused = 2;
    }
    return parse_regex(cmd, word, caseless, rule);
}

/* Does it begin with a word that must stand alone? */
static int is_word(const words_t *words, const char *word)
{
    return words->count > 0 && strcasecmp(words->word[0], word) == 0;
}

/* The rule of these words, one that has been begun; NULL: they say off. */
static const char *begin(cmd_parms *cmd, up_settings_t *settings,
                         const words_t *words, up_rule_t **prule)
{
    int off = is_word(words, "off");

    *prule = NULL;
    return (off ? words->count != 1 : words->count < 2)
               ? usage(cmd) : begin_rule(cmd, settings, off, prule);
}

static const char *set_pair(cmd_parms *cmd, up_settings_t *settings,
                            const words_t *words, int caseless)
{
    up_rule_t *rule;
    const char *error = begin(cmd, settings, words, &rule);
    int used;

    if (error != NULL || rule == NULL) {
        return error;
    }
    error = parse_pattern(cmd, words, caseless, rule, &used);
    if (error == NULL && words->count != used + 1) {
        error = usage(cmd);
    }
    return error ? error : parse_text(cmd, words->word[used],
                                      &rule->replacement);
}

/* --- the directives ------------------------------------------------------ */

const char *up_setters_redirect(cmd_parms *cmd, void *dconf, const char *args)
{
    const char *error;
    words_t words;
    up_rule_t *rule;

    read_words(cmd, args, &words);
    if (!is_word(&words, "default")) {
        return set_pair(cmd, dconf, &words, 0);
    }
    if (words.count != 1) {
        return usage(cmd);
    }
    error = begin_rule(cmd, dconf, 0, &rule);
    if (error == NULL) {
        rule->usual = 1;
    }
    return error;
}

const char *up_setters_domain(cmd_parms *cmd, void *dconf, const char *args)
{
    words_t words;

    read_words(cmd, args, &words);
    return set_pair(cmd, dconf, &words, AP_REG_ICASE);
}

const char *up_setters_cookie_path(cmd_parms *cmd, void *dconf,
                                   const char *args)
{
    words_t words;

    read_words(cmd, args, &words);
    return set_pair(cmd, dconf, &words, 0);
}

static const char *parse_flag(cmd_parms *cmd, const char *word,
                              up_rule_t *rule)
{
    if (strstr(word, "%{") == NULL && up_cookie_flag(word) == 0) {
        return up_complaint_word(cmd, "wants flags out of secure nosecure "
                                 "httponly nohttponly samesite=strict "
                                 "samesite=lax samesite=none nosamesite",
                                 word);
    }
    return up_text_parse(cmd, word, &rule->flags[rule->nflags++]);
}

const char *up_setters_flags(cmd_parms *cmd, void *dconf, const char *args)
{
    const char *error;
    words_t words;
    up_rule_t *rule;
    int i;

    read_words(cmd, args, &words);
    error = begin(cmd, dconf, &words, &rule);
    if (error != NULL || rule == NULL) {
        return error;
    }
    error = parse_pattern(cmd, &words, AP_REG_ICASE, rule, &i);
    if (error == NULL
        && (words.count == i || words.count > i + UP_RULE_FLAGS)) {
        error = usage(cmd);
    }
    for (; error == NULL && i < words.count; i++) {
        error = parse_flag(cmd, words.word[i], rule);
    }
    return error;
}
