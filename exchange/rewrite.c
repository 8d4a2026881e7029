/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns which rule changes which field: Location, Content-Location, Refresh
 * and Set-Cookie.
 */

#include "exchange/rewrite.h"

#include <string.h>

#include "apr_strings.h"
#include "config/log.h"
#include "config/pass.h"
#include "config/rewrite_rules.h"
#include "exchange/cookies.h"
#include "exchange/fields.h"
#include "exchange/note.h"
#include "exchange/redirects.h"
#include "http_core.h"

static int count(const apr_array_header_t *rules)
{
    return rules ? rules->nelts : 0;
}

static const up_rule_t *rule_of(const apr_array_header_t *rules, int i)
{
    return &APR_ARRAY_IDX(rules, i, up_rule_t);
}

/* --- patterns ------------------------------------------------------------ */

/* Matchers give what takes the value's place; NULL: it stays, because the rule
 * does not match or an expression failed. A regular expression that is found
 * anywhere replaces all of the value. */
static const char *by_regex(request_rec *r, const up_rule_t *rule,
                            const char *value, int *pmatches)
{
    ap_regmatch_t found[AP_MAX_REG_MATCH];

    *pmatches = ap_regexec(rule->regex, value, AP_MAX_REG_MATCH, found, 0)
                == 0;
    return *pmatches ? up_text_match(r, rule->replacement, value,
                                     AP_MAX_REG_MATCH, found)
                     : NULL;
}

/* A string is a prefix of the value. */
static const char *by_prefix(request_rec *r, const up_rule_t *rule,
                             const char *value, int *pmatches)
{
    const char *prefix = up_text_value(r, rule->pattern);
    const char *replacement;

    *pmatches = prefix && *prefix
                && strncmp(value, prefix, strlen(prefix)) == 0;
    if (!*pmatches) {
        return NULL;
    }
    replacement = up_text_value(r, rule->replacement);
    return replacement ? up_redirect_swap(r->pool, value, prefix, replacement)
                       : NULL;
}

/* --- redirects ----------------------------------------------------------- */

/*
 * The backend's own URLs are below the location. Without a URI part that is
 * all of the backend's; of an evaluated pass whose URI part is all that is
 * sent nobody knows what belongs to it.
 */
static const char *by_pass(request_rec *r, const up_pass_t *pass,
                           const char *value, int *pmatches)
{
    const char *prefix = pass->url;
    const char *location = pass->location;

    if (pass->written) {
        prefix = apr_pstrcat(r->pool, "http://", pass->host_value, NULL);
    }
    if (!pass->uri) {
        prefix = apr_pstrcat(r->pool, prefix, "/", NULL);
        location = "/";
    }
    *pmatches = location && !(pass->written && pass->uri)
                && strncmp(value, prefix, strlen(prefix)) == 0;
    return *pmatches
               ? up_redirect_swap(r->pool, value, prefix, location) : NULL;
}

/* nginx: nobody has to write `default`, but for a pass with variables. */
static const char *by_default(request_rec *r, const up_pass_t *pass,
                              const char *value)
{
    int unused;

    return pass && !pass->written ? by_pass(r, pass, value, &unused) : NULL;
}

/* NULL: it stays as it is. */
static const char *moved(request_rec *r, const up_settings_t *settings,
                         const char *value)
{
    const up_note_t *note = up_note_get(r);
    const up_pass_t *pass = note ? note->pass : NULL;
    int matches = 0;
    int i;

    if (!settings->redirects) {
        return by_default(r, pass, value);
    }
    for (i = 0; i < count(settings->redirects); i++) {
        const up_rule_t *rule = rule_of(settings->redirects, i);
        const char *to;

        if (rule->usual) {
            to = pass ? by_pass(r, pass, value, &matches) : NULL;
        }
        else if (rule->regex) {
            to = by_regex(r, rule, value, &matches);
        }
        else {
            to = by_prefix(r, rule, value, &matches);
        }
        if (matches) {
            return to;
        }
    }
    return NULL;
}

/* A path alone becomes a URL of the server as the client knows it: so do
 * httpd's own redirects, and nginx's. */
static const char *location(request_rec *r, const up_settings_t *settings,
                            const char *value)
{
    const char *to = moved(r, settings, value);

    if (!to) {
        return value;
    }
    return *to == '/' ? ap_construct_url(r->pool, to, r) : to;
}

static const char *refresh(request_rec *r, const up_settings_t *settings,
                           const char *value)
{
    const char *url = up_redirect_refresh(value);
    const char *to = url ? moved(r, settings, url) : NULL;

    return to ? apr_pstrcat(r->pool,
                            apr_pstrmemdup(r->pool, value,
                                           (apr_size_t)(url - value)),
                            to, NULL)
              : value;
}

/* --- cookies ------------------------------------------------------------- */

