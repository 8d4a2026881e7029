/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The stranger, and the same origin. */

#include "observe/guard.h"

#include "apr_strings.h"
#include "config/log.h"
#include "http_protocol.h"
#include "http_request.h"

#define NOBODY "192.0.2.1" /* RFC 5737: in examples only */

/* A request like this one, but of a stranger. What its rules write to the log
 * or leave in tables is nobody's business. */
static request_rec *make_stranger(request_rec *r)
{
    static const struct ap_logconf silent = { NULL, APLOG_EMERG };
    request_rec *other = apr_pmemdup(r->pool, r, sizeof(*r));
    const char *host = apr_table_get(r->headers_in, "Host");

    if (apr_sockaddr_info_get(&other->useragent_addr, NOBODY, APR_INET, 1, 0,
                              r->pool) != APR_SUCCESS) {
        return NULL;
    }
    other->useragent_ip = apr_pstrdup(r->pool, NOBODY);
    other->useragent_host = apr_pstrdup(r->pool, "stranger.invalid");
    other->headers_in = apr_table_make(r->pool, 2);
    if (host) {
        apr_table_setn(other->headers_in, "Host", host);
    }
    other->subprocess_env = apr_table_make(r->pool, 2);
    other->notes = apr_table_copy(r->pool, r->notes);
    other->err_headers_out = apr_table_copy(r->pool, r->err_headers_out);
    other->headers_out = apr_table_copy(r->pool, r->headers_out);
    other->user = NULL;
    other->log = &silent;
    return other;
}

static int is_refusal(int status)
{
    return status != OK && status != DECLINED;
}

int up_guard_closed(request_rec *r)
{
    request_rec *stranger;

    if (ap_some_authn_required(r)) {
        return 1;
    }
    stranger = make_stranger(r);
    return stranger && (is_refusal(ap_run_access_checker(stranger))
                        || is_refusal(ap_run_access_checker_ex(stranger)));
}

/* http://host[:port] of this server, as the client writes it. */
static int is_same_origin(request_rec *r, const char *origin)
{
    const char *host = apr_table_get(r->headers_in, "Host");
    const char *rest = strstr(origin, "://");

    return host && rest && ap_cstr_casecmp(rest + 3, host) == 0;
}

static const char *wrong_origin(request_rec *r)
{
    const char *origin = apr_table_get(r->headers_in, "Origin");
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site");

    if (!apr_table_get(r->headers_in, "X-Upstream-API")) {
        return "a change wants the field X-Upstream-API: 1";
    }
    if (origin && !is_same_origin(r, origin)) {
        return "the request comes from a page of another origin";
    }
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0) {
        return "the request comes from a page of another site";
    }
    return NULL;
}

const char *up_guard_refuses(request_rec *r)
{
    const char *why = wrong_origin(r);

    if (!why && !up_guard_closed(r)) {
        why = "everybody could change things here: write a Require (ip, "
              "user, valid-user, ...) beside SetHandler upstream-api, in the "
              "same <Location>";
    }
    if (why) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0851)
                      "%s %s is refused: %s", r->method, r->uri, why);
    }
    return why;
}
