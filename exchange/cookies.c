/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Reads and changes Set-Cookie fields; see cookies.h. */

#include "exchange/cookies.h"

#include <string.h>

#include "apr_cstr.h"
#include "apr_strings.h"

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *at)
{
    while (is_blank(*at)) {
        at++;
    }
    return at;
}

static char *trimmed(apr_pool_t *p, const char *from, const char *to)
{
    while (from < to && is_blank(*from)) {
        from++;
    }
    while (to > from && is_blank(to[-1])) {
        to--;
    }
    return apr_pstrmemdup(p, from, (apr_size_t)(to - from));
}

/* Where the part ends whose value begins at `at`. Browsers know no quotes and
 * end at any semicolon; a quoted value that is whole, as servers of the old
 * grammar (RFC 2109) write it, is left whole all the same. */
static const char *value_end(const char *at)
{
    const char *quoted = skip_blanks(at);

    if (*quoted == '"') {
        for (quoted++; *quoted != '\0' && *quoted != '"'; quoted++) {
            if (*quoted == '\\' && quoted[1] != '\0') {
                quoted++;
            }
        }
        if (*quoted == '"') {
            quoted = skip_blanks(quoted + 1);
            if (*quoted == ';' || *quoted == '\0') {
                return quoted;
            }
        }
    }
    return at + strcspn(at, ";");
}

/* Reads one part and returns what follows its semicolon, NULL: the end. */
static const char *read_part(up_cookie_t *cookie, const char *at)
{
    up_cookie_part_t *part = apr_array_push(cookie->parts);
    const char *sign = at + strcspn(at, "=;");
    const char *end = sign;

    part->name = trimmed(cookie->p, at, sign);
    part->value = NULL;
    if (*sign == '=') {
        end = value_end(sign + 1);
        part->value = trimmed(cookie->p, sign + 1, end);
    }
    return *end == ';' ? end + 1 : NULL;
}

static up_cookie_part_t *part_of(const up_cookie_t *cookie, int index)
{
    return &APR_ARRAY_IDX(cookie->parts, index, up_cookie_part_t);
}

int up_cookie_parse(apr_pool_t *p, const char *line, up_cookie_t *cookie)
{
    cookie->p = p;
    cookie->parts = apr_array_make(p, 6, sizeof(up_cookie_part_t));
    cookie->changed = 0;
    while (line != NULL) {
        line = read_part(cookie, line);
        if (part_of(cookie, 0)->value == NULL) {
            return 0;
        }
    }
    return 1;
}

static int is_named(const up_cookie_t *cookie, int index, const char *name)
{
    return apr_cstr_casecmp(part_of(cookie, index)->name, name) == 0;
}

int up_cookie_is(const up_cookie_t *cookie, int index, const char *name)
{
    return index > 0 && part_of(cookie, index)->value != NULL
           && is_named(cookie, index, name);
}

static int is_quoted(const char *value)
{
    apr_size_t len = strlen(value);

    return len >= 2 && value[0] == '"' && value[len - 1] == '"';
}

const char *up_cookie_value(const up_cookie_t *cookie, int index)
{
    const char *value = part_of(cookie, index)->value;

    if (value == NULL || !is_quoted(value)) {
        return value;
    }
    return apr_pstrmemdup(cookie->p, value + 1, strlen(value) - 2);
}

/* The parts behind it move up. */
static void drop(up_cookie_t *cookie, int index)
{
    int left = cookie->parts->nelts - index - 1;

    memmove(part_of(cookie, index), part_of(cookie, index) + 1,
            (apr_size_t)left * sizeof(up_cookie_part_t));
    cookie->parts->nelts--;
    cookie->changed = 1;
}

void up_cookie_replace(up_cookie_t *cookie, int index, const char *value)
{
    up_cookie_part_t *part = part_of(cookie, index);

    if (*value == '\0') {
        drop(cookie, index);
        return;
    }
    part->value = part->value != NULL && is_quoted(part->value)
                      ? apr_pstrcat(cookie->p, "\"", value, "\"", NULL)
                      : apr_pstrdup(cookie->p, value);
    cookie->changed = 1;
}

