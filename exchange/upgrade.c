/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Owns what is known of the protocols in an Upgrade field. */

#include "exchange/upgrade.h"

#include <string.h>

#include "apr_strings.h"
#include "exchange/fields.h"

static const char *const usual_names[] = { "websocket", NULL };

const up_protocols_t up_upgrade_usual = { 0, usual_names };

int up_upgrade_is_protocol(const char *word)
{
    const char *slash = strchr(word, '/');
    char name[64];

    if (slash == NULL) {
        return up_field_name_ok(word);
    }
    if ((apr_size_t)(slash - word) >= sizeof(name)) {
        return 0;
    }
    apr_cpystrn(name, word, (apr_size_t)(slash - word) + 1);
    return up_field_name_ok(name) && up_field_name_ok(slash + 1);
}

/* The next word of a comma list, *pat moves behind it. NULL: no more. */
static const char *next_word(const char **pat, apr_size_t *plen)
{
    const char *word = *pat + strspn(*pat, ", \t");
    apr_size_t len = strcspn(word, ",");

    *pat = word + len;
    while (len && (word[len - 1] == ' ' || word[len - 1] == '\t')) {
        len--;
    }
    *plen = len;
    return len ? word : NULL;
}

static int same(const char *word, apr_size_t len, const char *other,
                apr_size_t other_len)
{
    return len == other_len && strncasecmp(word, other, len) == 0;
}

static apr_size_t name_length(const char *word, apr_size_t len)
{
    const char *slash = memchr(word, '/', len);

    return slash ? (apr_size_t)(slash - word) : len;
}

/* Do they mean the same protocol? */
static int matches(const char *word, apr_size_t len, const char *other,
                   apr_size_t other_len)
{
    apr_size_t name = name_length(word, len);
    apr_size_t other_name = name_length(other, other_len);

    if (name != len && other_name != other_len) {
        return same(word, len, other, other_len);
    }
    return same(word, name, other, other_name);
}

int up_upgrade_lists(const char *list, const char *token)
{
    const char *word;
    apr_size_t len;

    while ((word = next_word(&list, &len)) != NULL) {
        if (same(word, len, token, strlen(token))) {
            return 1;
        }
    }
    return 0;
}

static int is_allowed(const up_protocols_t *allowed, const char *word,
                      apr_size_t len)
{
    const char *const *name;

    for (name = allowed->names; *name; name++) {
        if (matches(word, len, *name, strlen(*name))) {
            return 1;
        }
    }
    return allowed->any && !same(word, name_length(word, len), "h2c", 3);
}

const char *up_upgrade_allowed(apr_pool_t *p, const up_protocols_t *allowed,
                               const char *list)
{
    const char *result = NULL;
    const char *word;
    apr_size_t len;

    while (list && (word = next_word(&list, &len)) != NULL) {
        const char *protocol = apr_pstrmemdup(p, word, len);

        if (up_upgrade_is_protocol(protocol)
            && is_allowed(allowed, word, len)) {
            result = result ? apr_pstrcat(p, result, ", ", protocol, NULL)
                            : protocol;
        }
    }
    return result;
}

static int is_offered(const char *offer, const char *word, apr_size_t len)
{
    const char *other;
    apr_size_t other_len;

    while ((other = next_word(&offer, &other_len)) != NULL) {
        if (matches(word, len, other, other_len)) {
            return 1;
        }
    }
    return 0;
}

int up_upgrade_offered(const char *offer, const char *answer)
{
    const char *word;
    apr_size_t len;

    while (answer && (word = next_word(&answer, &len)) != NULL) {
        if (!is_offered(offer, word, len)) {
            return 0;
        }
    }
    return 1;
}
