/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Who has hooked where. */

#include "config/phase_hooks.h"

typedef enum hook_e {
    PRE_CONNECT,
    SELECT_PEER,
    CONNECTED,
    REQUEST_OUT,
    RESPONSE_IN,
    CONNECT_FAILED,
    TRY_FAILED,
    FAILED,
    LOG,
    PEER_STATE_CHANGED,
    NHOOKS
} hook_e;

static const char *const names[NHOOKS] = {
    [PRE_CONNECT] = "upstream_pre_connect",
    [SELECT_PEER] = "upstream_select_peer",
    [CONNECTED] = "upstream_connected",
    [REQUEST_OUT] = "upstream_request_out",
    [RESPONSE_IN] = "upstream_response_in",
    [CONNECT_FAILED] = "upstream_connect_failed",
    [TRY_FAILED] = "upstream_try_failed",
    [FAILED] = "upstream_failed",
    [LOG] = "upstream_log",
    [PEER_STATE_CHANGED] = "upstream_peer_state_changed"
};

/* An entry of what apr_optional_hook_get gives: as APR_DECLARE_EXTERNAL_HOOK
 * would declare it. */
typedef struct entry_t {
    void (*call)(void);
    const char *name;
    const char *const *before;
    const char *const *after;
    int order;
} entry_t;

/* Written before there is a second thread. NULL: nobody. */
static const apr_array_header_t *hooked[NHOOKS];

void up_hooks_find(void)
{
    int i;

    for (i = 0; i < NHOOKS; i++) {
        hooked[i] = apr_optional_hook_get(names[i]);
    }
}

static int count(hook_e hook)
{
    return hooked[hook] ? hooked[hook]->nelts : 0;
}

#define CALL(hook, i, type)                                                   \
    ((up_HOOK_upstream_##type##_t *)APR_ARRAY_IDX(hooked[hook], i,            \
                                                  entry_t).call)

int up_hooks_pre_connect(request_rec *r, up_request_t *u)
{
    int i;

    for (i = 0; i < count(PRE_CONNECT); i++) {
        int rc = CALL(PRE_CONNECT, i, pre_connect)(r, u);

        if (rc != OK && rc != DECLINED) {
            return rc;
        }
    }
    return OK;
}

const char *up_hooks_select_peer(request_rec *r, up_request_t *u, int nth)
{
    const char *server = NULL;
    int i;

    for (i = 0; i < count(SELECT_PEER); i++) {
        if (CALL(SELECT_PEER, i, select_peer)(r, u, nth, &server) == OK) {
            return server;
        }
    }
    return NULL;
}

void up_hooks_connected(request_rec *r, up_request_t *u)
{
    int i;

    for (i = 0; i < count(CONNECTED); i++) {
        CALL(CONNECTED, i, connected)(r, u);
    }
}

int up_hooks_want_request(void)
{
    return count(REQUEST_OUT) > 0;
}

int up_hooks_request_out(request_rec *r, up_request_t *u, apr_table_t *fields)
{
    int i;

    for (i = 0; i < count(REQUEST_OUT); i++) {
        int rc = CALL(REQUEST_OUT, i, request_out)(r, u, fields);

        if (rc != OK && rc != DECLINED) {
            return rc;
        }
    }
    return OK;
}

int up_hooks_response_in(request_rec *r, up_request_t *u)
{
    int i;

    for (i = 0; i < count(RESPONSE_IN); i++) {
        int rc = CALL(RESPONSE_IN, i, response_in)(r, u);

        if (rc != OK && rc != DECLINED) {
            return rc;
        }
    }
    return OK;
}

int up_hooks_connect_failed(request_rec *r, up_request_t *u, int retry)
{
    int i;

    for (i = 0; i < count(CONNECT_FAILED); i++) {
        CALL(CONNECT_FAILED, i, connect_failed)(r, u, &retry);
    }
    return retry;
}

int up_hooks_try_failed(request_rec *r, up_request_t *u, int retry)
{
    int i;

    for (i = 0; i < count(TRY_FAILED); i++) {
        CALL(TRY_FAILED, i, try_failed)(r, u, &retry);
    }
    return retry;
}

int up_hooks_failed(request_rec *r, up_request_t *u, int status)
{
    int changed = status;
    int i;

    for (i = 0; i < count(FAILED); i++) {
        CALL(FAILED, i, failed)(r, u, &changed);
    }
    return changed >= 400 && changed <= 599 ? changed : status;
}

void up_hooks_log(request_rec *r, up_request_t *u)
{
    int i;

    for (i = 0; i < count(LOG); i++) {
        CALL(LOG, i, log)(r, u);
    }
}

void up_hooks_peer_state_changed(const char *group, const char *server,
                                 up_peer_news_e news)
{
    int i;

    for (i = 0; i < count(PEER_STATE_CHANGED); i++) {
        CALL(PEER_STATE_CHANGED, i, peer_state_changed)(group, server, news);
    }
}
