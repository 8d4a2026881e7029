/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What comes between a connected socket and the request: the head of the
 * PROXY protocol, and TLS. */

#include "apr_strings.h"
#include "config/log.h"
#include "upstream_machine.h"

int up_machine_shakes_hands(const up_request_t *ur)
{
    return ur->plan || ur->greeting_len;
}

/* In the clear, before all TLS. */
static apr_status_t greet(up_request_t *ur)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS && ur->greeted < ur->greeting_len) {
        struct iovec vec = {
            .iov_base = (char *)ur->greeting + ur->greeted,
            .iov_len = ur->greeting_len - ur->greeted
        };
        apr_size_t sent;

        rv = up_conn_send(ur->leg.conn, &vec, 1, &sent);
        ur->greeted += sent;
    }
    return rv;
}

/* A certificate of ours, or OpenSSL, is at fault: no server is. */
static up_verdict_e cannot_begin(up_request_t *ur, const char *why)
{
    up_try_t *tried = up_trail_last(ur->trail);

    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, ur->r, UPLOGNO(0704)
                  "cannot begin TLS with upstream %s (UpstreamSSLCertificate, "
                  "UpstreamSSLCertificateKey): %s", tried->peer, why);
    tried->status = HTTP_INTERNAL_SERVER_ERROR;
    tried->error = "proxy_internal_error";
    return up_machine_finish(ur, HTTP_INTERNAL_SERVER_ERROR, "no TLS");
}

static up_verdict_e failed(up_request_t *ur, apr_status_t rv)
{
    const up_conn_t *conn = ur->leg.conn;

    if (!ur->plan || !conn->tls) {
        return up_machine_fail(ur, UP_FAIL_ERROR, rv, "send() failed");
    }
    if (up_tls_error(conn)) {
        up_trail_last(ur->trail)->error = up_tls_error(conn);
    }
    if (conn->why[0]) {
        return up_machine_fail(ur, UP_FAIL_ERROR, 0,
                               apr_pstrcat(ur->r->pool, "TLS handshake "
                                           "failed: ", conn->why, NULL));
    }
    return up_machine_fail(ur, UP_FAIL_ERROR, rv, "TLS handshake failed");
}

up_verdict_e up_step_handshake(up_request_t *ur)
{
    up_conn_t *conn = ur->leg.conn;
    apr_status_t rv = greet(ur);
    const char *error;

    if (rv == APR_SUCCESS && ur->plan) {
        if (!conn->tls) {
            error = up_tls_begin(conn, ur->plan, ur->peer->name, ur->r->pool);
            if (error) {
                return cannot_begin(ur, error);
            }
        }
        rv = up_tls_handshake(conn, ur->plan);
    }
    if (rv == APR_EAGAIN) {
        ur->connecting = 1;
        return up_machine_wait(ur, conn->want, 0);
    }
    return rv == APR_SUCCESS ? up_machine_connected(ur) : failed(ur, rv);
}
