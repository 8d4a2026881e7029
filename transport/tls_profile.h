/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * One SSL_CTX for each different set of UpstreamSSL directives, made when it
 * is first needed. No file is read for it but the system's certificates.
 */

#ifndef UP_TLS_PROFILE_H
#define UP_TLS_PROFILE_H

#include <openssl/ssl.h>

#include "config/tls.h"
#include "httpd.h"

typedef struct up_tlsprofile_t {
    SSL_CTX *ctx;
    unsigned int number; /* of no other one of this child */
    int verify;          /* up_verify_e */
    int session_reuse;
    apr_file_t *key_log; /* NULL: none */
} up_tlsprofile_t;

/**
 * post_config, where a pass says https://: reads the system's certificates,
 * so that no request has to wait for that. Warns of key logs.
 */
void up_tlsprofile_post_config(apr_pool_t *pconf, server_rec *s);

/** child_init. */
apr_status_t up_tlsprofile_child_init(apr_pool_t *p);

/**
 * The profile of a location, for as long as the child lives. Any thread.
 * @param perror in pool p: why there is none
 */
const up_tlsprofile_t *up_tlsprofile_of(const up_tlsconf_t *conf,
                                        apr_pool_t *p, const char **perror);

#endif
