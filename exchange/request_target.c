/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the choice of the request target: the client's bytes, its bytes with
 * the prefix replaced, or the decoded path escaped again.
 */

#include "exchange/request_target.h"

#include <string.h>

#include "apr_strings.h"
#include "config/pass.h"
#include "config/settings.h"
#include "exchange/uri_map.h"

/* The URI before anybody could rewrite it. */
typedef struct memory_t {
    const char *uri;
    const char *args; /* NULL: none */
} memory_t;

const void *up_target_remember(request_rec *r, const char *decoded)
{
    memory_t *memory = apr_palloc(r->pool, sizeof(*memory));

    /* Copies: both are changed in place by those who rewrite. */
    memory->uri = apr_pstrdup(r->pool, decoded);
    memory->args = apr_pstrdup(r->pool, r->args);
    return memory;
}

static int same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The client's own bytes from the path on, or NULL when they do not count:
 * a subrequest, an internal redirect, a rewrite, or an absolute-form target
 * without a path (RFC 9112 3.2.2). */
static const char *raw_target(const request_rec *r, const memory_t *memory)
{
    const char *raw = r->unparsed_uri;

    if (memory == NULL || r->main || r->prev || raw == NULL
        || !same(r->uri, memory->uri) || !same(r->args, memory->args)) {
        return NULL;
    }
    if (*raw == '/') {
        return raw;
    }
    raw = strstr(raw, "://");
    if (raw == NULL) {
        return NULL;
    }
    raw += strlen("://");
    raw += strcspn(raw, "/?#");
    return *raw == '/' ? raw : NULL;
}

static const char *with_args(request_rec *r, const char *path)
{
    if (r->args == NULL || *r->args == '\0') {
        return path;
    }
    return apr_pstrcat(r->pool, path, "?", r->args, NULL);
}

/* httpd leaves %2F in r->uri, but an escaped percent sign before "2F" looks
 * the same there: then the safe reading is that of a percent sign. */
static const char *escaped_path(request_rec *r, const char *path)
{
    int keep = r->unparsed_uri && !up_urimap_has_double(r->unparsed_uri);

    return up_urimap_escape(r->pool, path, keep);
}

/* nginx's way: an encoded slash is a slash. Where the client has escaped a
 * percent sign, too, the two cannot be told apart in r->uri. */
static const char *normalized_path(request_rec *r, const char *path)
{
    char *text = apr_pstrdup(r->pool, path);
    char *to = text;

    if (!r->unparsed_uri || up_urimap_has_double(r->unparsed_uri)) {
        return escaped_path(r, path);
    }
    for (; *path != '\0'; path++) {
        if (strncasecmp(path, "%2f", 3) == 0) {
            *to++ = '/';
            path += 2;
        }
        else {
            *to++ = *path;
        }
    }
    *to = '\0';
    return up_urimap_escape(r->pool, text, 0);
}

/* U in the place of the location's prefix. */
static const char *replaced(request_rec *r, const up_pass_t *pass,
                            const char *raw, int normalized)
{
    apr_size_t len = pass->location_len;
    const char *rest, *path;

    if (normalized) {
        path = normalized_path(r, r->uri + len);
    }
    else if (raw && up_urimap_match(raw, r->uri, len, &rest)) {
        path = up_urimap_protect(r->pool, rest, strcspn(rest, "?#"));
    }
    else {
        path = escaped_path(r, r->uri + len);
    }
    return with_args(r, apr_pstrcat(r->pool, pass->uri, path, NULL));
}

static const char *refuse(const char *text, int *pstatus,
                          const char **perror)
{
    *pstatus = HTTP_BAD_REQUEST;
    *perror = text;
    return NULL;
}

static const char *choose(request_rec *r, const up_pass_t *pass,
                          const memory_t *memory, int normalized)
{
    const char *raw = raw_target(r, memory);

    if (pass->written && pass->uri) {
        return pass->uri; /* all that is sent: nginx drops path and args */
    }
    /* A path that no longer starts with the location's name was rewritten
     * inside the location: nginx ignores the URI part then. */
    if (pass->uri && pass->location
        && strncmp(r->uri, pass->location, pass->location_len) == 0) {
        return replaced(r, pass, raw, normalized);
    }
    if (raw && pass->uri == NULL) {
        return raw;
    }
    return with_args(r, escaped_path(r, r->uri));
}

const char *up_target_own(request_rec *r, const void *baton)
{
    const char *raw = raw_target(r, baton);

    return raw ? raw : with_args(r, escaped_path(r, r->uri));
}

const char *up_target_of(request_rec *r, const up_settings_t *settings,
                         const up_pass_t *pass, const void *baton,
                         int *pstatus,
                         const char **perror)
{
    const char *target;

    if (r->uri == NULL || *r->uri != '/') {
        return refuse("request target without a path", pstatus, perror);
    }
    target = choose(r, pass, baton, settings->normalized_uri);
    if (!up_urimap_clean(target)) {
        return refuse("blank or control character in the request target",
                      pstatus, perror);
    }
    if (pass->written && pass->uri && up_urimap_has_parent(target)) {
        return refuse(".. in the evaluated path", pstatus, perror);
    }
    if (settings->normalized_uri && pass->uri
        && up_urimap_has_parent(target)) {
        return refuse(".. behind an encoded slash", pstatus, perror);
    }
    if (up_urimap_climbs(target)) {
        return refuse("encoded slash and .. in one path", pstatus, perror);
    }
    return target;
}

const char *up_target_slash_redirect(request_rec *r, const up_pass_t *pass)
{
    const char *location = pass->location;
    apr_size_t len = pass->location_len;

    if (r->main || r->uri == NULL || location == NULL || len < 2
        || location[len - 1] != '/' || strlen(r->uri) != len - 1
        || memcmp(r->uri, location, len - 1) != 0) {
        return NULL;
    }
    return with_args(r, escaped_path(r, location));
}
