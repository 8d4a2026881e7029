/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns contexts. Two sets of directives are the same when they point to the
 * same values: those of one line, however sections were merged.
 */

#include "transport/tls_profile.h"

#include <string.h>

#include <openssl/err.h>

#include "apr_hash.h"
#include "apr_thread_mutex.h"
#include "config/log.h"
#include "config/pass.h"
#include "transport/backend_tls.h"

/* What a context is made of; all of it counts, so it is zeroed first. */
typedef struct ingredients_t {
    const up_tlspair_t *pair;
    const char *ciphers;
    const apr_array_header_t *commands;
    const up_tlsbundle_t *crl;
    const up_tlsbundle_t *trusted;
    apr_file_t *key_log;
    unsigned int protocols;
    int session_reuse;
    int verify;
    int verify_depth;
} ingredients_t;

typedef struct made_t {
    ingredients_t of;
    up_tlsprofile_t profile;
} made_t;

typedef struct profiles_t {
    apr_pool_t *pool;
    apr_thread_mutex_t *lock;
    apr_hash_t *all;
} profiles_t;

static profiles_t *profiles;    /* this child's */
static X509_STORE *system_store; /* NULL: not read */

/* --- making -------------------------------------------------------------- */

static X509_STORE *make_store(const ingredients_t *of)
{
    X509_STORE *store = X509_STORE_new();
    int i;

    if (!store) {
        return NULL;
    }
    if (!of->trusted) {
        X509_STORE_set_default_paths(store);
    }
    for (i = 0; of->trusted
                && i < sk_X509_INFO_num(of->trusted->items); i++) {
        X509_INFO *item = sk_X509_INFO_value(of->trusted->items, i);

        if (item->x509) {
            X509_STORE_add_cert(store, item->x509);
        }
    }
    for (i = 0; of->crl && i < sk_X509_INFO_num(of->crl->items); i++) {
        X509_INFO *item = sk_X509_INFO_value(of->crl->items, i);

        if (item->crl) {
            X509_STORE_add_crl(store, item->crl);
        }
    }
    ERR_clear_error(); /* one that is there twice is no error */
    return store;
}

static void set_trust(SSL_CTX *ctx, const ingredients_t *of)
{
    X509_STORE *store;

    if (of->verify == UP_VERIFY_OFF) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
        return;
    }
    if (!of->trusted && !of->crl) {
        if (!system_store) {
            system_store = make_store(of);
        }
        SSL_CTX_set1_cert_store(ctx, system_store);
    }
    else {
        store = make_store(of);
        SSL_CTX_set1_cert_store(ctx, store);
        X509_STORE_free(store);
    }
    if (of->crl) {
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx),
                                    X509_V_FLAG_CRL_CHECK
                                        | X509_V_FLAG_CRL_CHECK_ALL);
    }
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_verify_depth(ctx, of->verify_depth);
}

/* The lowest and the highest; one in the middle that was left out is off. */
static void set_protocols(SSL_CTX *ctx, unsigned int protocols)
{
    static const struct {
        unsigned int bit;
        int version;
        unsigned long off;
    } all[] = {
        { UP_TLS_SSL3, SSL3_VERSION, SSL_OP_NO_SSLv3 },
        { UP_TLS_1_0, TLS1_VERSION, SSL_OP_NO_TLSv1 },
        { UP_TLS_1_1, TLS1_1_VERSION, SSL_OP_NO_TLSv1_1 },
        { UP_TLS_1_2, TLS1_2_VERSION, SSL_OP_NO_TLSv1_2 },
        { UP_TLS_1_3, TLS1_3_VERSION, SSL_OP_NO_TLSv1_3 }
    };
    int lowest = 0;
    int highest = 0;
    apr_size_t i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (protocols & all[i].bit) {
            lowest = lowest ? lowest : all[i].version;
            highest = all[i].version;
            SSL_CTX_clear_options(ctx, all[i].off);
        }
        else {
            SSL_CTX_set_options(ctx, all[i].off);
        }
    }
    SSL_CTX_set_min_proto_version(ctx, lowest);
    SSL_CTX_set_max_proto_version(ctx, highest);
}

static const char *set_commands(SSL_CTX *ctx, const ingredients_t *of,
                                apr_pool_t *p)
{
    const char *error = NULL;
    int i;

    for (i = 0; !error && of->commands && i < of->commands->nelts; i++) {
        const up_tlscommand_t *command =
            &APR_ARRAY_IDX(of->commands, i, up_tlscommand_t);

        error = up_tlsfiles_command(p, ctx, command->name, command->value);
    }
    return error;
}

