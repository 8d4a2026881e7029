/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the evaluation of names and certificates. The identity of a
 * connection is made here: two requests whose identities differ never share
 * a connection or a session.
 */

#include "exchange/tls_plan.h"

#include <string.h>

#include <openssl/evp.h>

#include "apr_escape.h"
#include "apr_strings.h"
#include "config/address.h"
#include "config/log.h"
#include "transport/tls_certs.h"

/* --- names --------------------------------------------------------------- */

/* host:port and [v6]:port without the port and the brackets. */
static const char *bare_name(apr_pool_t *p, const char *name)
{
    const char *colon = strchr(name, ':');
    const char *end;

    if (name[0] == '[') {
        end = strchr(name, ']');
        return end ? apr_pstrmemdup(p, name + 1,
                                    (apr_size_t)(end - name - 1)) : name;
    }
    if (colon && !strchr(colon + 1, ':')) {
        return apr_pstrmemdup(p, name, (apr_size_t)(colon - name));
    }
    return name;
}

/* The first is the one that is sent, then those that will do as well. */
static const char **names_of(request_rec *r, const up_tlsconf_t *conf,
                             const up_pass_t *pass)
{
    int others = conf->names ? conf->names->nelts : 0;
    const char **names = apr_pcalloc(r->pool, (apr_size_t)(others + 2)
                                                  * sizeof(*names));
    int i;

    names[0] = conf->name ? up_text_value(r, conf->name)
                          : pass->host ? pass->host : "localhost";
    for (i = 0; names[i]; i++) {
        names[i] = bare_name(r->pool, names[i]);
        if (i == others) {
            return names;
        }
        names[i + 1] = up_text_value(r, APR_ARRAY_IDX(conf->names, i,
                                                      const up_text_t *));
    }
    return NULL;
}

/* The server name indication: no addresses (RFC 6066 3), without a dot at the
 * end. */
static const char *sni_of(apr_pool_t *p, const char *name)
{
    apr_size_t len = strlen(name);
    up_local_t unused;

    if (!len || len > 255 || up_address_local(name, &unused)) {
        return NULL;
    }
    return name[len - 1] == '.' ? apr_pstrmemdup(p, name, len - 1) : name;
}

/* --- certificates -------------------------------------------------------- */

/* A digest: a key that is data must not lie about in pools of connections. */
static const char *digest(apr_pool_t *p, const char *text)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned int len = 0;

    if (EVP_Digest(text, strlen(text), bytes, &len, EVP_sha256(), NULL)
        != 1) {
        return NULL;
    }
    return apr_pescape_hex(p, bytes, len, 0);
}

/* Its own section's certificate was read at start; all others are told by
 * the request. NULL: logged. "": there is none */
static const char *set_certificate(request_rec *r, const up_tlsconf_t *conf,
                                   up_tlsplan_t *plan)
{
    const char *certificate, *key, *stamp = NULL;
    const char *error = NULL;

    if (!conf->certificate || (conf->pair && conf->pair->leaf)) {
        return "";
    }
    certificate = up_text_raw(r, conf->certificate);
    key = conf->certificate_key ? up_text_raw(r, conf->certificate_key)
                                : certificate;
    if (!certificate || !key) {
        return NULL;
    }
    if (!*certificate) {
        return "";
    }
    if (!*key) {
        key = certificate;
    }
    certificate = up_tlscerts_rooted(r->pool, certificate);
    key = up_tlscerts_rooted(r->pool, key);
    if (conf->cache.max) {
        plan->pair = up_tlscerts_cached(r->pool, &conf->cache, certificate,
                                        key, conf->passwords, &stamp, &error);
        if (!plan->pair) {
            ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0702)
                          "cannot use UpstreamSSLCertificate: %s", error);
            return NULL;
        }
    }
    else {
        plan->certificate = certificate;
        plan->certificate_key = key;
        plan->passwords = conf->passwords;
        stamp = up_tlscerts_stamp(r->pool, certificate, key);
    }
    return digest(r->pool, apr_pstrcat(r->pool, certificate, "\n", key, "\n",
                                       stamp, NULL));
}

