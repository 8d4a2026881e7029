/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * TLS sessions of this child, the last one of each kind of connection, so
 * that another connection need not begin from nothing. Any thread.
 */

#ifndef UP_TLS_SESSION_H
#define UP_TLS_SESSION_H

#include <openssl/ssl.h>

#include "apr_pools.h"

/** child_init. Ends with pool p; later calls do nothing. */
apr_status_t up_tlssession_child_init(apr_pool_t *p);

/**
 * Keeps a session, in the place of an earlier one. When there are too many
 * the one that was used last longest ago goes.
 * @param key copied
 * @param session a reference of the caller's, which is taken over
 */
void up_tlssession_keep(const char *key, SSL_SESSION *session);

/** @return a reference for the caller, NULL: there is none */
SSL_SESSION *up_tlssession_find(const char *key);

/** It was no good. */
void up_tlssession_forget(const char *key);

#endif
