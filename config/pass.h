/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamPass: where the requests of a location go.
 *
 * Made while the configuration is read, completed in post_config (when all
 * groups are known), read-only afterwards.
 */

#ifndef UP_PASS_H
#define UP_PASS_H

#include "config/address.h"
#include "httpd.h"
#include "http_config.h"
#include "mod_upstream_proxy.h"

struct up_pass_t {
    const char *location;   /* the prefix that is replaced; NULL inside
                               <LocationMatch> and <If> */
    apr_size_t location_len;
    int off;                /* UpstreamPass off or ! */
    const apr_array_header_t *parts; /* of up_passpart_t: the URL holds an
                               expression. What is below has its value only in
                               a pass that was evaluated (exchange/
                               pass_value.h), but for a fixed authority. NULL:
                               all of it is fixed */
    const up_pass_t *written; /* in an evaluated pass: the one it comes from;
                                 NULL in all others */
    const char *url;        /* as written */
    const char *host;       /* host or group name as written, no brackets;
                               NULL for unix: */
    int tls;                /* https:// */
    const char *unix_path;  /* socket of http://unix:/path */
    apr_port_t port;        /* as written, else the scheme's */
    int has_port;           /* a port was written */
    const char *uri;        /* URI part, from the first / or ?; NULL: none */
    const char *host_value; /* UPSTREAM_HOST: with the port unless it is
                               the scheme's; localhost for unix */
    const char *port_value; /* UPSTREAM_PORT, "" for unix */
    up_group_t *group;      /* set in post_config; NULL until evaluated where
                               the authority holds an expression */
    const char *where;      /* file:line, for messages */
    const up_settings_t *section; /* of the section it stands in, as written
                               there; NULL: in none */
    server_rec *server;     /* whose configuration it stands in */
};

/** The port of a URL that has none. */
static inline apr_port_t up_pass_usual_port(const up_pass_t *pass)
{
    return pass->tls ? UP_ADDRESS_TLS_PORT : UP_ADDRESS_PORT;
}

/** "https" or "http". */
static inline const char *up_pass_scheme(const up_pass_t *pass)
{
    return pass->tls ? "https" : "http";
}

/** The setter of UpstreamPass, both forms (cmd->path tells the section). */
const char *up_pass_set(cmd_parms *cmd, void *dconf, const char *first,
                        const char *second);

/**
 * The pass that rules this request, or NULL: the innermost section's
 * UpstreamPass, or the two-argument form with the longest prefix of `uri`,
 * whichever location is longer. `off` gives NULL.
 * @param uri decoded path
 */
const up_pass_t *up_pass_of(request_rec *r, const char *uri);

/**
 * The pass whose location is `uri` and a slash, to answer the slash-less URI
 * with a redirect (nginx does so even where a shorter location would match);
 * NULL: there is none, or `uri` is a pass's location itself.
 */
const up_pass_t *up_pass_slashless(request_rec *r, const char *uri);

/**
 * Once the whole configuration is read: connects every pass with its group,
 * making implicit groups. Problems are logged with file and line.
 * Belongs in the check_config hook, which `httpd -t` runs too (it never gets
 * to post_config), and comes before up_group_post_config.
 * @return OK or HTTP_INTERNAL_SERVER_ERROR
 */
int up_pass_post_config(apr_pool_t *pconf, apr_pool_t *ptemp, server_rec *s);

/** Is there an UpstreamPass anywhere? After the configuration is read. */
int up_pass_any(void);

/** Is there one that may say https://? */
int up_pass_any_tls(void);

/** Is there one whose host only a request tells? */
int up_pass_any_dynamic(void);

/* Per-server part: the two-argument passes of a virtual host. */
void *up_pass_create_server(apr_pool_t *p, server_rec *s);
void *up_pass_merge_server(apr_pool_t *p, void *base, void *add);

#endif
