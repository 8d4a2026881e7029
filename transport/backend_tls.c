/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * OpenSSL on a backend's socket.
 */

#include "transport/backend_tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "apr_lib.h"
#include "apr_strings.h"
#include "config/address.h"
#include "transport/tls_certs.h"
#include "transport/tls_remedy.h"
#include "transport/tls_session.h"

#define RECORD 16384 /* the most bytes that a record holds */

typedef struct up_tls_t {
    SSL *ssl;
    const up_tlsprofile_t *profile;
    char *session_key;       /* malloc's, NULL: sessions are not kept */
    apr_int16_t read_wants;  /* what the last read has to wait for */
    apr_int16_t write_wants;
    char *blocked;           /* malloc's: a record that the socket did not
                                take; the same bytes must follow */
    apr_size_t blocked_len;
    int ready;               /* the handshake has ended well */
    int failed;              /* nothing more can be said on it */
    int truncated;
    const char *error;       /* RFC 9209's word for what failed */
} up_tls_t;

/* --- what OpenSSL says --------------------------------------------------- */

static apr_status_t fail(up_conn_t *conn, const char *why, apr_status_t rv)
{
    conn->tls->failed = 1;
    apr_cpystrn(conn->why, why, sizeof(conn->why));
    return rv;
}

/* Is it the end of a stream that nobody has closed? */
static int is_cut(int code, int err)
{
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
    if (code == SSL_ERROR_SSL
        && ERR_GET_REASON(ERR_peek_error())
               == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        return 1;
    }
#endif
    return code == SSL_ERROR_SYSCALL && err == 0 && !ERR_peek_error();
}

/* Of a call that did not succeed; errno is still that of the call. */
static apr_status_t result(up_conn_t *conn, int rc, apr_int16_t *pwants)
{
    up_tls_t *tls = conn->tls;
    int err = errno;
    int code = SSL_get_error(tls->ssl, rc);

    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) {
        *pwants = code == SSL_ERROR_WANT_READ ? APR_POLLIN : APR_POLLOUT;
        conn->want = *pwants;
        return APR_EAGAIN;
    }
    if (code == SSL_ERROR_ZERO_RETURN) {
        return APR_EOF;
    }
    tls->failed = 1;
    if (is_cut(code, err)) {
        ERR_clear_error();
        tls->truncated = 1;
        return APR_EOF;
    }
    if (code == SSL_ERROR_SYSCALL && err) {
        ERR_clear_error();
        return err;
    }
    tls->error = up_tlsremedy_of(tls->ssl, ERR_peek_error(), conn->why,
                                 sizeof(conn->why));
    ERR_clear_error();
    return APR_EGENERAL;
}

/* --- the layer ----------------------------------------------------------- */

/* Bytes of the vector, as many as a record holds, in one piece. */
static apr_size_t gather(const struct iovec *vec, int nvec, char *buf)
{
    apr_size_t used = 0;
    int i;

    for (i = 0; i < nvec && used < RECORD; i++) {
        apr_size_t len = vec[i].iov_len;

        if (len > RECORD - used) {
            len = RECORD - used;
        }
        memcpy(buf + used, vec[i].iov_base, len);
        used += len;
    }
    return used;
}

/* The socket takes no more: OpenSSL wants to be given the very bytes again,
 * and no fewer. */
static void keep_blocked(up_tls_t *tls, const char *buf, apr_size_t len)
{
    if (!tls->blocked) {
        tls->blocked = malloc(len);
        if (tls->blocked) {
            memcpy(tls->blocked, buf, len);
            tls->blocked_len = len;
        }
    }
}

static void drop_blocked(up_tls_t *tls)
{
    free(tls->blocked);
    tls->blocked = NULL;
    tls->blocked_len = 0;
}

/* One record of len bytes. */
static apr_status_t write_record(up_conn_t *conn, const char *buf,
                                 apr_size_t len, apr_size_t *psent)
{
    up_tls_t *tls = conn->tls;
    apr_status_t rv;
    int rc;

    ERR_clear_error();
    errno = 0;
    rc = SSL_write(tls->ssl, buf, (int)len);
    if (rc > 0) {
        drop_blocked(tls);
        *psent = (apr_size_t)rc;
        return APR_SUCCESS;
    }
    rv = result(conn, rc, &tls->write_wants);
    if (rv == APR_EAGAIN) {
        keep_blocked(tls, buf, len);
    }
    return rv == APR_EOF ? EPIPE : rv;
}

