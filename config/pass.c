/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns UpstreamPass: the rules of its place, the choice among several, and
 * the connection with groups.
 */

#include "config/pass.h"

#include "apr_hash.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "config/complaint.h"
#include "config/dollar.h"
#include "config/group.h"
#include "config/log.h"
#include "config/pass_parts.h"
#include "config/pass_url.h"
#include "config/section.h"
#include "config/settings.h"

/* A server's two-argument passes, the longest prefix first. */
typedef struct server_passes_t {
    apr_array_header_t *passes; /* of up_pass_t * */
    apr_hash_t *slashless;      /* "/x" -> the pass of "/x/" */
} server_passes_t;

/* All passes of this configuration, in the order of the file. */
static apr_array_header_t *all_passes;

static apr_status_t forget_passes(void *unused)
{
    (void)unused;
    all_passes = NULL;
    return APR_SUCCESS;
}

int up_pass_any(void)
{
    return all_passes != NULL;
}

static int is_dynamic(const up_pass_t *pass)
{
    return pass->parts != NULL && pass->host == NULL
           && pass->unix_path == NULL;
}

int up_pass_any_dynamic(void)
{
    int i;

    for (i = 0; all_passes != NULL && i < all_passes->nelts; i++) {
        if (is_dynamic(APR_ARRAY_IDX(all_passes, i, up_pass_t *))) {
            return 1;
        }
    }
    return 0;
}

int up_pass_any_tls(void)
{
    int i;

    for (i = 0; all_passes != NULL && i < all_passes->nelts; i++) {
        const up_pass_t *pass = APR_ARRAY_IDX(all_passes, i, up_pass_t *);

        if (pass->tls || is_dynamic(pass)) {
            return 1;
        }
    }
    return 0;
}

static void remember(apr_pool_t *p, up_pass_t *pass)
{
    if (all_passes == NULL) {
        all_passes = apr_array_make(p, 16, sizeof(up_pass_t *));
        apr_pool_cleanup_register(p, NULL, forget_passes,
                                  apr_pool_cleanup_null);
    }
    APR_ARRAY_PUSH(all_passes, up_pass_t *) = pass;
}

/* --- the URL ------------------------------------------------------------- */

/* In the URI part a dollar sign may well be meant. */
static int has_variable(cmd_parms *cmd, const char *url)
{
    const char *authority = strstr(url, "://");
    const char *dollar = strchr(url, '$');

    if (dollar == NULL
        || strncasecmp(url + up_passurl_scheme(url), "unix:", 5) == 0) {
        return 0;
    }
    authority = authority != NULL ? authority + 3 : url;
    return dollar < authority + strcspn(authority, "/?")
           || up_dollar_hint(cmd->temp_pool, url) != NULL;
}

/* An expression in the URI part leaves the rest as fixed as without one. */
static const char *parse_expression(cmd_parms *cmd, up_pass_t *pass,
                                    const char *url)
{
    const char *error = up_passparts_parse(cmd, url, &pass->parts);
    const char *word = url;
    const char *fixed = up_passurl_fixed(cmd->pool, url);

    if (error == NULL && fixed != NULL) {
        error = up_passurl_parse(cmd->pool, fixed, pass, &word);
        error = error != NULL ? up_complaint_word(cmd, error, word) : NULL;
    }
    pass->url = apr_pstrdup(cmd->pool, url);
    return error;
}

static const char *parse_url(cmd_parms *cmd, up_pass_t *pass, const char *url)
{
    const char *error;
    const char *word = url;

    if (has_variable(cmd, url)) {
        return up_complaint_word(cmd, "has a variable of nginx in its "
                                 "URL: write an expression of httpd, such as "
                                 "%{HTTP_HOST}", url);
    }
    if (strstr(url, "%{") != NULL) {
        return parse_expression(cmd, pass, url);
    }
    error = up_passurl_parse(cmd->pool, url, pass, &word);
    return error != NULL ? up_complaint_word(cmd, error, word) : NULL;
}

/* --- the directive ------------------------------------------------------- */

static int is_off(const char *word)
{
    return strcasecmp(word, "off") == 0 || strcmp(word, "!") == 0;
}

static const char *make_pass(cmd_parms *cmd, const char *location,
                             const char *url, up_pass_t **ppass)
{
    up_pass_t *pass = apr_pcalloc(cmd->pool, sizeof(*pass));
    const char *error = NULL;

    pass->where = up_section_where(cmd);
    pass->server = cmd->server;
    pass->off = is_off(url);
    if (location != NULL) {
        pass->location = apr_pstrdup(cmd->pool, location);
        pass->location_len = strlen(location);
    }
    if (!pass->off) {
        error = parse_url(cmd, pass, url);
    }
    if (error == NULL && location == NULL && pass->uri != NULL) {
        error = up_complaint_word(cmd, "cannot have a URI part inside "
                                  "<LocationMatch>, <If> or a <Location> with "
                                  "a pattern, where no prefix could be "
                                  "replaced: write the URL without it", url);
    }
    *ppass = pass;
    return error;
}

