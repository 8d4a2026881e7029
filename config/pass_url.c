/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the grammar of UpstreamPass's URL.
 */

#include "config/pass_url.h"

#include <string.h>

#include "apr_strings.h"
#include "config/address.h"

/* Takes the scheme off: *prest is what follows. */
static const char *parse_scheme(const char *url, const char **prest)
{
    apr_size_t len = up_passurl_scheme(url);

    if (len == 0) {
        return "has an invalid URL prefix: write http://host:port, "
               "http://group or http://unix:/path, or https:// instead";
    }
    *prest = url + len;
    return NULL;
}

apr_size_t up_passurl_scheme(const char *url)
{
    if (strncasecmp(url, "https://", 8) == 0) {
        return 8;
    }
    return strncasecmp(url, "http://", 7) == 0 ? 7 : 0;
}

static int has_bad_bytes(const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte <= ' ' || byte >= 0x7f || strchr("\"<>\\^`{|}#", byte)) {
            return 1;
        }
    }
    return 0;
}

/* Where the URI part begins. A socket's path is full of slashes, so there it
 * follows a second colon. */
static apr_size_t authority_length(const char *rest, const char **puri)
{
    apr_size_t len;

    if (strncasecmp(rest, "unix:", 5) != 0) {
        len = strcspn(rest, "/?");
        *puri = rest + len;
        return len;
    }
    len = 5 + strcspn(rest + 5, ":");
    *puri = rest + len + (rest[len] == ':');
    return len;
}

static const char *set_uri(apr_pool_t *p, up_pass_t *pass, const char *uri)
{
    if (uri[0] == '\0') {
        return NULL;
    }
    if (uri[0] != '/' && uri[0] != '?') {
        return "wants a URI that begins with / after the socket's path";
    }
    if (has_bad_bytes(uri)) {
        return "wants a URI in which blanks, #, quotes, braces and bytes "
               "outside ASCII are written as %XX";
    }
    /* http://host?k=1: a request target has to begin with a slash. */
    pass->uri = uri[0] == '?' ? apr_pstrcat(p, "/", uri, NULL)
                              : apr_pstrdup(p, uri);
    return NULL;
}

static void set_values(apr_pool_t *p, up_pass_t *pass, int v6)
{
    if (pass->unix_path != NULL) {
        pass->host_value = "localhost";
        pass->port_value = "";
        return;
    }
    pass->host_value = v6 ? apr_psprintf(p, "[%s]", pass->host) : pass->host;
    pass->port_value = apr_psprintf(p, "%hu", pass->port);
    if (pass->port != up_pass_usual_port(pass)) {
        pass->host_value = apr_psprintf(p, "%s:%hu", pass->host_value,
                                        pass->port);
    }
}

const char *up_passurl_parse(apr_pool_t *p, const char *url, up_pass_t *pass,
                             const char **pword)
{
    const char *rest = NULL, *uri, *error;
    up_address_t address;
    apr_size_t len;

    *pword = url;
    error = parse_scheme(url, &rest);
    if (error != NULL) {
        return error;
    }
    len = authority_length(rest, &uri);
    if (memchr(rest, '@', len) != NULL && strncasecmp(rest, "unix:", 5) != 0) {
        return "cannot log in with a name in the URL: write UpstreamSetHeader "
               "Authorization \"Basic ...\"";
    }
    error = up_address_parse(p, apr_pstrmemdup(p, rest, len), &address);
    if (error != NULL) {
        return error;
    }
    pass->url = apr_pstrdup(p, url);
    pass->host = address.host;
    pass->unix_path = address.unix_path;
    pass->has_port = address.port != 0;
    pass->tls = up_passurl_scheme(url) == 8;
    pass->port = pass->has_port ? address.port : up_pass_usual_port(pass);
    set_values(p, pass, address.v6);
    *pword = uri;
    return set_uri(p, pass, uri);
}

apr_size_t up_passurl_prefix(const char *url)
{
    const char *rest = NULL, *uri;

    if (parse_scheme(url, &rest) != NULL) {
        return 0;
    }
    authority_length(rest, &uri);
    return (apr_size_t)(uri - url);
}

const char *up_passurl_fixed(apr_pool_t *p, const char *url)
{
    const char *expression = strstr(url, "%{");
    apr_size_t len = up_passurl_prefix(url);

    if (len == 0 || (apr_size_t)(expression - url) < len) {
        return NULL;
    }
    /* the colon behind a socket's path is no part of it */
    return apr_pstrmemdup(p, url, url[len - 1] == ':' ? len - 1 : len);
}
