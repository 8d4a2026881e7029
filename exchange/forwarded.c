/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns Forwarded (RFC 7239) and the X-Forwarded fields: whom to believe, and
 * what to write.
 */

#include "exchange/forwarded.h"

#include <string.h>

#include "apr_lib.h"
#include "apr_strings.h"
#include "exchange/fields.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"

/* What is to be said. */
typedef struct story_t {
    const char *client; /* addresses */
    const char *peer;   /* NULL: it is the client, or no HTTP proxy */
    const char *host;
    const char *scheme;
    const char *port;
} story_t;

int up_forwarded_is(const char *name)
{
    static const char *const names[] = {
        "forwarded", "x-forwarded-for", "x-forwarded-host",
        "x-forwarded-proto", "x-forwarded-port"
    };
    apr_size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *a = names[i];
        const char *b = name;

        while (*a != '\0'
               && (apr_tolower(*b) == *a || (*a == '-' && *b == '_'))) {
            a++;
            b++;
        }
        if (*a == '\0' && *b == '\0') {
            return 1;
        }
    }
    return 0;
}

/*
 * mod_remoteip believes the peer when it takes the client's address from its
 * fields. With the PROXY protocol it does so, too, but then the fields are
 * the client's own: that has something of mod_remoteip on the connection.
 */
static int trusts_peer(const request_rec *r)
{
    const conn_rec *c = r->connection->master ? r->connection->master
                                              : r->connection;
    module *remoteip;

    if (strcmp(r->useragent_ip, r->connection->client_ip) == 0) {
        return 0;
    }
    remoteip = ap_find_linked_module("mod_remoteip.c");
    return remoteip && !ap_get_module_config(c->conn_config, remoteip);
}

/* The only value of a field of a trusted peer, NULL: none. */
static const char *said(request_rec *r, int trusted, const char *name)
{
    const char *value = trusted ? apr_table_get(r->headers_in, name) : NULL;

    return value && *value && !strpbrk(value, ", \t;\"\\") ? value : NULL;
}

static const char *port_in(const char *host)
{
    const char *colon = strrchr(host, ':');

    return colon && colon[1] != '\0' && strchr(colon, ']') == NULL
                   && strspn(colon + 1, "0123456789") == strlen(colon + 1)
               ? colon + 1 : NULL;
}

static void read_story(request_rec *r, story_t *story)
{
    int trusted = trusts_peer(r);
    const char *port = said(r, trusted, "X-Forwarded-Port");
    const char *host = said(r, trusted, "X-Forwarded-Host");

    story->client = r->useragent_ip;
    story->peer = trusted ? r->connection->client_ip : NULL;
    story->scheme = said(r, trusted, "X-Forwarded-Proto");
    if (!story->scheme) {
        story->scheme = ap_http_scheme(r);
    }
    if (!host) {
        host = apr_table_get(r->headers_in, "Host");
    }
    story->host = host && *host ? host : ap_get_server_name_for_url(r);
    if (port && strspn(port, "0123456789") != strlen(port)) {
        port = NULL;
    }
    story->port = port ? port : port_in(story->host);
    if (!story->port) {
        story->port = strcasecmp(story->scheme, "https") == 0 ? "443" : "80";
    }
}

/* An address as a node of RFC 7239 6. */
static const char *node(apr_pool_t *p, const char *address)
{
    return strchr(address, ':') ? apr_psprintf(p, "\"[%s]\"", address)
                                : address;
}

/* A quoted string (RFC 9110 5.6.4). */
static const char *quoted(apr_pool_t *p, const char *text)
{
    char *to = apr_palloc(p, 2 * strlen(text) + 3);
    char *at = to;

    *at++ = '"';
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            *at++ = '\\';
        }
        *at++ = *text;
    }
    *at++ = '"';
    *at = '\0';
    return to;
}

static const char *in_one(apr_pool_t *p, const story_t *story)
{
    const char *value = apr_pstrcat(p, "for=", node(p, story->client),
                                    ";host=", quoted(p, story->host),
                                    ";proto=", story->scheme, NULL);

    return story->peer ? apr_pstrcat(p, value, ", for=",
                                     node(p, story->peer), NULL)
                       : value;
}

int up_forwarded_make(request_rec *r, const up_settings_t *settings,
                      up_forwarded_t *fields)
{
    story_t story;
    int n = 0;

    if (!settings->forwarded) {
        return 0;
    }
    read_story(r, &story);
    if (settings->forwarded & UP_FORWARDED_RFC7239) {
        fields[n++] = (up_forwarded_t){ "Forwarded", in_one(r->pool, &story) };
    }
    if (settings->forwarded & UP_FORWARDED_LEGACY) {
        fields[n++] = (up_forwarded_t){
            "X-Forwarded-For",
            story.peer ? apr_pstrcat(r->pool, story.client, ", ", story.peer,
                                     NULL)
                       : story.client
        };
        fields[n++] = (up_forwarded_t){ "X-Forwarded-Host", story.host };
        fields[n++] = (up_forwarded_t){ "X-Forwarded-Proto", story.scheme };
        fields[n++] = (up_forwarded_t){ "X-Forwarded-Port", story.port };
    }
    return n;
}
