/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What follows a 101: the tunnel, until both directions have ended. */

#include <string.h>

#include "config/clock.h"
#include "config/log.h"
#include "upstream_machine.h"

up_verdict_e up_machine_tunnel(up_request_t *ur, const up_head_t *head)
{
    apr_table_t *more = apr_table_make(ur->r->pool, 1);

    up_machine_stick_answer(ur, more);
    up_machine_stick_learn(ur); /* it may last for days */
    ur->tunnel = up_tunnel_make(ur->r, ur->settings, &ur->leg, ur->client);
    if (up_tunnel_open(ur->tunnel, head, more) != APR_SUCCESS) {
        ur->trail->client_aborted = 1;
        return up_machine_finish(ur, OK, "client gone");
    }
    up_machine_count_tunnel(ur);
    return up_machine_go(ur, UP_TUNNEL, "protocols switched");
}

static void log_end(const up_request_t *ur, const char *why)
{
    const up_try_t *tried = up_trail_last(ur->trail);

    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, ur->r, UPLOGNO(0740)
                  "tunnel to upstream %s ended: %s; %" APR_OFF_T_FMT
                  " bytes from the client, %" APR_OFF_T_FMT " to it, "
                  "after %.3f s", up_machine_peer_name(ur), why,
                  up_tunnel_from_client(ur->tunnel),
                  up_tunnel_to_client(ur->tunnel),
                  (double)(up_clock_now() - tried->started)
                      / APR_USEC_PER_SEC);
}

/* The connection has left HTTP: nobody may have it after this. */
static up_verdict_e tunnel_over(up_request_t *ur, const char *why)
{
    log_end(ur, why);
    up_machine_release(ur, 0, UP_OUTCOME_OK);
    return up_machine_finish(ur, OK, "tunnel ended");
}

/* The rest of the request, which the backend has not waited for: what the
 * client sends behind it belongs to the tunnel, once it has been sent.
 * @return as up_machine_pump; APR_EGENERAL: the backend does not take it */
static apr_status_t request_half(up_request_t *ur, up_want_t *want)
{
    apr_status_t rv = up_machine_pump(ur);

    if (rv == APR_SUCCESS && !up_reqbody_sent(ur->body)) {
        return APR_EGENERAL;
    }
    if (rv == APR_EAGAIN && up_reqbody_starved(ur->body)) {
        want->client |= APR_POLLIN;
    }
    else if (rv == APR_EAGAIN) {
        want->backend |= ur->leg.conn->want;
    }
    return rv;
}

up_verdict_e up_step_tunnel(up_request_t *ur)
{
    up_want_t *want = &ur->want;
    apr_status_t rv;

    memset(want, 0, sizeof(*want));
    rv = request_half(ur, want);
    if (rv != APR_SUCCESS && rv != APR_EAGAIN) {
        return tunnel_over(ur, "the request broke off");
    }
    if (up_tunnel_step(ur->tunnel, rv == APR_EAGAIN, want) == APR_EAGAIN) {
        return UP_WAIT;
    }
    return tunnel_over(ur, up_tunnel_why(ur->tunnel));
}

void up_machine_tunnel_expire(up_request_t *ur)
{
    if (!up_tunnel_idle(ur->tunnel, up_clock_now())) {
        return;
    }
    up_tunnel_farewell(ur->tunnel);
    tunnel_over(ur, "no byte went either way (UpstreamTunnelTimeout)");
}

void up_machine_tunnel_stop(up_request_t *ur)
{
    up_tunnel_farewell(ur->tunnel);
    tunnel_over(ur, "the server is stopping");
}