/* An expression's value is one value: who has a say in it must not add an
 * attribute. A literal may; people write "/; Secure" in the place of a path,
 * which works with nginx. */
static int is_safe(request_rec *r, const up_rule_t *rule, const char *value)
{
    if (!rule->replacement->expr || up_cookie_fits(value)) {
        return 1;
    }
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0600)
                  "expression \"%s\" gives a semicolon or a control "
                  "character, the cookie keeps its value",
                  rule->replacement->source);
    return 0;
}

/* A domain and its replacement may begin with a dot or not; the cookie's own
 * stays. */
static const char *by_domain(request_rec *r, const up_rule_t *rule,
                             const char *value, int *pmatches)
{
    const char *domain = up_text_value(r, rule->pattern);
    const char *to;

    *pmatches = domain && up_cookie_same_domain(domain, value);
    to = *pmatches ? up_text_value(r, rule->replacement) : NULL;
    if (!to) {
        return NULL;
    }
    to += *to == '.';
    return *value == '.' && *to ? apr_pstrcat(r->pool, ".", to, NULL) : to;
}

typedef const char *matcher_t(request_rec *r, const up_rule_t *rule,
                              const char *value, int *pmatches);

/* The first of the rules that matches changes the attribute. */
static void change_part(request_rec *r, const apr_array_header_t *rules,
                        matcher_t *by_string, up_cookie_t *cookie, int index)
{
    const char *value = up_cookie_value(cookie, index);
    int matches = 0;
    int i;

    for (i = 0; !matches && i < count(rules); i++) {
        const up_rule_t *rule = rule_of(rules, i);
        const char *to = rule->regex ? by_regex(r, rule, value, &matches)
                                     : by_string(r, rule, value, &matches);

        if (to && is_safe(r, rule, to)) {
            up_cookie_replace(cookie, index, to);
        }
    }
}

/* From the end, for an attribute may vanish. */
static void change_parts(request_rec *r, const apr_array_header_t *rules,
                         const char *name, matcher_t *by_string,
                         up_cookie_t *cookie)
{
    int i;

    for (i = cookie->parts->nelts - 1; count(rules) && i > 0; i--) {
        if (up_cookie_is(cookie, i, name)) {
            change_part(r, rules, by_string, cookie, i);
        }
    }
}

static int names_cookie(request_rec *r, const up_rule_t *rule,
                        const char *name)
{
    const char *pattern;

    if (rule->regex) {
        return ap_regexec(rule->regex, name, 0, NULL, 0) == 0;
    }
    pattern = up_text_value(r, rule->pattern);
    return pattern && ap_cstr_casecmp(pattern, name) == 0;
}

static void change_flags(request_rec *r, const up_settings_t *settings,
                         up_cookie_t *cookie)
{
    const char *name = APR_ARRAY_IDX(cookie->parts, 0, up_cookie_part_t).name;
    int i, j;

    for (i = 0; i < count(settings->cookie_flags); i++) {
        const up_rule_t *rule = rule_of(settings->cookie_flags, i);
        unsigned int flags = 0;

        if (!names_cookie(r, rule, name)) {
            continue;
        }
        for (j = 0; j < rule->nflags; j++) {
            const char *word = up_text_value(r, rule->flags[j]);

            flags |= word ? up_cookie_flag(word) : 0;
        }
        up_cookie_apply(cookie, flags);
        return;
    }
}

static const char *cookie_line(request_rec *r, const up_settings_t *settings,
                               const char *value)
{
    up_cookie_t cookie;

    if (count(settings->cookie_domains) + count(settings->cookie_paths)
            + count(settings->cookie_flags) == 0
        || !up_cookie_parse(r->pool, value, &cookie)) {
        return value;
    }
    change_parts(r, settings->cookie_domains, "Domain", by_domain, &cookie);
    change_parts(r, settings->cookie_paths, "Path", by_prefix, &cookie);
    change_flags(r, settings, &cookie);
    return cookie.changed ? up_cookie_print(&cookie) : value;
}

/* ------------------------------------------------------------------------ */

const char *up_rewrite_value(request_rec *r, const up_settings_t *settings,
                             const up_field_t *field)
{
    const char *to;

    switch (*field->name | 0x20) { /* lower case, of a letter */
    case 'c':
        if (!up_field_is(field->name, "Content-Location")) {
            return field->value;
        }
        to = moved(r, settings, field->value);
        return to ? to : field->value;
    case 'l':
        return up_field_is(field->name, "Location")
                   ? location(r, settings, field->value) : field->value;
    case 'r':
        return up_field_is(field->name, "Refresh")
                   ? refresh(r, settings, field->value) : field->value;
    case 's':
        return up_field_is(field->name, "Set-Cookie")
                   ? cookie_line(r, settings, field->value) : field->value;
    default:
        return field->value;
    }
}