static const char *duplicate(cmd_parms *cmd, const up_pass_t *other)
{
    return apr_psprintf(cmd->pool, "\"UpstreamPass\" directive is duplicate: "
                        "the other one is at %s, keep one of them",
                        other->where);
}

static const char *set_in_section(cmd_parms *cmd, up_settings_t *settings,
                                  const char *url)
{
    int prefix = up_section_of(cmd) == UP_SECTION_PREFIX;
    up_pass_t *pass;
    const char *error;

    if (prefix && cmd->path[0] != '/') {
        return up_complaint_word(cmd, "wants a <Location> that begins with /",
                                 cmd->path);
    }
    if (settings->pass != NULL) {
        return duplicate(cmd, settings->pass);
    }
    error = make_pass(cmd, prefix ? cmd->path : NULL, url, &pass);
    if (error == NULL) {
        settings->pass = pass;
        pass->section = settings;
        remember(cmd->pool, pass);
    }
    return error;
}

/* Keeps the order: longest prefix first. */
static void insert(apr_array_header_t *passes, up_pass_t *pass)
{
    int i;

    APR_ARRAY_PUSH(passes, up_pass_t *) = pass;
    for (i = passes->nelts - 1; i > 0; i--) {
        up_pass_t **slot = &APR_ARRAY_IDX(passes, i, up_pass_t *);

        if (slot[-1]->location_len >= pass->location_len) {
            break;
        }
        slot[0] = slot[-1];
        slot[-1] = pass;
    }
}

static up_pass_t *find(const apr_array_header_t *passes, const char *location)
{
    int i;

    for (i = 0; i < passes->nelts; i++) {
        up_pass_t *pass = APR_ARRAY_IDX(passes, i, up_pass_t *);

        if (strcmp(pass->location, location) == 0) {
            return pass;
        }
    }
    return NULL;
}

static const char *set_in_server(cmd_parms *cmd, const char *location,
                                 const char *url)
{
    server_passes_t *own = ap_get_module_config(cmd->server->module_config,
                                                &upstream_proxy_module);
    up_pass_t *pass;
    const char *error;

    if (location[0] != '/') {
        return up_complaint_word(cmd, "wants a path that begins with / and a "
                                 "URL here, as in \"UpstreamPass /app/ "
                                 "http://host:8080\"", location);
    }
    pass = find(own->passes, location);
    if (pass != NULL) {
        return duplicate(cmd, pass);
    }
    error = make_pass(cmd, location, url, &pass);
    if (error == NULL) {
        insert(own->passes, pass);
        remember(cmd->pool, pass);
    }
    return error;
}

const char *up_pass_set(cmd_parms *cmd, void *dconf, const char *first,
                        const char *second)
{
    int in_section = up_section_of(cmd) != UP_SECTION_SERVER;
    const char *error = up_section_misplaced(cmd);

    if (error != NULL) {
        return error;
    }
    if (in_section && second != NULL && strstr(first, "://") != NULL) {
        return up_complaint_word(cmd, "takes nothing behind the URL: what can "
                                 "be set has directives of its own", second);
    }
    if (in_section && second != NULL) {
        return up_complaint_word(cmd, "wants only a URL inside a section: the "
                                 "section gives the path", first);
    }
    if (!in_section && second == NULL) {
        return up_complaint_word(cmd, "wants a path before the URL outside "
                                 "<Location>, as in \"UpstreamPass /app/ "
                                 "http://host:8080\"", first);
    }
    return in_section ? set_in_section(cmd, dconf, first)
                      : set_in_server(cmd, first, second);
}

/* --- per server ---------------------------------------------------------- */

void *up_pass_create_server(apr_pool_t *p, server_rec *s)
{
    server_passes_t *own = apr_pcalloc(p, sizeof(*own));

    (void)s;
    own->passes = apr_array_make(p, 4, sizeof(up_pass_t *));
    own->slashless = apr_hash_make(p);
    return own;
}

void *up_pass_merge_server(apr_pool_t *p, void *base, void *add)
{
    const server_passes_t *outer = base, *inner = add;
    server_passes_t *merged = up_pass_create_server(p, NULL);
    int i;

    apr_array_cat(merged->passes, inner->passes);
    for (i = 0; i < outer->passes->nelts; i++) {
        up_pass_t *pass = APR_ARRAY_IDX(outer->passes, i, up_pass_t *);

        if (find(inner->passes, pass->location) == NULL) {
            insert(merged->passes, pass);
        }
    }
    return merged;
}

/* --- per request --------------------------------------------------------- */

static const server_passes_t *passes_of(const request_rec *r)
{
    return ap_get_module_config(r->server->module_config,
                                &upstream_proxy_module);
}

static const up_pass_t *longest(const apr_array_header_t *passes,
                                const char *uri)
{
    int i;

    for (i = 0; i < passes->nelts; i++) {
        const up_pass_t *pass = APR_ARRAY_IDX(passes, i, up_pass_t *);

        if (strncmp(uri, pass->location, pass->location_len) == 0) {
            return pass;
        }
    }
    return NULL;
}