int up_cookie_same_domain(const char *domain, const char *other)
{
    return apr_cstr_casecmp(domain + (*domain == '.'),
                            other + (*other == '.')) == 0;
}

int up_cookie_fits(const char *value)
{
    for (; *value != '\0'; value++) {
        if ((unsigned char)*value < ' ' || *value == 0x7f || *value == ';') {
            return 0;
        }
    }
    return 1;
}

/* --- flags --------------------------------------------------------------- */

unsigned int up_cookie_flag(const char *word)
{
    static const char *const words[] = {
        "secure", "nosecure", "httponly", "nohttponly", "samesite=strict",
        "samesite=lax", "samesite=none", "nosamesite"
    };
    unsigned int i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (apr_cstr_casecmp(word, words[i]) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

static void remove_all(up_cookie_t *cookie, const char *name)
{
    int i = cookie->parts->nelts;

    while (--i > 0) {
        if (is_named(cookie, i, name)) {
            drop(cookie, i);
        }
    }
}

static void append(up_cookie_t *cookie, const char *name, const char *value)
{
    up_cookie_part_t *part = apr_array_push(cookie->parts);

    part->name = name;
    part->value = value;
    cookie->changed = 1;
}

/* There is an attribute of this name, with that value if it has one. */
static void ensure(up_cookie_t *cookie, const char *name, const char *value)
{
    int found = 0;
    int i;

    for (i = 1; i < cookie->parts->nelts; i++) {
        if (is_named(cookie, i, name)) {
            found = 1;
            if (value != NULL) {
                part_of(cookie, i)->value = value;
                cookie->changed = 1;
            }
        }
    }
    if (!found) {
        append(cookie, name, value);
    }
}

static void apply_same_site(up_cookie_t *cookie, unsigned int flags)
{
    if (flags & UP_COOKIE_STRICT) {
        ensure(cookie, "SameSite", "Strict");
    }
    else if (flags & UP_COOKIE_LAX) {
        ensure(cookie, "SameSite", "Lax");
    }
    else if (flags & UP_COOKIE_NONE) {
        ensure(cookie, "SameSite", "None");
    }
    else if (flags & UP_COOKIE_NOSAMESITE) {
        remove_all(cookie, "SameSite");
    }
}

void up_cookie_apply(up_cookie_t *cookie, unsigned int flags)
{
    if (flags & UP_COOKIE_SECURE) {
        ensure(cookie, "Secure", NULL);
    }
    else if (flags & UP_COOKIE_NOSECURE) {
        remove_all(cookie, "Secure");
    }
    if (flags & UP_COOKIE_HTTPONLY) {
        ensure(cookie, "HttpOnly", NULL);
    }
    else if (flags & UP_COOKIE_NOHTTPONLY) {
        remove_all(cookie, "HttpOnly");
    }
    apply_same_site(cookie, flags);
}

/* --- printing ------------------------------------------------------------ */

/* Several attributes may take any room; so one allocation, filled twice. */
static apr_size_t print_part(const up_cookie_part_t *part, char *to)
{
    apr_size_t name_len = strlen(part->name);
    apr_size_t value_len = part->value != NULL ? strlen(part->value) + 1 : 0;

    if (to != NULL) {
        memcpy(to, part->name, name_len);
        if (part->value != NULL) {
            to[name_len] = '=';
            memcpy(to + name_len + 1, part->value, value_len - 1);
        }
    }
    return name_len + value_len;
}

const char *up_cookie_print(const up_cookie_t *cookie)
{
    apr_size_t room = 1;
    char *text, *at;
    int i;

    for (i = 0; i < cookie->parts->nelts; i++) {
        room += print_part(part_of(cookie, i), NULL) + 2;
    }
    text = at = apr_palloc(cookie->p, room);
    for (i = 0; i < cookie->parts->nelts; i++) {
        if (i > 0) {
            *at++ = ';';
            *at++ = ' ';
        }
        at += print_part(part_of(cookie, i), at);
    }
    *at = '\0';
    return text;
}
