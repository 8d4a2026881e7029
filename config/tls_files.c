/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the reading of certificates, keys and revocation lists.
 */

#include "config/tls_files.h"

#include <errno.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "apr_file_io.h"
#include "apr_strings.h"

#define PASSWORD_LINE 1024

const char *up_tlsfiles_reason(apr_pool_t *p)
{
    unsigned long code = ERR_peek_error();
    const char *reason = ERR_reason_error_string(code);

    ERR_clear_error();
    if (code == 0) {
        return "no reason given";
    }
    return reason != NULL ? apr_pstrdup(p, reason)
                          : apr_psprintf(p, "error %lx", code);
}

static const char *system_reason(apr_pool_t *p, int err)
{
    char text[120];

    return apr_pstrdup(p, apr_strerror(err, text, sizeof(text)));
}

/* A file, or what follows "data:". */
static BIO *open_source(apr_pool_t *p, const char *source,
                        const char **perror)
{
    BIO *bio;

    if (strncmp(source, "data:", 5) == 0) {
        return BIO_new_mem_buf(source + 5, -1);
    }
    errno = 0;
    bio = BIO_new_file(source, "r");
    if (bio == NULL) {
        *perror = apr_pstrcat(p, "cannot be opened: ",
                              system_reason(p, errno), NULL);
    }
    ERR_clear_error();
    return bio;
}

/* --- bundles ------------------------------------------------------------- */

static apr_status_t free_bundle(void *data)
{
    up_tlsbundle_t *bundle = data;

    sk_X509_INFO_pop_free(bundle->items, X509_INFO_free);
    return APR_SUCCESS;
}

static void count(up_tlsbundle_t *bundle)
{
    int i;

    for (i = 0; i < sk_X509_INFO_num(bundle->items); i++) {
        const X509_INFO *item = sk_X509_INFO_value(bundle->items, i);

        bundle->certificates += item->x509 != NULL;
        bundle->crls += item->crl != NULL;
    }
}

up_tlsbundle_t *up_tlsfiles_bundle(apr_pool_t *p, const char *path,
                                   const char **perror)
{
    up_tlsbundle_t *bundle = apr_pcalloc(p, sizeof(*bundle));
    BIO *bio;

    ERR_clear_error();
    bio = open_source(p, path, perror);
    if (bio == NULL) {
        return NULL;
    }
    bundle->path = path;
    bundle->items = PEM_X509_INFO_read_bio(bio, NULL, NULL, NULL);
    BIO_free(bio);
    if (bundle->items == NULL) {
        *perror = apr_pstrcat(p, "cannot be read: ", up_tlsfiles_reason(p),
                              NULL);
        return NULL;
    }
    ERR_clear_error();
    count(bundle);
    apr_pool_cleanup_register(p, bundle, free_bundle, apr_pool_cleanup_null);
    return bundle;
}

/* --- pairs --------------------------------------------------------------- */

void up_tlsfiles_drop(up_tlspair_t *pair)
{
    X509_free(pair->leaf);
    sk_X509_pop_free(pair->chain, X509_free);
    EVP_PKEY_free(pair->key);
    memset(pair, 0, sizeof(*pair));
}