const up_pass_t *up_pass_of(request_rec *r, const char *uri)
{
    const up_pass_t *pass = up_settings_of(r)->pass;

    /* A pattern or a condition says more than any prefix. */
    if (pass == NULL || pass->location != NULL) {
        const up_pass_t *other = longest(passes_of(r)->passes, uri);

        if (pass == NULL || (other != NULL
                             && other->location_len > pass->location_len)) {
            pass = other;
        }
    }
    return pass == NULL || pass->off ? NULL : pass;
}

const up_pass_t *up_pass_slashless(request_rec *r, const char *uri)
{
    return apr_hash_get(passes_of(r)->slashless, uri, APR_HASH_KEY_STRING);
}

/* --- completing ---------------------------------------------------------- */

static int connect_group(apr_pool_t *pconf, up_pass_t *pass, server_rec *s)
{
    up_group_t *group = pass->host != NULL ? up_group_find(pass->host) : NULL;

    if (is_dynamic(pass)) {
        return OK; /* known when a request comes */
    }
    if (group != NULL && pass->has_port) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     UPLOGNO(0104) "UpstreamPass %s at %s: the group \"%s\" "
                     "(<Upstream> at %s) may not have port %hu in a URL: "
                     "leave it out, ports belong to UpstreamServer",
                     pass->url, pass->where, group->name, group->where,
                     pass->port);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    pass->group = group != NULL ? group : up_group_implicit(pconf, pass);
    pass->group->schemes |= pass->tls ? UP_GROUP_HTTPS : UP_GROUP_HTTP;
    return OK;
}

/* Servers without a port have that of the scheme by which they are asked. */
static void settle_ports(up_group_t *group, void *baton)
{
    int *pstatus = baton;
    int i;

    for (i = 0; i < group->servers->nelts; i++) {
        up_server_t *server = &APR_ARRAY_IDX(group->servers, i, up_server_t);

        if (!server->usual_port || !(group->schemes & UP_GROUP_HTTPS)) {
            continue;
        }
        if (group->schemes & UP_GROUP_HTTP) {
            ap_log_error(APLOG_MARK, APLOG_ERR, 0, NULL, UPLOGNO(0701)
                         "group \"%s\" (%s) is asked by http:// and by "
                         "https://, so server %s needs a port: write %s:80 or "
                         "%s:443", group->name, group->where, server->text,
                         server->text, server->text);
            *pstatus = HTTP_INTERNAL_SERVER_ERROR;
        }
        server->port = UP_ADDRESS_TLS_PORT;
    }
}

/* nginx's location tree: "/x" is answered for "/x/" unless it is a location
 * of its own. Sections of the main server rule in virtual hosts too. */
static void note_location(apr_pool_t *p, apr_hash_t *slashless,
                          const up_pass_t *pass)
{
    apr_size_t len = pass->location_len;

    if (pass->location == NULL || len < 2
        || pass->location[len - 1] != '/') {
        return;
    }
    apr_hash_set(slashless, apr_pstrmemdup(p, pass->location, len - 1),
                 APR_HASH_KEY_STRING, pass->off ? NULL : pass);
}

static void note_server(apr_pool_t *p, server_rec *main_server, server_rec *s)
{
    server_passes_t *own = ap_get_module_config(s->module_config,
                                                &upstream_proxy_module);
    server_rec *from = main_server;
    int i, rounds = s == main_server ? 1 : 2;

    apr_hash_clear(own->slashless);
    while (rounds-- > 0) {
        for (i = 0; i < all_passes->nelts; i++) {
            up_pass_t *pass = APR_ARRAY_IDX(all_passes, i, up_pass_t *);

            if (pass->server == from) {
                note_location(p, own->slashless, pass);
            }
        }
        from = s;
    }
    for (i = 0; i < all_passes->nelts; i++) {
        up_pass_t *pass = APR_ARRAY_IDX(all_passes, i, up_pass_t *);

        if (pass->location != NULL
            && (pass->server == s || pass->server == main_server)) {
            apr_hash_set(own->slashless, pass->location, APR_HASH_KEY_STRING,
                         NULL);
        }
    }
}

int up_pass_post_config(apr_pool_t *pconf, apr_pool_t *ptemp, server_rec *s)
{
    server_rec *one;
    int i, status = OK;

    (void)ptemp;
    if (all_passes == NULL) {
        return OK;
    }
    for (i = 0; i < all_passes->nelts; i++) {
        up_pass_t *pass = APR_ARRAY_IDX(all_passes, i, up_pass_t *);

        if (!pass->off && connect_group(pconf, pass, s) != OK) {
            status = HTTP_INTERNAL_SERVER_ERROR;
        }
    }
    up_group_each(settle_ports, &status);
    for (one = s; one != NULL; one = one->next) {
        note_server(pconf, s, one);
    }
    return status;
}
