/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * TLS on a connection to a backend: a layer of backend_conn's. Never blocks,
 * never sends early data. One thread at a time, as the connection.
 *
 * OpenSSL's error queue belongs to the thread and is shared with mod_ssl: it
 * is emptied before each call.
 */

#ifndef UP_BACKEND_TLS_H
#define UP_BACKEND_TLS_H

#include "transport/backend_conn.h"
#include "transport/tls_profile.h"

/** How a request wants its connection to be. Nothing in it changes. */
typedef struct up_tlsplan_t {
    const up_tlsprofile_t *profile;
    const char *sni;           /* NULL: none is sent */
    const char *const *names;  /* of which the certificate must have one, the
                                  last is followed by NULL; NULL: any will do */
    const char *certificate;   /* to be read for each connection, NULL: none
                                  or the profile's */
    const char *certificate_key;
    const apr_array_header_t *passwords;
    const up_tlspair_t *pair;  /* the same, read already; NULL: not */
    const char *identity;      /* all of it, as text */
} up_tlsplan_t;

/** child_init: profiles, sessions and certificates of this child. */
apr_status_t up_tls_child_init(apr_pool_t *p);

/**
 * Puts TLS on a connection whose socket is connected.
 * @param peer name of the server, for the session cache
 * @return NULL, or why it cannot be, in p: answer 500
 */
const char *up_tls_begin(up_conn_t *conn, const up_tlsplan_t *plan,
                         const char *peer, apr_pool_t *p);

/**
 * Moves the handshake on, and looks at the name when it has ended.
 * @return APR_SUCCESS, APR_EAGAIN (conn->want), else the failure:
 *         conn->why says it with its remedy
 */
apr_status_t up_tls_handshake(up_conn_t *conn, const up_tlsplan_t *plan);

/** Why the handshake failed, as RFC 9209 2.3 has it. */
const char *up_tls_error(const up_conn_t *conn);

/** Was an earlier session gone on with? */
int up_tls_resumed(const up_conn_t *conn);

/* for tls_profile */
int up_tls_new_session(SSL *ssl, SSL_SESSION *session);
void up_tls_log_key(const SSL *ssl, const char *line);

#endif
