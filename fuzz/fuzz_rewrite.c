/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes exchange/cookies.c and exchange/redirects.c: the input is a field's
 * value, a replacement, a prefix and a byte of flags. No line end may come
 * out, no more than went in and what was put there, and what is put together
 * must come apart again as it was.
 */

#define FUZZ_REAL_POOLS
#include "fuzz/fuzz.h"
#include "exchange/cookies.h"
#include "exchange/redirects.h"

#include "apr_cstr.h"
#include "apr_strings.h"

static void require_good(const char *text, size_t most)
{
    require(strpbrk(text, "\r\n") == NULL);
    require(strlen(text) <= most);
}

static int count_named(const up_cookie_t *cookie, const char *name)
{
    int found = 0;
    int i;

    for (i = 1; i < cookie->parts->nelts; i++) {
        found += apr_cstr_casecmp(APR_ARRAY_IDX(cookie->parts, i,
                                  up_cookie_part_t).name, name) == 0;
    }
    return found;
}

/* As a browser sees it, which ends an attribute at any semicolon. */
static int is_secure(const char *line)
{
    while ((line = strchr(line, ';')) != NULL) {
        size_t len;

        line++;
        line += strspn(line, " \t");
        len = strcspn(line, " \t=;");
        if (len == 6 && apr_cstr_casecmpn(line, "Secure", 6) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Comes apart as it is now. */
static void require_stable(apr_pool_t *p, const up_cookie_t *cookie)
{
    const char *text = up_cookie_print(cookie);
    up_cookie_t again;

    require(up_cookie_parse(p, text, &again));
    require(again.parts->nelts == cookie->parts->nelts);
    require(strcmp(up_cookie_print(&again), text) == 0);
}

static void check_cookie(apr_pool_t *p, const char *line, const char *put,
                         unsigned int flags)
{
    up_cookie_t cookie;
    size_t most = 2 * strlen(line) + 64;
    int i;

    if (!up_cookie_parse(p, line, &cookie)) {
        return;
    }
    require_good(up_cookie_print(&cookie), most);
    require_stable(p, &cookie);
    up_cookie_apply(&cookie, flags);
    most += 9 * (size_t)cookie.parts->nelts;
    require_good(up_cookie_print(&cookie), most);
    if (flags & UP_COOKIE_SECURE) {
        require(count_named(&cookie, "Secure") > 0);
        require(is_secure(up_cookie_print(&cookie)));
    }
    else if (flags & UP_COOKIE_NOSECURE) {
        require(count_named(&cookie, "Secure") == 0);
    }
    for (i = cookie.parts->nelts - 1; i > 0; i--) {
        if (up_cookie_is(&cookie, i, "Path")) {
            require_good(up_cookie_value(&cookie, i), most);
            up_cookie_replace(&cookie, i, put);
            most += strlen(put);
        }
    }
    require_good(up_cookie_print(&cookie), most);
    (void)up_cookie_same_domain(line, put);
}

static void check_redirect(apr_pool_t *p, const char *value, const char *put,
                           const char *prefix)
{
    size_t len = strlen(value);
    up_capture_t found[2] = { { 0, (apr_ssize_t)len },
                              { (apr_ssize_t)len / 2, (apr_ssize_t)len } };
    const char *url = up_redirect_refresh(value);
    const char *to = up_redirect_swap(p, value, prefix, put);

    require(url == NULL || (url >= value + 4 && url <= value + len));
    if (to) {
        require_good(to, len + strlen(put) - strlen(prefix));
    }
    require_good(up_redirect_expand(p, put, value, found, 2),
                 strlen(put) * (len + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line[3];
    char *text;
    apr_pool_t *p;
    int i;

    if (size == 0) {
        return 0;
    }
    apr_pool_create(&p, NULL);
    text = apr_pstrmemdup(p, (const char *)data, size - 1);
    for (i = 0; i < 3; i++) {
        line[i] = text;
        text += strcspn(text, "\r\n");
        if (*text != '\0') {
            *text++ = '\0';
        }
    }
    check_cookie(p, line[0], line[1], data[size - 1]);
    check_redirect(p, line[0], line[1], line[2]);
    apr_pool_destroy(p);
    return 0;
}
