/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Certificates, keys and lists of revoked ones, out of files and out of
 * texts. OpenSSL's error queue is empty before and after each call.
 */

#ifndef UP_TLS_FILES_H
#define UP_TLS_FILES_H

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "apr_pools.h"
#include "apr_tables.h"

/** What a PEM file holds. */
typedef struct up_tlsbundle_t {
    const char *path;
    STACK_OF(X509_INFO) *items;
    int certificates;
    int crls;
} up_tlsbundle_t;

/** A certificate, what stands between it and its CA, and its key. */
typedef struct up_tlspair_t {
    X509 *leaf;             /* NULL: not read yet */
    STACK_OF(X509) *chain;
    EVP_PKEY *key;
} up_tlspair_t;

/**
 * Reads a file of certificates and revocation lists; freed with pool p.
 * @param perror what is wrong with it, in p
 */
up_tlsbundle_t *up_tlsfiles_bundle(apr_pool_t *p, const char *path,
                                   const char **perror);

/**
 * Reads a certificate with its chain, and its key, and sees whether they
 * belong together. Each is a path or, behind "data:", the PEM text itself.
 * Reading a file may take a moment.
 * @param passwords of const char *, tried one by one; may be NULL
 * @return NULL, or what is wrong, in p; the pair is empty then
 */
const char *up_tlsfiles_pair(apr_pool_t *p, const char *certificate,
                             const char *key,
                             const apr_array_header_t *passwords,
                             up_tlspair_t *pair);

/** Frees what a pair holds. */
void up_tlsfiles_drop(up_tlspair_t *pair);

/** The lines of a file of passwords. @return NULL, or what is wrong */
const char *up_tlsfiles_passwords(apr_pool_t *p, const char *path,
                                  const apr_array_header_t **ppasswords);

/** Runs one command of SSL_CONF_cmd. @return NULL, or what is wrong, in p */
const char *up_tlsfiles_command(apr_pool_t *p, SSL_CTX *ctx, const char *name,
                                const char *value);

/** The first error in OpenSSL's queue, in words; the queue is emptied. */
const char *up_tlsfiles_reason(apr_pool_t *p);

#endif
