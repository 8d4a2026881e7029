/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the evaluation of UpstreamPass. Nothing that a client has sent
 * decoded may split a request line or take a segment back (CVE-2023-25690).
 */

#include "exchange/pass_value.h"

#include <string.h>

#include "apr_strings.h"
#include "config/group.h"
#include "config/pass.h"
#include "config/pass_parts.h"
#include "config/pass_url.h"
#include "exchange/uri_map.h"

/* Has the URI part begun where `url` ends? A socket's path ends with a colon.
 */
static int in_uri(const char *url)
{
    apr_size_t len = up_passurl_prefix(url);

    return len > 0 && (url[len] != '\0'
                       || (url[len - 1] == ':'
                           && strcasecmp(url + up_passurl_scheme(url),
                                         "unix:") != 0));
}

/* Of a decoded value, what belongs to the URI part, escaped again. */
static const char *escape(request_rec *r, const char *value, int uri)
{
    int keep = r->unparsed_uri && !up_urimap_has_double(r->unparsed_uri);
    apr_size_t len = uri ? 0 : strcspn(value, "/?");

    return apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, value, len),
                       up_urimap_escape(r->pool, value + len, keep), NULL);
}

static const char *evaluate(request_rec *r, const apr_array_header_t *parts)
{
    const char *url = "";
    int i;

    for (i = 0; i < parts->nelts; i++) {
        const up_passpart_t *part = &APR_ARRAY_IDX(parts, i, up_passpart_t);
        const char *value = up_text_raw(r, part->text);

        if (value == NULL) {
            return NULL;
        }
        if (part->decoded) {
            value = escape(r, value, in_uri(url));
        }
        url = apr_pstrcat(r->pool, url, value, NULL);
    }
    return url;
}

static const up_pass_t *refuse(int status, const char *text, int *pstatus,
                               const char **perror)
{
    *pstatus = status;
    *perror = text;
    return NULL;
}

/* The evaluated URL, with a clean authority and an escaped URI part. */
static const char *clean(request_rec *r, const char *url)
{
    apr_size_t len = up_passurl_prefix(url);
    const char *authority = apr_pstrmemdup(r->pool, url, len);

    if (!up_urimap_clean(authority)) {
        return NULL;
    }
    return apr_pstrcat(r->pool, authority,
                       up_urimap_protect_target(r->pool, url + len), NULL);
}

const up_pass_t *up_passvalue_of(request_rec *r, const up_pass_t *pass,
                                 int *pstatus, const char **perror)
{
    const char *url, *word, *error;
    up_pass_t *value;

    if (pass->parts == NULL) {
        return pass;
    }
    url = evaluate(r, pass->parts);
    if (url == NULL) {
        return refuse(HTTP_INTERNAL_SERVER_ERROR, "its expression failed",
                      pstatus, perror);
    }
    url = clean(r, url);
    if (url == NULL) {
        return refuse(HTTP_BAD_REQUEST, "blank or control character in the "
                      "host", pstatus, perror);
    }
    value = apr_pmemdup(r->pool, pass, sizeof(*value));
    value->written = pass;
    value->uri = NULL;
    error = up_passurl_parse(r->pool, url, value, &word);
    if (error != NULL) {
        return refuse(HTTP_INTERNAL_SERVER_ERROR,
                      apr_psprintf(r->pool, "the value \"%s\" %s",
                                   ap_escape_logitem(r->pool, word), error),
                      pstatus, perror);
    }
    if (value->unix_path != NULL && ap_strcasestr(pass->url, "unix:") == NULL) {
        return refuse(HTTP_BAD_REQUEST, "the value names a socket: that, or "
                      "its beginning, has to stand in the configuration",
                      pstatus, perror);
    }
    if (value->group == NULL) {
        value->group = up_group_named(value);
    }
    return value;
}
