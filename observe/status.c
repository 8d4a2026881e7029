/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The page stands in observe/page/; make puts its parts together as
 * status_page.h, with the hashes that let a browser run and style nothing
 * else.
 */

#include "observe/status.h"

#include "httpd.h"

#include "apr_strings.h"
#include "http_config.h"
#include "http_protocol.h"
#include "mod_status.h"
#include "observe/query.h"
#include "observe/report.h"
#include "observe/view.h"
#include "status_page.h"

#define HANDLER "upstream-status"
#define POLICY                                                                \
    "default-src 'none'; connect-src 'self'; base-uri 'none'; "               \
    "form-action 'none'; frame-ancestors 'none'; "                            \
    "script-src '" STATUS_PAGE_SCRIPT "'; style-src '" STATUS_PAGE_STYLE "'"

/* Where a <Location> has SetHandler upstream-api, NULL: nowhere. */
static const char *api;

static const char *find_api(apr_pool_t *p, const ap_directive_t *node,
                            const char *location)
{
    const char *found = NULL;

    for (; node && !found; node = node->next) {
        if (ap_cstr_casecmp(node->directive, "SetHandler") == 0) {
            const char *args = node->args;

            found = ap_cstr_casecmp(ap_getword_conf(p, &args), "upstream-api")
                            == 0 ? location : NULL;
        }
        else if (ap_cstr_casecmp(node->directive, "<Location") == 0) {
            const char *args = node->args;
            char *path = ap_getword_conf(p, &args);

            path[strcspn(path, ">")] = '\0';
            found = find_api(p, node->first_child,
                             *path == '/' ? path : NULL);
        }
        else {
            found = find_api(p, node->first_child, location);
        }
    }
    return found;
}

static int post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp,
                       server_rec *s)
{
    (void)plog;
    (void)ptemp;
    (void)s;
    api = find_api(p, ap_conftree, NULL);
    return OK;
}

static int answer_json(request_rec *r)
{
    json_t *json = up_report_make(up_view_make(r->pool,
                                               up_query_get(r, "upstream")));

    if (json) {
        json_object_set_new(json, "api", api ? json_string(api)
                                             : json_null());
    }
    return up_report_send(r, HTTP_OK, json);
}

static int answer_page(request_rec *r)
{
    up_query_answer(r, "text/html; charset=utf-8");
    apr_table_setn(r->headers_out, "Content-Security-Policy", POLICY);
    ap_set_content_length(r, sizeof(status_page) - 1);
    if (!r->header_only) {
        ap_rwrite(status_page, sizeof(status_page) - 1, r);
    }
    return OK;
}

static int handler(request_rec *r)
{
    const char *format;
    int status;

    status = up_query_reads(r, HANDLER);
    if (status != OK) {
        return status;
    }
    format = up_query_get(r, "format");
    if (format && strcmp(format, "json") == 0) {
        return answer_json(r);
    }
    return answer_page(r);
}

/* --- mod_status ---------------------------------------------------------- */

static apr_int64_t number(const up_number_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

static apr_int64_t answered(const up_counts_t *counts)
{
    apr_int64_t n = 0;
    int i;

    for (i = UP_COUNT_ANSWERED_1XX; i <= UP_COUNT_UNANSWERED; i++) {
        n += number(&counts->counts[i]);
    }
    return n;
}

static void print_peer(request_rec *r, const up_groupview_t *group,
                       const up_peerview_t *peer, int is_short)
{
    const char *form = is_short
        ? "Upstream %s %s: %s active=%" APR_INT64_T_FMT " idle=%"
          APR_INT64_T_FMT " requests=%" APR_INT64_T_FMT " 5xx=%"
          APR_INT64_T_FMT "\n"
        : "<tr><td>%s</td><td>%s</td><td>%s</td><td>%" APR_INT64_T_FMT
          "</td><td>%" APR_INT64_T_FMT "</td><td>%" APR_INT64_T_FMT
          "</td><td>%" APR_INT64_T_FMT "</td></tr>\n";

    ap_rprintf(r, form, ap_escape_html(r->pool, group->name),
               ap_escape_html(r->pool, peer->name),
               up_view_condition(peer->condition),
               number(&peer->counts.gauges[UP_GAUGE_ACTIVE]),
               number(&peer->counts.gauges[UP_GAUGE_IDLE]),
               answered(&peer->counts),
               number(&peer->counts.counts[UP_COUNT_ANSWERED_5XX]));
}

static int status_hook(request_rec *r, int flags)
{
    const apr_array_header_t *groups = up_view_make(r->pool, NULL);
    int is_short = flags & AP_STATUS_SHORT;
    int i, k;

    if (!groups->nelts) {
        return OK;
    }
    if (!is_short) {
        ap_rputs("<hr />\n<h1>Upstream groups</h1>\n<table border=\"0\">\n"
                 "<tr><th>Group</th><th>Server</th><th>State</th>"
                 "<th>Active</th><th>Idle</th><th>Requests</th>"
                 "<th>5xx</th></tr>\n", r);
    }
    for (i = 0; i < groups->nelts; i++) {
        const up_groupview_t *group = &APR_ARRAY_IDX(groups, i,
                                                     up_groupview_t);

        for (k = 0; k < group->peers->nelts; k++) {
            print_peer(r, group, &APR_ARRAY_IDX(group->peers, k,
                                                up_peerview_t), is_short);
        }
    }
    if (!is_short) {
        ap_rputs("</table>\n", r);
    }
    return OK;
}

void up_status_register(apr_pool_t *p)
{
    (void)p;
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    APR_OPTIONAL_HOOK(ap, status_hook, status_hook, NULL, NULL,
                      APR_HOOK_MIDDLE);
}
