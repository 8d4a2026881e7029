/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what happens between the words of an UpstreamSSL directive and its
 * field.
 */

#include "config/setters_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "apr_lib.h"
#include "apr_strings.h"
#include "config/complaint.h"
#include "config/section.h"

/* --- texts and paths ----------------------------------------------------- */

/* Relative to ServerRoot, unless it is something else than a path. */
static const char *rooted(cmd_parms *cmd, const char *word)
{
    const char *path;

    if (word[0] == '\0' || strstr(word, "%{") != NULL
        || strncmp(word, "data:", 5) == 0) {
        return word;
    }
    path = ap_server_root_relative(cmd->pool, word);
    return path != NULL ? path : word;
}

/* The only word of raw arguments, perhaps an empty one, as a text. */
static const char *set_source(cmd_parms *cmd, up_settings_t *settings,
                              const char *args)
{
    const char *error = up_setters_begin(cmd, settings);
    const char *word;

    if (error != NULL) {
        return error;
    }
    word = *args != '\0' ? ap_getword_conf(cmd->pool, &args) : NULL;
    if (word == NULL || *args != '\0') {
        return apr_psprintf(cmd->pool, "%s wants %s",
                            up_setters_row(cmd)->name, cmd->cmd->errmsg);
    }
    up_setters_mark(cmd, settings);
    up_tls_note(cmd, &settings->tls);
    return up_text_parse(cmd, rooted(cmd, word),
                         up_setters_field(cmd, settings));
}

const char *up_setters_cert(cmd_parms *cmd, void *dconf, const char *args)
{
    up_settings_t *settings = dconf;
    const char *error = set_source(cmd, settings, args);
    const up_text_t *text = settings->tls.certificate;

    settings->tls.pair = NULL;
    if (error == NULL && text->expr == NULL && text->literal[0] != '\0') {
        settings->tls.pair = apr_pcalloc(cmd->pool, sizeof(up_tlspair_t));
    }
    return error;
}

const char *up_setters_certkey(cmd_parms *cmd, void *dconf, const char *args)
{
    return set_source(cmd, dconf, args);
}

static const char *set_bundle(cmd_parms *cmd, up_settings_t *settings,
                              const char *word, int crls)
{
    const up_tlsbundle_t **field = up_setters_field(cmd, settings);
    const char *error = up_setters_begin(cmd, settings);
    const char *why = NULL;

    if (error != NULL) {
        return error;
    }
    up_setters_mark(cmd, settings);
    *field = up_tlsfiles_bundle(cmd->pool, rooted(cmd, word), &why);
    if (*field != NULL && (crls ? (*field)->crls : (*field)->certificates)) {
        return NULL;
    }
    if (why == NULL) {
        why = crls ? "holds no revocation list" : "holds no certificate";
    }
    return up_complaint_word(cmd, apr_psprintf(cmd->temp_pool,
                                               "wants a PEM file (this one "
                                               "%s)", why), word);
}

const char *up_setters_crl(cmd_parms *cmd, void *dconf, const char *path)
{
    return set_bundle(cmd, dconf, path, 1);
}

const char *up_setters_trusted(cmd_parms *cmd, void *dconf, const char *path)
{
    return set_bundle(cmd, dconf, path, 0);
}

const char *up_setters_passwords(cmd_parms *cmd, void *dconf,
                                 const char *word)
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_begin(cmd, settings);

    if (error != NULL) {
        return error;
    }
    up_setters_mark(cmd, settings);
    error = up_tlsfiles_passwords(cmd->pool, rooted(cmd, word),
                                  &settings->tls.passwords);
    return error == NULL
               ? NULL
               : up_complaint_word(cmd,
                                   apr_psprintf(cmd->temp_pool, "wants a "
                                                "file of passwords (this "
                                                "one %s)", error), word);
}

