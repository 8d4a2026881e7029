/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * An example of a module that takes part in the exchanges of
 * mod_upstream_proxy: it does a little at every hook, told by fields of the
 * request, and writes what it sees into the error log at info.
 *
 *     apxs -c -i -a -I /path/to/mod_upstream_proxy mod_upstream_example.c
 *
 * In earnest such fields would come from a directive, a cookie or a table, not
 * from whoever sends the request.
 */

#include "httpd.h"
#include "http_config.h"
#include "http_log.h"
#include "http_main.h"
#include "http_request.h"
#include "apr_strings.h"
#include "mod_upstream_proxy.h"

extern module AP_MODULE_DECLARE_DATA upstream_example_module;

APLOG_USE_MODULE(upstream_example);

static APR_OPTIONAL_FN_TYPE(up_request_view) *request_view;
static APR_OPTIONAL_FN_TYPE(up_request_servers) *request_servers;
static APR_OPTIONAL_FN_TYPE(up_request_field) *request_field;

/* What it keeps of an exchange: in the request's configuration. */
typedef struct seen_t {
    int connected;
    int failed;
    int final; /* the status that the client gets for it */
} seen_t;

static seen_t *seen_of(request_rec *r)
{
    return ap_get_module_config(r->request_config, &upstream_example_module);
}

static const char *asked(const request_rec *r, const char *field)
{
    return apr_table_get(r->headers_in, field);
}

/* Whoever says X-Example-Refuse gets 403, and no server is asked. */
static int on_pre_connect(request_rec *r, up_request_t *u)
{
    (void)u;
    ap_set_module_config(r->request_config, &upstream_example_module,
                         apr_pcalloc(r->pool, sizeof(seen_t)));
    return asked(r, "X-Example-Refuse") ? HTTP_FORBIDDEN : DECLINED;
}

/* X-Example-Server: which server; "idle": the one with the least to do, among
 * those that may be chosen. */
static int on_select_peer(request_rec *r, up_request_t *u, int nth,
                          const char **pserver)
{
    const char *name = asked(r, "X-Example-Server");
    const up_server_view_t *best = NULL;
    const apr_array_header_t *servers;
    int i;

    if (!name || nth > 1) {
        return DECLINED; /* another try goes where the group sends it */
    }
    if (strcmp(name, "idle") != 0) {
        *pserver = name;
        return OK;
    }
    servers = request_servers(u, r->pool);
    for (i = 0; i < servers->nelts; i++) {
        const up_server_view_t *server = &APR_ARRAY_IDX(servers, i,
                                                        up_server_view_t);

        if (server->usable && (!best || server->in_use < best->in_use)) {
            best = server;
        }
    }
    if (!best) {
        return DECLINED;
    }
    *pserver = best->name;
    return OK;
}

static void on_connected(request_rec *r, up_request_t *u)
{
    up_view_t view;

    request_view(u, &view, sizeof(view));
    seen_of(r)->connected++;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "example: try %d on a %s connection to %s", view.tries,
                  view.reused ? "kept" : "new", view.server);
}

/* A field for the server; X-Example-Break tries to break out of it. */
static int on_request_out(request_rec *r, up_request_t *u,
                          apr_table_t *fields)
{
    up_view_t view;

    request_view(u, &view, sizeof(view));
    apr_table_setn(fields, "X-Example-Try",
                   apr_psprintf(r->pool, "%d at %s", view.tries,
                                view.server));
    apr_table_unset(fields, "X-Example-Secret");
    apr_table_setn(fields, "Content-Length", "77"); /* has no effect */
    if (asked(r, "X-Example-Break")) {
        apr_table_setn(fields, "X-Example-Try", "1\r\nX-More: 1");
    }
    return asked(r, "X-Example-No-Send") ? HTTP_SERVICE_UNAVAILABLE
                                         : DECLINED;
}

/* A field for the client. An answer that says X-Reject is not passed on. */
static int on_response_in(request_rec *r, up_request_t *u)
{
    up_view_t view;

    if (request_field(u, "X-Reject")) {
        return HTTP_BAD_GATEWAY;
    }
    request_view(u, &view, sizeof(view));
    apr_table_setn(r->headers_out, "X-Example",
                   apr_psprintf(r->pool, "%s said %d in try %d of %s",
                                view.server, view.status, view.tries,
                                view.group));
    return DECLINED;
}

static void note_failure(request_rec *r, up_request_t *u, const char *where,
                         int retry)
{
    up_view_t view;

    request_view(u, &view, sizeof(view));
    seen_of(r)->failed++;
    ap_log_rerror(APLOG_MARK, APLOG_INFO, view.rv, r,
                  "example: %s: try %d at %s: %s (%s)%s", where, view.tries,
                  view.server, view.error, view.reason,
                  retry ? ", again" : "");
}

/* X-Example-Retry: no is a veto, yes a wish. */
static void have_a_say(const request_rec *r, int *pretry)
{
    const char *say = asked(r, "X-Example-Retry");

    if (say) {
        *pretry = strcmp(say, "yes") == 0;
    }
}

static void on_connect_failed(request_rec *r, up_request_t *u, int *pretry)
{
    have_a_say(r, pretry);
    note_failure(r, u, "connect failed", *pretry);
}

static void on_try_failed(request_rec *r, up_request_t *u, int *pretry)
{
    have_a_say(r, pretry);
    note_failure(r, u, "try failed", *pretry);
}

/* Whatever it was, X-Example-Status is what the client sees of it. */
static void on_failed(request_rec *r, up_request_t *u, int *pstatus)
{
    const char *status = asked(r, "X-Example-Status");

    (void)u;
    if (status) {
        *pstatus = (int)apr_atoi64(status);
    }
    seen_of(r)->final = *pstatus;
}

static void on_log(request_rec *r, up_request_t *u)
{
    const seen_t *seen = seen_of(r);
    up_view_t view;

    request_view(u, &view, sizeof(view));
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "example: ended: %d tries, %d connections, %d failures, "
                  "final %d, %" APR_OFF_T_FMT " bytes sent", view.tries,
                  seen->connected, seen->failed, seen->final, view.sent);
}

static void on_peer_state_changed(const char *group, const char *server,
                                  up_peer_news_e news)
{
    ap_log_error(APLOG_MARK, APLOG_NOTICE, 0, ap_server_conf,
                 "example: server %s of %s is %s", server, group,
                 news == UP_PEER_UP ? "back" : "out");
}

/* The functions are there when all modules have registered. */
static void find_functions(void)
{
    request_view = APR_RETRIEVE_OPTIONAL_FN(up_request_view);
    request_servers = APR_RETRIEVE_OPTIONAL_FN(up_request_servers);
    request_field = APR_RETRIEVE_OPTIONAL_FN(up_request_field);
}

#define HOOK(name)                                                            \
    APR_OPTIONAL_HOOK(up, upstream_##name, on_##name, NULL, NULL,             \
                      APR_HOOK_MIDDLE)

static void register_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_optional_fn_retrieve(find_functions, NULL, NULL, APR_HOOK_MIDDLE);
    HOOK(pre_connect);
    HOOK(select_peer);
    HOOK(connected);
    HOOK(request_out);
    HOOK(response_in);
    HOOK(connect_failed);
    HOOK(try_failed);
    HOOK(failed);
    HOOK(log);
    HOOK(peer_state_changed);
}

module AP_MODULE_DECLARE_DATA upstream_example_module = {
    STANDARD20_MODULE_STUFF,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    register_hooks,
    0
};
