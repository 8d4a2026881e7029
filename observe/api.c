/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what may be asked of the API: GET reads, PATCH changes a server, POST
 * resets counts.
 */

#include "observe/api.h"

#include "httpd.h"

#include "apr_strings.h"
#include "config/log.h"
#include "http_config.h"
#include "http_protocol.h"
#include "http_request.h"
#include "observe/guard.h"
#include "observe/order.h"
#include "observe/query.h"
#include "observe/report.h"
#include "observe/state_file.h"
#include "peers/ledger.h"
#include "peers/queue.h"

#define HANDLER "upstream-api"
#define MOST 65536 /* bytes of a request body */

static up_group_t *group_asked(request_rec *r)
{
    const char *name = up_query_get(r, "upstream");

    return name ? up_group_find(name) : NULL;
}

/* --- reading ------------------------------------------------------------- */

/* The peers that the query does not ask for are taken out. */
static void narrow(request_rec *r, const apr_array_header_t *groups)
{
    const char *names = up_query_get(r, "peer");
    int i, k, kept;

    for (i = 0; names && i < groups->nelts; i++) {
        apr_array_header_t *peers = APR_ARRAY_IDX(groups, i,
                                                  up_groupview_t).peers;

        for (k = kept = 0; k < peers->nelts; k++) {
            up_peerview_t *peer = &APR_ARRAY_IDX(peers, k, up_peerview_t);

            if (strcmp(peer->name, names) == 0) {
                memmove(&APR_ARRAY_IDX(peers, kept++, up_peerview_t), peer,
                        sizeof(*peer));
            }
        }
        peers->nelts = kept;
    }
}

static int answer(request_rec *r)
{
    apr_array_header_t *groups = up_view_make(r->pool,
                                              up_query_get(r, "upstream"));
    json_t *json;

    narrow(r, groups);
    json = up_report_make(groups);
    if (json) {
        json_object_set_new(json, "may_change",
                            json_boolean(up_guard_closed(r)));
    }
    return up_report_send(r, HTTP_OK, json);
}

/* --- changing ------------------------------------------------------------ */

/* The body, as JSON. NULL: the request is answered, with *pstatus. */
static json_t *read_body(request_rec *r, int *pstatus)
{
    const char *type = apr_table_get(r->headers_in, "Content-Type");
    char *body = apr_palloc(r->pool, MOST + 1);
    json_error_t where;
    long len = 0, n = 0;
    json_t *json;

    if (!type || ap_cstr_casecmpn(type, "application/json", 16) != 0
        || (type[16] && type[16] != ';')) {
        *pstatus = up_report_error(r, HTTP_UNSUPPORTED_MEDIA_TYPE,
                                   "Content-Type: application/json is wanted");
        return NULL;
    }
    *pstatus = ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK);
    if (*pstatus != OK) {
        return NULL;
    }
    while (ap_should_client_block(r) && len <= MOST
           && (n = ap_get_client_block(r, body + len,
                                       (apr_size_t)(MOST + 1 - len))) > 0) {
        len += n;
    }
    if (n < 0 || len > MOST) {
        *pstatus = n < 0 ? HTTP_BAD_REQUEST : HTTP_REQUEST_ENTITY_TOO_LARGE;
        return NULL;
    }
    json = json_loadb(body, (size_t)len, JSON_REJECT_DUPLICATES, &where);
    if (!json) {
        *pstatus = up_report_error(r, HTTP_BAD_REQUEST,
                                   apr_pstrcat(r->pool, "not JSON: ",
                                               where.text, NULL));
    }
    return json;
}

static int order_list_locked(const up_peerlist_t *list, const char *name,
                             const up_order_t *order)
{
    int found = 0;
    int i;

    for (i = 0; i < list->count; i++) {
        up_peer_t *peer = list->peers[i];

        if (strcmp(peer->name, name) == 0) {
            up_peerstate_order(peer->state, order);
            up_peerstate_configure(peer->state, peer->server);
            found++;
        }
    }
    return found;
}

static int order_peer(up_group_t *group, const char *name,
                      const up_order_t *order)
{
    up_peers_t *peers = group->peers;
    int found;

    apr_thread_mutex_lock(peers->lock);
    found = order_list_locked(&peers->primary, name, order)
            + order_list_locked(&peers->backup, name, order);
    apr_thread_mutex_unlock(peers->lock);
    up_queue_wake(peers->queue);
    return found;
}

static void log_change(request_rec *r, const up_group_t *group,
                       const char *peer, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);

    ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, UPLOGNO(0854)
                  "%s%s changes %s of group %s: %s",
                  r->user ? r->user : "a client", r->user ? "" : " without "
                  "a name", peer ? peer : "all servers", group->name,
                  text ? text : "?");
    free(text);
}

static int change_peer(request_rec *r, up_group_t *group, json_t *json)
{
    const char *peer = up_query_get(r, "peer");
    up_order_t order;
    const char *error = up_order_read(r->pool, json, &order);

    if (error) {
        return up_report_error(r, HTTP_BAD_REQUEST, error);
    }
    if (!peer) {
        return up_report_error(r, HTTP_BAD_REQUEST, "write ?peer=address");
    }
    if (!group->zone) {
        return up_report_error(r, HTTP_CONFLICT, "the group's servers are "
                               "each child's own: give it an UpstreamZone");
    }
    if (!order_peer(group, peer, &order)) {
        return up_report_error(r, HTTP_NOT_FOUND, "no such peer");
    }
    log_change(r, group, peer, json);
    if (up_statefile_save(r, group) != APR_SUCCESS) {
        return up_report_error(r, HTTP_INTERNAL_SERVER_ERROR, "changed, but "
                               "UpstreamState could not be written");
    }
    return answer(r);
}

static int reset_counts(request_rec *r, up_group_t *group, json_t *json)
{
    up_peers_t *peers = group->peers;
    int i;

    if (!json_is_true(json_object_get(json, "reset"))
        || json_object_size(json) != 1) {
        return up_report_error(r, HTTP_BAD_REQUEST,
                               "{\"reset\": true} is what can be posted");
    }
    apr_thread_mutex_lock(peers->lock);
    for (i = 0; i < peers->primary.count; i++) {
        up_ledger_reset(peers->primary.peers[i]->counts);
    }
    for (i = 0; i < peers->backup.count; i++) {
        up_ledger_reset(peers->backup.peers[i]->counts);
    }
    apr_thread_mutex_unlock(peers->lock);
    up_ledger_reset(peers->counts);
    log_change(r, group, NULL, json);
    return answer(r);
}

static int change(request_rec *r)
{
    const char *why = up_guard_refuses(r);
    up_group_t *group;
    json_t *json;
    int status;

    if (why) {
        return up_report_error(r, HTTP_FORBIDDEN, why);
    }
    group = group_asked(r);
    if (!group || !group->peers) {
        return up_report_error(r, HTTP_NOT_FOUND,
                               "write ?upstream=name of an <Upstream>");
    }
    json = read_body(r, &status);
    if (!json) {
        return status;
    }
    status = r->method_number == M_PATCH ? change_peer(r, group, json)
                                         : reset_counts(r, group, json);
    json_decref(json);
    return status;
}

static int handler(request_rec *r)
{
    if (!up_query_is_for(r, HANDLER)) {
        return DECLINED;
    }
    if (r->method_number == M_GET) {
        return answer(r);
    }
    if (r->method_number == M_PATCH || r->method_number == M_POST) {
        return change(r);
    }
    ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, M_PATCH, M_POST, -1);
    return HTTP_METHOD_NOT_ALLOWED;
}

void up_api_register(void)
{
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
}