/* Opened here, as root; children write to it. */
const char *up_setters_keylog(cmd_parms *cmd, void *dconf, const char *word)
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_begin(cmd, settings);
    apr_status_t rv;

    if (error != NULL) {
        return error;
    }
    up_setters_mark(cmd, settings);
    rv = apr_file_open(&settings->tls.key_log, rooted(cmd, word),
                       APR_FOPEN_WRITE | APR_FOPEN_APPEND | APR_FOPEN_CREATE,
                       APR_FPROT_UREAD | APR_FPROT_UWRITE, cmd->pool);
    return rv == APR_SUCCESS
               ? NULL
               : up_complaint_word(cmd, "wants a file that can be written to",
                                   word);
}

/* --- names --------------------------------------------------------------- */

const char *up_setters_names(cmd_parms *cmd, void *dconf, const char *args)
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_begin(cmd, settings);
    apr_array_header_t *names;
    const char *word;

    if (error != NULL) {
        return error;
    }
    if (*args == '\0') {
        return apr_psprintf(cmd->pool, "%s wants %s",
                            up_setters_row(cmd)->name, cmd->cmd->errmsg);
    }
    up_setters_mark(cmd, settings);
    error = up_text_parse(cmd, ap_getword_conf(cmd->pool, &args),
                          &settings->tls.name);
    names = apr_array_make(cmd->pool, 2, sizeof(const up_text_t *));
    while (error == NULL && *args != '\0') {
        word = ap_getword_conf(cmd->pool, &args);
        if (*word == '\0') {
            return up_complaint_word(cmd, "wants names that are not empty "
                                     "after the first", word);
        }
        error = up_text_parse(cmd, word, apr_array_push(names));
    }
    settings->tls.names = names;
    up_tls_note(cmd, &settings->tls);
    return error;
}

/* --- words --------------------------------------------------------------- */

static const up_word_t protocols[] = {
    {"SSLv2", UP_TLS_SSL2}, {"SSLv3", UP_TLS_SSL3}, {"TLSv1", UP_TLS_1_0},
    {"TLSv1.1", UP_TLS_1_1}, {"TLSv1.2", UP_TLS_1_2},
    {"TLSv1.3", UP_TLS_1_3}, {NULL, 0}
};

const char *up_setters_protocols(cmd_parms *cmd, void *dconf,
                                 const char *word)
{
    if (strcasecmp(word, "SSLv2") == 0) {
        return up_complaint_word(cmd, "cannot have SSLv2, which no OpenSSL "
                                 "speaks any more: leave it out", word);
    }
    return up_setters_words(cmd, dconf, protocols, word);
}