static apr_status_t tls_send(up_conn_t *conn, const struct iovec *vec,
                             int nvec, apr_size_t *psent)
{
    up_tls_t *tls = conn->tls;
    char buf[RECORD];
    apr_size_t len;

    *psent = 0;
    if (tls->failed) {
        return EPIPE;
    }
    tls->write_wants = APR_POLLOUT;
    if (tls->blocked) {
        return write_record(conn, tls->blocked, tls->blocked_len, psent);
    }
    if (nvec == 1 && vec->iov_len) {
        len = vec->iov_len < RECORD ? vec->iov_len : RECORD;
        return write_record(conn, vec->iov_base, len, psent);
    }
    len = gather(vec, nvec, buf);
    return len ? write_record(conn, buf, len, psent) : APR_SUCCESS;
}

static apr_status_t tls_recv(up_conn_t *conn, char *buf, apr_size_t *plen)
{
    up_tls_t *tls = conn->tls;
    apr_size_t room = *plen;
    int rc;

    *plen = 0;
    if (tls->truncated) {
        return APR_EOF;
    }
    if (tls->failed) {
        return ECONNRESET;
    }
    tls->read_wants = APR_POLLIN;
    ERR_clear_error();
    errno = 0;
    rc = SSL_read(tls->ssl, buf, room > INT32_MAX ? INT32_MAX : (int)room);
    if (rc <= 0) {
        return result(conn, rc, &tls->read_wants);
    }
    *plen = (apr_size_t)rc;
    return APR_SUCCESS;
}

static void tls_shut(up_conn_t *conn)
{
    up_tls_t *tls = conn->tls;

    if (tls->ready && !tls->failed && !tls->blocked) {
        ERR_clear_error();
        SSL_shutdown(tls->ssl); /* who cannot be told knows already */
        ERR_clear_error();
    }
}

/* A peek reads what TLS has to say to itself: tickets, new keys. */
static int tls_alive(const up_conn_t *conn)
{
    up_tls_t *tls = conn->tls;
    char c;
    int rc;
    int quiet;

    if (!tls->ready || tls->failed) {
        return 0;
    }
    ERR_clear_error();
    rc = SSL_peek(tls->ssl, &c, 1);
    quiet = rc <= 0 && SSL_get_error(tls->ssl, rc) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    if (!quiet && rc <= 0) {
        tls->failed = 1;
    }
    return quiet;
}

static int tls_pending(const up_conn_t *conn)
{
    return SSL_has_pending(conn->tls->ssl);
}

static int tls_truncated(const up_conn_t *conn)
{
    return conn->tls->truncated;
}

static apr_int16_t tls_events(const up_conn_t *conn, apr_int16_t wanted)
{
    const up_tls_t *tls = conn->tls;
    apr_int16_t events = 0;

    if (!tls->ready) {
        return wanted; /* it is the handshake's own */
    }
    if (wanted & APR_POLLIN) {
        events |= tls->read_wants;
    }
    if (wanted & APR_POLLOUT) {
        events |= tls->write_wants;
    }
    return events;
}

/* A session stays good for others, whatever the end of this connection: for
 * OpenSSL one that was not closed is bad. */