/* The certificates of a file: the first is the one, the others its chain. */
static const char *read_certificates(apr_pool_t *p, const char *source,
                                     up_tlspair_t *pair)
{
    const char *error = NULL;
    BIO *bio = open_source(p, source, &error);
    X509 *one;

    if (bio == NULL) {
        return error;
    }
    pair->leaf = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    if (pair->leaf == NULL) {
        BIO_free(bio);
        return apr_pstrcat(p, "holds no certificate: ",
                           up_tlsfiles_reason(p), NULL);
    }
    pair->chain = sk_X509_new_null();
    while ((one = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        if (!sk_X509_push(pair->chain, one)) {
            X509_free(one);
            break;
        }
    }
    ERR_clear_error(); /* the end of the file is no error */
    BIO_free(bio);
    return NULL;
}

/* OpenSSL must never ask at the terminal. */
static int give_password(char *buf, int size, int writing, void *baton)
{
    const char *password = baton;
    int len;

    (void)writing;
    if (password == NULL) {
        return -1;
    }
    len = (int)strlen(password);
    if (len > size) {
        return -1;
    }
    memcpy(buf, password, (size_t)len);
    return len;
}

static EVP_PKEY *try_key(apr_pool_t *p, const char *source,
                         const char *password, const char **perror)
{
    BIO *bio = open_source(p, source, perror);
    EVP_PKEY *key;

    if (bio == NULL) {
        return NULL;
    }
    key = PEM_read_bio_PrivateKey(bio, NULL, give_password,
                                  (void *)password);
    BIO_free(bio);
    if (key == NULL) {
        *perror = apr_pstrcat(p, "holds no key that can be read: ",
                              up_tlsfiles_reason(p),
                              " (an encrypted one needs "
                              "UpstreamSSLPasswordFile)", NULL);
    }
    ERR_clear_error();
    return key;
}

static const char *read_key(apr_pool_t *p, const char *source,
                            const apr_array_header_t *passwords,
                            up_tlspair_t *pair)
{
    const char *error = NULL;
    int i;

    pair->key = try_key(p, source, NULL, &error);
    for (i = 0; pair->key == NULL && passwords && i < passwords->nelts; i++) {
        pair->key = try_key(p, source,
                            APR_ARRAY_IDX(passwords, i, const char *),
                            &error);
    }
    return pair->key == NULL ? error : NULL;
}

/* A text that is data is not shown. */
static const char *shown(const char *source)
{
    return strncmp(source, "data:", 5) == 0 ? "data:..." : source;
}

const char *up_tlsfiles_pair(apr_pool_t *p, const char *certificate,
                             const char *key,
                             const apr_array_header_t *passwords,
                             up_tlspair_t *pair)
{
    const char *error;

    memset(pair, 0, sizeof(*pair));
    ERR_clear_error();
    error = read_certificates(p, certificate, pair);
    if (error != NULL) {
        error = apr_psprintf(p, "certificate %s %s", shown(certificate),
                             error);
    }
    else {
        error = read_key(p, key, passwords, pair);
        if (error != NULL) {
            error = apr_psprintf(p, "key %s %s", shown(key), error);
        }
        else if (X509_check_private_key(pair->leaf, pair->key) != 1) {
            error = apr_psprintf(p, "key %s does not belong to certificate "
                                 "%s", shown(key), shown(certificate));
        }
    }
    ERR_clear_error();
    if (error != NULL) {
        up_tlsfiles_drop(pair);
    }
    return error;
}

/* --- passwords ----------------------------------------------------------- */

const char *up_tlsfiles_passwords(apr_pool_t *p, const char *path,
                                  const apr_array_header_t **ppasswords)
{
    apr_array_header_t *list = apr_array_make(p, 4, sizeof(const char *));
    char line[PASSWORD_LINE];
    apr_file_t *file;
    apr_status_t rv;

    rv = apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_BUFFERED,
                       APR_FPROT_OS_DEFAULT, p);
    if (rv != APR_SUCCESS) {
        return apr_pstrcat(p, "cannot be opened: ", system_reason(p, rv),
                           NULL);
    }
    while (apr_file_gets(line, sizeof(line), file) == APR_SUCCESS) {
        line[strcspn(line, "\r\n")] = '\0';
        APR_ARRAY_PUSH(list, const char *) = apr_pstrdup(p, line);
    }
    apr_file_close(file);
    *ppasswords = list;
    return list->nelts > 0 ? NULL : "holds no password";
}

/* --- commands ------------------------------------------------------------ */

const char *up_tlsfiles_command(apr_pool_t *p, SSL_CTX *ctx, const char *name,
                                const char *value)
{
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    const char *error = NULL;
    int rc;

    ERR_clear_error();
    if (conf == NULL) {
        return "no memory";
    }
    SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_FILE | SSL_CONF_FLAG_CLIENT
                                     | SSL_CONF_FLAG_CERTIFICATE
                                     | SSL_CONF_FLAG_SHOW_ERRORS);
    SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
    rc = SSL_CONF_cmd(conf, name, value);
    if (rc <= 0 || SSL_CONF_CTX_finish(conf) != 1) {
        error = rc == -2 ? "no such command" : up_tlsfiles_reason(p);
    }
    SSL_CONF_CTX_free(conf);
    ERR_clear_error();
    return error;
}
