/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * UpstreamSticky in an exchange: whom the request asks for, before the first
 * server is chosen; and with the answer, who it was.
 */

#include "apr_strings.h"
#include "config/log.h"
#include "config/sticky.h"
#include "exchange/stick.h"
#include "peers/sessions.h"
#include "upstream_machine.h"

/* How long an exchange waits to know where its session is. */
#define PATIENCE apr_time_from_sec(1)

typedef struct up_stick_t {
    const up_sticky_t *sticky;
    const char *session;  /* of the request, NULL: it has none */
    const char *learning; /* the session to be remembered, NULL: none */
    up_search_t *search;  /* NULL: it has ended */
    apr_time_t until;     /* it is waited for, 0: it has not been */
    up_found_t found;
} up_stick_t;

static void end_search(up_request_t *ur)
{
    up_search_drop(ur->stick->search);
    ur->stick->search = NULL;
    if (ur->stick->found.id[0]) {
        ur->pick->stick = ur->stick->found.id;
    }
}

/* A request that is torn down. */
static apr_status_t forget(void *data)
{
    up_stick_t *stick = data;

    if (stick->search) {
        up_search_drop(stick->search);
        stick->search = NULL;
    }
    return APR_SUCCESS;
}

void up_machine_stick(up_request_t *ur)
{
    const up_sticky_t *sticky = ur->pass->group->sticky;
    const char *asked;
    up_stick_t *stick;

    if (!sticky) {
        return;
    }
    stick = apr_pcalloc(ur->r->pool, sizeof(*stick));
    stick->sticky = sticky;
    ur->stick = stick;
    asked = up_stick_asked(ur->r, sticky);
    if (sticky->kind != UP_STICKY_LEARN) {
        ur->pick->stick = asked;
        return;
    }
    stick->session = asked;
    if (asked) {
        stick->search = up_sessions_seek(ur->r->pool, sticky, asked);
        apr_pool_cleanup_register(ur->r->pool, stick, forget,
                                  apr_pool_cleanup_null);
    }
}

int up_machine_stick_awaits(up_request_t *ur, apr_time_t now)
{
    up_stick_t *stick = ur->stick;
    up_bell_t *bell;

    if (!stick || !stick->search) {
        return 0;
    }
    if (!up_search_ended(stick->search, NULL, &stick->found)) {
        bell = up_machine_bell(ur);
        if (bell) {
            up_bell_heed(bell);
        }
        if (bell
            && !up_search_ended(stick->search, bell, &stick->found)) {
            stick->until = stick->until ? stick->until : now + PATIENCE;
            ur->deadline = stick->until;
            return 1;
        }
    }
    end_search(ur);
    return 0;
}

int up_machine_stick_expire(up_request_t *ur)
{
    if (!ur->stick || !ur->stick->search || !ur->stick->until) {
        return 0;
    }
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, ur->r, UPLOGNO(0821)
                  "the table of sessions of group %s (%s) does not answer: "
                  "going on without", ur->pass->group->name,
                  ur->stick->sticky->store);
    end_search(ur);
    return 1;
}

/* In good time before the session ends, at once when it is elsewhere. */
static int is_news(const up_stick_t *stick, const char *session,
                   const char *id, apr_time_t now)
{
    return session != stick->session || strcmp(stick->found.id, id) != 0
           || stick->found.expires - now
                  < stick->sticky->timeout - stick->sticky->timeout / 8;
}

static void plan_to_learn(up_request_t *ur, apr_time_t now)
{
    up_stick_t *stick = ur->stick;
    const char *session = up_stick_created(ur->r, stick->sticky);

    if (!session && stick->found.id[0]) {
        session = stick->session; /* one that is known */
    }
    if (session && stick->session && strcmp(session, stick->session) == 0) {
        session = stick->session;
    }
    if (session && is_news(stick, session, ur->peer->route, now)) {
        stick->learning = apr_pstrdup(ur->r->pool, session);
    }
    if (stick->sticky->header) {
        up_machine_stick_learn(ur);
    }
}

void up_machine_stick_answer(up_request_t *ur, apr_table_t *fields)
{
    apr_time_t now;

    if (!ur->stick || !ur->peer) {
        return;
    }
    now = apr_time_now();
    if (ur->stick->sticky->kind == UP_STICKY_COOKIE) {
        apr_table_addn(fields, "Set-Cookie",
                       up_stick_cookie(ur->r, ur->stick->sticky,
                                       ur->peer->route, now));
    }
    else if (ur->stick->sticky->kind == UP_STICKY_LEARN) {
        plan_to_learn(ur, now);
    }
}

void up_machine_stick_learn(up_request_t *ur)
{
    up_stick_t *stick = ur->stick;

    if (stick && stick->learning && ur->peer) {
        up_sessions_learn(ur->r->pool, stick->sticky, stick->learning,
                          ur->peer->route, apr_time_now());
        stick->learning = NULL;
    }
}