/* The place of a word in its list. -1: it is not there */
static int place_of(const char *const *words, const char *word)
{
    int i;

    for (i = 0; words[i] != NULL; i++) {
        if (strcasecmp(word, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static const char *set_place(cmd_parms *cmd, up_settings_t *settings,
                             const char *const *words, const char *word)
{
    const char *error = up_setters_begin(cmd, settings);
    int place = place_of(words, word);

    if (error == NULL && place < 0) {
        error = apr_pstrcat(cmd->temp_pool, "wants ", cmd->cmd->errmsg, NULL);
        error = up_complaint_word(cmd, error, word);
    }
    if (error == NULL) {
        up_setters_mark(cmd, settings);
        *(int *)up_setters_field(cmd, settings) = place;
    }
    return error;
}

const char *up_setters_proxy(cmd_parms *cmd, void *dconf, const char *word)
{
    static const char *const words[] = { "off", "v1", "v2", NULL };

    return set_place(cmd, dconf, words, word);
}

/* In the order of up_verify_e. */
const char *up_setters_verify(cmd_parms *cmd, void *dconf, const char *word)
{
    static const char *const words[] = { "on", "off", "chain", NULL };

    return set_place(cmd, dconf, words, word);
}

static const char *set_cache(up_certcache_t *cache, const char *word)
{
    const char *value;

    if ((value = up_units_param(word, "max=")) != NULL) {
        return up_units_number(value, 1, &cache->max);
    }
    if ((value = up_units_param(word, "inactive=")) != NULL) {
        return up_units_seconds(value, &cache->inactive);
    }
    if ((value = up_units_param(word, "valid=")) != NULL) {
        return up_units_seconds(value, &cache->valid);
    }
    return "wants off, or max= and perhaps inactive= and valid=";
}

const char *up_setters_certcache(cmd_parms *cmd, void *dconf, const char *one,
                                 const char *two, const char *three)
{
    up_settings_t *settings = dconf;
    up_certcache_t *cache = &settings->tls.cache;
    const char *words[4] = { one, two, three, NULL };
    const char *error = up_setters_begin(cmd, settings);
    int i;

    if (error != NULL) {
        return error;
    }
    up_setters_mark(cmd, settings);
    memset(cache, 0, sizeof(*cache));
    if (two == NULL && strcasecmp(one, "off") == 0) {
        return NULL;
    }
    cache->inactive = apr_time_from_sec(10);
    cache->valid = apr_time_from_sec(60);
    for (i = 0; words[i] != NULL; i++) {
        error = set_cache(cache, words[i]);
        if (error != NULL) {
            return up_complaint_word(cmd, error, words[i]);
        }
    }
    return cache->max > 0 ? NULL
                          : up_complaint_word(cmd, "wants max= with the "
                                              "number of certificates", one);
}

/* --- what only OpenSSL knows --------------------------------------------- */

/* Tries something on a context that is thrown away. NULL: it is good. */
static const char *try_out(cmd_parms *cmd, const char *ciphers,
                           const char *name, const char *value)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    const char *error = NULL;

    ERR_clear_error();
    if (ctx == NULL) {
        error = up_tlsfiles_reason(cmd->temp_pool);
    }
    else if (ciphers != NULL) {
        if (SSL_CTX_set_cipher_list(ctx, ciphers) != 1) {
            error = up_tlsfiles_reason(cmd->temp_pool);
        }
    }
    else {
        error = up_tlsfiles_command(cmd->temp_pool, ctx, name, value);
    }
    SSL_CTX_free(ctx);
    ERR_clear_error();
    return error;
}

const char *up_setters_ciphers(cmd_parms *cmd, void *dconf, const char *list)
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_begin(cmd, settings);

    if (error != NULL) {
        return error;
    }
    up_setters_mark(cmd, settings);
    settings->tls.ciphers = apr_pstrdup(cmd->pool, list);
    error = try_out(cmd, list, NULL, NULL);
    return error == NULL
               ? NULL
               : up_complaint_word(cmd, apr_psprintf(cmd->temp_pool, "wants "
                                                     "a list that OpenSSL "
                                                     "knows (%s)", error),
                                   list);
}

const char *up_setters_command(cmd_parms *cmd, void *dconf, const char *name,
                               const char *value)
{
    up_settings_t *settings = dconf;
    const char *error = up_section_misplaced(cmd);
    up_tlscommand_t *command;

    if (error != NULL) {
        return error;
    }
    error = try_out(cmd, NULL, name, value);
    if (error != NULL) {
        return up_complaint_word(cmd, apr_psprintf(cmd->temp_pool, "wants a "
                                                   "command of OpenSSL's "
                                                   "SSL_CONF_cmd and its "
                                                   "value \"%s\" (%s)",
                                                   value, error), name);
    }
    up_setters_mark(cmd, settings);
    if (settings->tls.commands == NULL) {
        settings->tls.commands = apr_array_make(cmd->pool, 4,
                                                sizeof(up_tlscommand_t));
    }
    command = apr_array_push(settings->tls.commands);
    command->name = apr_pstrdup(cmd->pool, name);
    command->value = apr_pstrdup(cmd->pool, value);
    return NULL;
}