static void tls_end(up_conn_t *conn, int polite)
{
    up_tls_t *tls = conn->tls;

    if (polite) {
        tls_shut(conn);
    }
    if (tls->ready) {
        SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
    SSL_free(tls->ssl);
    drop_blocked(tls);
    free(tls->session_key);
    free(tls);
    conn->tls = NULL;
    conn->layer = NULL;
}

static const up_layer_t layer = {
    .send = tls_send,
    .recv = tls_recv,
    .shut = tls_shut,
    .alive = tls_alive,
    .pending = tls_pending,
    .truncated = tls_truncated,
    .events = tls_events,
    .end = tls_end
};

apr_status_t up_tls_child_init(apr_pool_t *p)
{
    apr_status_t rv = up_tlsprofile_child_init(p);

    if (rv == APR_SUCCESS) {
        rv = up_tlssession_child_init(p);
    }
    return rv == APR_SUCCESS ? up_tlscerts_child_init(p) : rv;
}

/* --- the beginning ------------------------------------------------------- */

int up_tls_new_session(SSL *ssl, SSL_SESSION *session)
{
    const up_tls_t *tls = SSL_get_app_data(ssl);

    if (!tls || !tls->session_key) {
        return 0;
    }
    up_tlssession_keep(tls->session_key, session);
    return 1; /* the reference is ours now */
}

void up_tls_log_key(const SSL *ssl, const char *line)
{
    const up_tls_t *tls = SSL_get_app_data(ssl);
    struct iovec vec[2] = {
        { .iov_base = (char *)line, .iov_len = strlen(line) },
        { .iov_base = "\n", .iov_len = 1 }
    };
    apr_size_t written;

    if (tls && tls->profile->key_log) {
        apr_file_writev(tls->profile->key_log, vec, 2, &written);
    }
}

static const char *set_pair(SSL *ssl, const up_tlspair_t *pair, apr_pool_t *p)
{
    if (SSL_use_certificate(ssl, pair->leaf) != 1
        || SSL_set1_chain(ssl, pair->chain) != 1
        || SSL_use_PrivateKey(ssl, pair->key) != 1) {
        return up_tlsfiles_reason(p);
    }
    return NULL;
}

/* The certificate that an expression has named. */
static const char *set_certificate(SSL *ssl, const up_tlsplan_t *plan,
                                   apr_pool_t *p)
{
    up_tlspair_t pair;
    const char *error;

    if (plan->pair) {
        return set_pair(ssl, plan->pair, p);
    }
    if (!plan->certificate) {
        return NULL;
    }
    error = up_tlsfiles_pair(p, plan->certificate, plan->certificate_key,
                             plan->passwords, &pair);
    if (!error) {
        error = set_pair(ssl, &pair, p);
        up_tlsfiles_drop(&pair);
    }
    return error;
}

static void resume(up_tls_t *tls)
{
    SSL_SESSION *session = up_tlssession_find(tls->session_key);

    if (session) {
        SSL_set_session(tls->ssl, session);
        SSL_SESSION_free(session);
    }
}

static char *session_key(const char *peer, const char *identity)
{
    apr_size_t len = strlen(peer) + strlen(identity) + 2;
    char *key = malloc(len);

    if (key) {
        apr_snprintf(key, len, "%s %s", peer, identity);
    }
    return key;
}

const char *up_tls_begin(up_conn_t *conn, const up_tlsplan_t *plan,
                         const char *peer, apr_pool_t *p)
{
    up_tls_t *tls = calloc(1, sizeof(*tls));
    const char *error = NULL;

    ERR_clear_error();
    if (!tls) {
        return "no memory";
    }
    tls->profile = plan->profile;
    tls->read_wants = APR_POLLIN;
    tls->write_wants = APR_POLLOUT;
    tls->ssl = SSL_new(plan->profile->ctx);
    if (!tls->ssl || !SSL_set_fd(tls->ssl, conn->fd)) {
        error = up_tlsfiles_reason(p);
    }
    conn->tls = tls;
    conn->layer = &layer;
    if (error) {
        return error;
    }
    SSL_set_app_data(tls->ssl, tls);
    SSL_set_connect_state(tls->ssl);
    if (plan->sni) {
        SSL_set_tlsext_host_name(tls->ssl, plan->sni);
    }
    if (plan->profile->session_reuse) {
        tls->session_key = session_key(peer, plan->identity);
        if (tls->session_key) {
            resume(tls);
        }
    }
    error = set_certificate(tls->ssl, plan, p);
    ERR_clear_error();
    return error;
}

/* --- the handshake ------------------------------------------------------- */

static int is_for(X509 *certificate, const char *name)
{
    up_local_t unused;

    if (up_address_local(name, &unused)) {
        return X509_check_ip_asc(certificate, name, 0) == 1;
    }
    return X509_check_host(certificate, name, 0,
                           X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1;
}

/* Is the certificate for one of the names? */
static apr_status_t check_name(up_conn_t *conn, const char *const *names)
{
    X509 *certificate = SSL_get_peer_certificate(conn->tls->ssl);
    const char *const *name;
    int good = 0;

    for (name = names; certificate && *name && !good; name++) {
        good = **name && is_for(certificate, *name);
    }
    X509_free(certificate);
    ERR_clear_error();
    if (good) {
        return APR_SUCCESS;
    }
    conn->tls->error = "tls_certificate_error";
    apr_snprintf(conn->why, sizeof(conn->why), "the certificate is not for "
                 "\"%.100s\" (UpstreamSSLName says for which name it must "
                 "be)", names[0]);
    conn->tls->failed = 1;
    return APR_EGENERAL;
}

apr_status_t up_tls_handshake(up_conn_t *conn, const up_tlsplan_t *plan)
{
    up_tls_t *tls = conn->tls;
    apr_status_t rv;
    int rc;

    ERR_clear_error();
    errno = 0;
    rc = SSL_do_handshake(tls->ssl);
    if (rc != 1) {
        rv = result(conn, rc, &tls->read_wants);
        if (rv == APR_EAGAIN) {
            return rv;
        }
        if (tls->session_key) {
            up_tlssession_forget(tls->session_key);
        }
        return rv == APR_EOF ? fail(conn, "the backend closed the connection "
                                    "during the TLS handshake", APR_EGENERAL)
                             : rv;
    }
    tls->ready = 1;
    tls->read_wants = APR_POLLIN;
    tls->write_wants = APR_POLLOUT;
    return plan->names ? check_name(conn, plan->names) : APR_SUCCESS;
}

const char *up_tls_error(const up_conn_t *conn)
{
    return conn->tls && conn->tls->error ? conn->tls->error : NULL;
}

int up_tls_resumed(const up_conn_t *conn)
{
    return conn->tls && SSL_session_reused(conn->tls->ssl);
}
