/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what can only be checked when a section is whole: certificates and
 * their keys.
 */

#include "config/tls.h"

#include "config/log.h"
#include "config/section.h"
#include "config/settings.h"

typedef struct noted_t {
    up_tlsconf_t *conf;
    const char *where;
    apr_pool_t *pool;
} noted_t;

/* Sections with a certificate or a key, of this configuration. */
static apr_array_header_t *sections;

static apr_status_t forget(void *unused)
{
    int i;

    (void)unused;
    for (i = 0; i < sections->nelts; i++) {
        up_tlspair_t *pair = APR_ARRAY_IDX(sections, i, noted_t).conf->pair;

        if (pair != NULL) {
            up_tlsfiles_drop(pair);
        }
    }
    sections = NULL;
    return APR_SUCCESS;
}

void up_tls_note(cmd_parms *cmd, up_tlsconf_t *conf)
{
    noted_t *noted;
    int i;

    if (sections == NULL) {
        sections = apr_array_make(cmd->pool, 4, sizeof(noted_t));
        apr_pool_cleanup_register(cmd->pool, NULL, forget,
                                  apr_pool_cleanup_null);
    }
    for (i = 0; i < sections->nelts; i++) {
        if (APR_ARRAY_IDX(sections, i, noted_t).conf == conf) {
            return;
        }
    }
    noted = apr_array_push(sections);
    noted->conf = conf;
    noted->where = up_section_where(cmd);
    noted->pool = cmd->pool;
}

static int is_literal(const up_text_t *text)
{
    return text != NULL && text->expr == NULL && text->literal[0] != '\0';
}

static const char *check(const noted_t *noted, const up_tlsconf_t *outer)
{
    up_tlsconf_t *conf = noted->conf;
    const up_text_t *key = conf->certificate_key;

    if (conf->name != NULL && conf->name->expr == NULL
        && conf->name->literal[0] == '\0' && conf->verify == UP_VERIFY_ON
        && outer->verify == UP_VERIFY_ON) {
        return "UpstreamSSLName is empty, so that no certificate can be for "
               "it: write a name, or UpstreamSSLVerify chain or off in the "
               "same section";
    }
    if (conf->certificate == NULL) {
        return key == NULL ? NULL
                           : "UpstreamSSLCertificateKey stands without its "
                             "certificate: write UpstreamSSLCertificate in "
                             "the same section";
    }
    if (conf->pair == NULL || (key != NULL && !is_literal(key))) {
        return NULL; /* read when a request tells what */
    }
    return up_tlsfiles_pair(noted->pool, conf->certificate->literal,
                            key != NULL ? key->literal
                                        : conf->certificate->literal,
                            conf->passwords != NULL ? conf->passwords
                                                    : outer->passwords,
                            conf->pair);
}

int up_tls_check(apr_pool_t *ptemp, server_rec *s)
{
    const up_settings_t *server = ap_get_module_config(s->lookup_defaults,
                                                       &upstream_proxy_module);
    int status = OK;
    int i;

    (void)ptemp;
    for (i = 0; sections != NULL && i < sections->nelts; i++) {
        const noted_t *noted = &APR_ARRAY_IDX(sections, i, noted_t);
        const char *error = check(noted, &server->tls);

        if (error != NULL) {
            ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, UPLOGNO(0700)
                         "the UpstreamSSL directives at %s: %s", noted->where,
                         error);
            status = HTTP_INTERNAL_SERVER_ERROR;
        }
    }
    return status;
}
