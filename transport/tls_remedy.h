/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What OpenSSL says when something fails, and what an operator can do.
 */

#ifndef UP_TLS_REMEDY_H
#define UP_TLS_REMEDY_H

#include <openssl/ssl.h>

#include "apr.h"

/**
 * @param code the first of OpenSSL's error queue, 0: none
 * @param buf gets reason and remedy in words
 * @return the proxy error type of RFC 9209 2.3, a constant
 */
const char *up_tlsremedy_of(const SSL *ssl, unsigned long code, char *buf,
                            apr_size_t size);

#endif
