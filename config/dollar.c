/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the table of nginx's variables and of the expressions for them. The
 * one for people is in docs/directives.md.
 */

#include "config/dollar.h"

#include <string.h>

#include "apr_lib.h"
#include "apr_strings.h"

typedef struct dollar_t {
    const char *name;
    const char *instead; /* NULL: there is no expression for it */
} dollar_t;

static const dollar_t variables[] = {
    {"args", "%{QUERY_STRING}"},
    {"content_length", "%{HTTP:Content-Length}"},
    {"content_type", "%{HTTP:Content-Type}"},
    {"document_root", "%{DOCUMENT_ROOT}"},
    {"document_uri", "%{REQUEST_URI}"},
    {"host", "%{HTTP_HOST}"},
    {"hostname", NULL},
    {"https", "%{HTTPS}"},
    {"is_args", NULL},
    {"proxy_add_x_forwarded_for", "%{UPSTREAM_ADD_X_FORWARDED_FOR}"},
    {"proxy_host", "%{UPSTREAM_HOST}"},
    {"proxy_port", "%{UPSTREAM_PORT}"},
    {"query_string", "%{QUERY_STRING}"},
    {"remote_addr", "%{REMOTE_ADDR}"},
    {"remote_port", "%{REMOTE_PORT}"},
    {"remote_user", "%{REMOTE_USER}"},
    {"request", "%{THE_REQUEST}"},
    {"request_body", NULL},
    {"request_id", "%{reqenv:UNIQUE_ID} (mod_unique_id)"},
    {"request_method", "%{REQUEST_METHOD}"},
    {"request_uri", NULL},
    {"scheme", "%{REQUEST_SCHEME}"},
    {"server_addr", NULL},
    {"server_name", "%{SERVER_NAME}"},
    {"server_port", "%{SERVER_PORT}"},
    {"server_protocol", "%{SERVER_PROTOCOL}"},
    {"uri", "%{REQUEST_URI}"},
    {NULL, NULL}
};

/* Variables of a family: the rest of the name is a name, too. */
typedef struct family_t {
    const char *prefix;
    const char *instead; /* what stands in front of the name, NULL: nothing */
    int is_field;        /* the name is a header field's */
} family_t;

static const family_t families[] = {
    {"arg_", NULL, 0},
    {"cookie_", NULL, 0},
    {"http_", "%{HTTP:", 1},
    {"ssl_", NULL, 0},
    {"upstream_http_", "%{upstream_http:", 1},
    {"upstream_cookie_", "%{upstream_cookie:", 0},
    {"upstream_", "%{UPSTREAM_", 0},
    {NULL, NULL, 0}
};

/* x_real_ip as a field's name, or in the capitals of a variable's; a cookie's
 * name stays as it is. */
static const char *respelled(apr_pool_t *p, const char *rest,
                             const family_t *family)
{
    int is_variable = strchr(family->instead, ':') == NULL;
    char *text = apr_pstrdup(p, rest);
    char *at;

    for (at = text; *at != '\0'; at++) {
        if (is_variable) {
            *at = (char)apr_toupper(*at);
        }
        else if (family->is_field && *at == '_') {
            *at = '-';
        }
    }
    return text;
}

static const char *hint(apr_pool_t *p, const char *name, const char *instead)
{
    if (instead == NULL) {
        return apr_psprintf(p, "$%s is nginx's, and no expression alone "
                            "stands for it: see docs/directives.md, "
                            "\"nginx's variables\"", name);
    }
    return apr_psprintf(p, "$%s is nginx's: write %s", name, instead);
}

static const char *hint_of_family(apr_pool_t *p, const char *name,
                                  const family_t *family)
{
    const char *rest = name + strlen(family->prefix);

    return hint(p, name, family->instead == NULL ? NULL
                : apr_pstrcat(p, family->instead, respelled(p, rest, family),
                              "}", NULL));
}

static const char *look_up(apr_pool_t *p, const char *name)
{
    const family_t *family;
    const dollar_t *one;

    for (one = variables; one->name != NULL; one++) {
        if (strcmp(one->name, name) == 0) {
            return hint(p, name, one->instead);
        }
    }
    for (family = families; family->prefix != NULL; family++) {
        apr_size_t len = strlen(family->prefix);

        if (strncmp(family->prefix, name, len) == 0 && name[len] != '\0') {
            return hint_of_family(p, name, family);
        }
    }
    return NULL;
}

const char *up_dollar_hint(apr_pool_t *p, const char *text)
{
    const char *found = NULL;

    while (found == NULL && (text = strchr(text, '$')) != NULL) {
        apr_size_t len = 0;

        text++;
        text += *text == '{';
        while (apr_isalnum(text[len]) || text[len] == '_') {
            len++;
        }
        found = look_up(p, apr_pstrmemdup(p, text, len));
        text += len;
    }
    return found;
}
