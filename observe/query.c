/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Queries and heads. */

#include "observe/query.h"

#include "apr_escape.h"
#include "apr_strings.h"
#include "http_protocol.h"
#include "http_request.h"

const char *up_query_get(request_rec *r, const char *name)
{
    char *rest, *pair = apr_pstrdup(r->pool, r->args ? r->args : "");
    const char *found = NULL;

    for (pair = apr_strtok(pair, "&", &rest); pair;
         pair = apr_strtok(NULL, "&", &rest)) {
        char *value = strchr(pair, '=');

        if (value) {
            *value++ = '\0';
        }
        if (strcmp(pair, name) == 0) {
            found = value ? value : "";
        }
    }
    return found ? apr_punescape_url(r->pool, found, NULL, NULL, 1) : NULL;
}

int up_query_is_for(const request_rec *r, const char *handler)
{
    return r->handler && strcmp(r->handler, handler) == 0;
}

void up_query_answer(request_rec *r, const char *type)
{
    ap_set_content_type(r, type);
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
}

int up_query_reads(request_rec *r, const char *handler)
{
    if (!up_query_is_for(r, handler)) {
        return DECLINED;
    }
    if (r->method_number != M_GET) { /* HEAD is a GET to httpd */
        ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, -1);
        return HTTP_METHOD_NOT_ALLOWED;
    }
    return OK;
}