/* --- the plan ------------------------------------------------------------ */

static const char *joined(apr_pool_t *p, const char *const *names)
{
    const char *all = "";

    for (; names && *names; names++) {
        all = apr_pstrcat(p, all, " ", *names, NULL);
    }
    return all;
}

const up_tlsplan_t *up_tlsplan_of(request_rec *r,
                                  const up_settings_t *settings,
                                  const up_pass_t *pass)
{
    const up_tlsconf_t *conf = &settings->tls;
    up_tlsplan_t *plan = apr_pcalloc(r->pool, sizeof(*plan));
    const char *error = NULL;
    const char *certificate;
    const char **names;

    plan->profile = up_tlsprofile_of(conf, r->pool, &error);
    if (!plan->profile) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0703)
                      "cannot use the UpstreamSSL directives for %s: %s",
                      pass->url, error);
        return NULL;
    }
    if (conf->server_name || conf->verify == UP_VERIFY_ON) {
        names = names_of(r, conf, pass);
        if (!names) {
            return NULL;
        }
        plan->sni = conf->server_name ? sni_of(r->pool, names[0]) : NULL;
        plan->names = conf->verify == UP_VERIFY_ON ? names : NULL;
    }
    certificate = set_certificate(r, conf, plan);
    if (!certificate) {
        return NULL;
    }
    plan->identity = apr_psprintf(r->pool, "%u %s %s;%s",
                                  plan->profile->number, certificate,
                                  plan->sni ? plan->sni : "-",
                                  joined(r->pool, plan->names));
    return plan;
}

/* --- the PROXY protocol -------------------------------------------------- */

static const char *version_1(request_rec *r, const apr_sockaddr_t *client,
                             const apr_sockaddr_t *server, int family)
{
    char from[64], to[64];

    if (!family || apr_sockaddr_ip_getbuf(from, sizeof(from),
                                          (apr_sockaddr_t *)client)
        || apr_sockaddr_ip_getbuf(to, sizeof(to), (apr_sockaddr_t *)server)) {
        return "PROXY UNKNOWN\r\n";
    }
    return apr_psprintf(r->pool, "PROXY TCP%d %s %s %hu %hu\r\n",
                        family == APR_INET ? 4 : 6, from, to, client->port,
                        server->port);
}

static char *put(char *at, const void *bytes, apr_size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

static const char *version_2(request_rec *r, const apr_sockaddr_t *client,
                             const apr_sockaddr_t *server, int family,
                             apr_size_t *plen)
{
    static const char signature[12] = "\r\n\r\n\0\r\nQUIT\n";
    apr_size_t size = family == APR_INET ? 4 : 16;
    apr_size_t rest = family ? 2 * size + 4 : 0;
    char *head = apr_pcalloc(r->pool, 16 + rest);
    char *at = put(head, signature, sizeof(signature));
    apr_uint16_t from = htons(client->port);
    apr_uint16_t to = htons(server->port);

    *at++ = family ? 0x21 : 0x20; /* PROXY or LOCAL */
    *at++ = (char)(!family ? 0 : family == APR_INET ? 0x11 : 0x21);
    *at++ = 0;
    *at++ = (char)rest;
    if (family) {
        at = put(at, client->ipaddr_ptr, size);
        at = put(at, server->ipaddr_ptr, size);
        at = put(at, &from, 2);
        put(at, &to, 2);
    }
    *plen = 16 + rest;
    return head;
}

const char *up_proxyline_of(request_rec *r, int version, apr_size_t *plen)
{
    const apr_sockaddr_t *client = r->useragent_addr;
    const apr_sockaddr_t *server = r->connection->local_addr;
    int family = client->family;
    const char *line;

    if (family != server->family || (family != APR_INET
                                     && family != APR_INET6)) {
        family = 0; /* two families do not fit into one line */
    }
    if (version == 2) {
        return version_2(r, client, server, family, plen);
    }
    line = version_1(r, client, server, family);
    *plen = strlen(line);
    return line;
}