static const char *fill(SSL_CTX *ctx, const ingredients_t *of, apr_pool_t *p)
{
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE
                              | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                              | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_read_ahead(ctx, 1);
    set_protocols(ctx, of->protocols);
    if (of->ciphers && SSL_CTX_set_cipher_list(ctx, of->ciphers) != 1) {
        return up_tlsfiles_reason(p);
    }
    set_trust(ctx, of);
    if (of->pair
        && (SSL_CTX_use_certificate(ctx, of->pair->leaf) != 1
            || SSL_CTX_set1_chain(ctx, of->pair->chain) != 1
            || SSL_CTX_use_PrivateKey(ctx, of->pair->key) != 1)) {
        return up_tlsfiles_reason(p);
    }
    SSL_CTX_set_session_cache_mode(ctx, of->session_reuse
                                            ? SSL_SESS_CACHE_CLIENT
                                                  | SSL_SESS_CACHE_NO_INTERNAL
                                            : SSL_SESS_CACHE_OFF);
    if (of->session_reuse) {
        SSL_CTX_sess_set_new_cb(ctx, up_tls_new_session);
    }
    if (of->key_log) {
        SSL_CTX_set_keylog_callback(ctx, up_tls_log_key);
    }
    return set_commands(ctx, of, p);
}

/* --- the table ----------------------------------------------------------- */

static apr_status_t free_all(void *unused)
{
    apr_hash_index_t *at;

    (void)unused;
    for (at = apr_hash_first(NULL, profiles->all); at;
         at = apr_hash_next(at)) {
        const made_t *made = apr_hash_this_val(at);

        SSL_CTX_free(made->profile.ctx);
    }
    profiles = NULL;
    return APR_SUCCESS;
}

apr_status_t up_tlsprofile_child_init(apr_pool_t *p)
{
    profiles_t *made = apr_pcalloc(p, sizeof(*made));
    apr_status_t rv = apr_pool_create(&made->pool, p);

    if (rv == APR_SUCCESS) {
        rv = apr_thread_mutex_create(&made->lock, APR_THREAD_MUTEX_DEFAULT,
                                     p);
    }
    if (rv != APR_SUCCESS) {
        return rv;
    }
    made->all = apr_hash_make(made->pool);
    profiles = made;
    apr_pool_cleanup_register(p, NULL, free_all, apr_pool_cleanup_null);
    return APR_SUCCESS;
}

/* Lock held. */
static const up_tlsprofile_t *make_locked(const ingredients_t *of,
                                          apr_pool_t *p, const char **perror)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    made_t *made;

    ERR_clear_error();
    *perror = ctx ? fill(ctx, of, p) : "no memory";
    ERR_clear_error();
    if (*perror) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    made = apr_pcalloc(profiles->pool, sizeof(*made));
    made->of = *of;
    made->profile.ctx = ctx;
    made->profile.number = apr_hash_count(profiles->all) + 1;
    made->profile.verify = of->verify;
    made->profile.session_reuse = of->session_reuse;
    made->profile.key_log = of->key_log;
    apr_hash_set(profiles->all, &made->of, sizeof(made->of), made);
    return &made->profile;
}

const up_tlsprofile_t *up_tlsprofile_of(const up_tlsconf_t *conf,
                                        apr_pool_t *p, const char **perror)
{
    const up_tlsprofile_t *profile;
    const made_t *made;
    ingredients_t of;

    memset(&of, 0, sizeof(of));
    of.pair = conf->pair && conf->pair->leaf ? conf->pair : NULL;
    of.ciphers = conf->ciphers;
    of.commands = conf->commands;
    of.crl = conf->crl;
    of.trusted = conf->trusted;
    of.key_log = conf->key_log;
    of.protocols = conf->protocols;
    of.session_reuse = conf->session_reuse;
    of.verify = conf->verify;
    of.verify_depth = conf->verify_depth;
    apr_thread_mutex_lock(profiles->lock);
    made = apr_hash_get(profiles->all, &of, sizeof(of));
    profile = made ? &made->profile : make_locked(&of, p, perror);
    apr_thread_mutex_unlock(profiles->lock);
    return profile;
}

/* --- the start ----------------------------------------------------------- */

static apr_status_t free_store(void *unused)
{
    (void)unused;
    X509_STORE_free(system_store);
    system_store = NULL;
    return APR_SUCCESS;
}

void up_tlsprofile_post_config(apr_pool_t *pconf, server_rec *s)
{
    static const ingredients_t none;

    (void)s;
    if (up_pass_any_tls() && !system_store) {
        system_store = make_store(&none);
        apr_pool_cleanup_register(pconf, NULL, free_store,
                                  apr_pool_cleanup_null);
    }
}
