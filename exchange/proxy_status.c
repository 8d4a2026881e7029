/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* How a try is written as a member of Proxy-Status. */

#include "exchange/proxy_status.h"

#include <string.h>

#include "apr_lib.h"
#include "apr_strings.h"

/* Who we are: a Token of RFC 9651 3.3.4 when the server's name is one, which
 * most are, else a String. */
static const char *identity(request_rec *r)
{
    const char *name = r->server->server_hostname;
    const char *at;

    if (!name || !*name) {
        return "httpd";
    }
    for (at = name; apr_isalnum(*at) || *at == '.' || *at == '-'; at++) {
    }
    return *at == '\0' && apr_isalpha(*name)
               ? name : apr_pstrcat(r->pool, "\"", name, "\"", NULL);
}

/* http_503 and so on: the status says it all. */
static int is_answer(const char *error)
{
    return strncmp(error, "http_", 5) == 0 && apr_isdigit(error[5]);
}

void up_proxystatus_add(request_rec *r, const up_settings_t *settings,
                        const up_try_t *tried, apr_table_t *headers)
{
    const char *member;
    int answered = tried && tried->answer;

    if (!settings->proxy_status) {
        return;
    }
    member = identity(r);
    if (answered) {
        member = apr_psprintf(r->pool, "%s; received-status=%d", member,
                              tried->answer);
    }
    if (tried && tried->error && !is_answer(tried->error)) {
        member = apr_pstrcat(r->pool, member, "; error=", tried->error, NULL);
    }
    apr_table_mergen(headers, "Proxy-Status", member);
}
