/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The module record, the hooks, the content handler: how the exchange hangs
 * into httpd. Everything else is below this file.
 */

#include "apr_strings.h"
#include "config/checks.h"
#include "config/group.h"
#include "config/log.h"
#include "config/nginx_names.h"
#include "config/pass.h"
#include "config/phase_hooks.h"
#include "config/process.h"
#include "config/settings.h"
#include "config/temp_path.h"
#include "config/zone.h"
#include "drivers/drive_loop.h"
#include "drivers/drive_sync.h"
#include "exchange/jump.h"
#include "exchange/note.h"
#include "exchange/request_target.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "mod_upstream_proxy.h"
#include "mpm_common.h"
#include "observe/api.h"
#include "observe/metrics.h"
#include "observe/state_file.h"
#include "observe/status.h"
#include "observe/variables.h"
#include "peers/checker.h"
#include "peers/clerk.h"
#include "peers/ledger_memory.h"
#include "peers/peer.h"
#include "peers/sessions.h"
#include "peers/zone_memory.h"
#include "transport/ahead.h"
#include "transport/backend_pool.h"
#include "transport/backend_tls.h"
#include "exchange/trailers.h"
#include "transport/client.h"
#include "transport/last_chunk.h"
#include "transport/source.h"
#include "upstream_request.h"

#define HANDLER "upstream-proxy"

/* ------------------------------------------------------------------------ */
/* whose request is it? */

/* An explicit SetHandler says what a location is for, as long as the same
 * section does not say UpstreamPass: the status page stays reachable below
 * `UpstreamPass / http://b`. */
static int has_set_handler(const request_rec *r)
{
    const core_dir_config *conf =
        ap_get_core_module_config(r->per_dir_config);

    return conf->expr_handler
           || (conf->handler && strcmp(conf->handler, "default-handler") != 0);
}

static const up_pass_t *pass_for(request_rec *r)
{
    const up_pass_t *slashless;

    if (r->method_number == M_CONNECT || !r->uri || r->uri[0] != '/'
        || has_set_handler(r)) {
        return NULL;
    }
    /* /x is answered with a redirect to the location /x/. */
    slashless = up_pass_slashless(r, r->uri);
    return slashless ? slashless : up_pass_of(r, r->uri);
}

/*
 * The path of a request of ours is decoded here, keeping %2F encoded whatever
 * AllowEncodedSlashes says: core would answer 404. Sections and access rules
 * then see the decoded path as always (CVE-2024-38473 is what happens when
 * they do not). Where %2F is to be decoded, core does it.
 */
static int on_pre_translate_name(request_rec *r)
{
    const core_dir_config *conf =
        ap_get_core_module_config(r->per_dir_config);
    int status;

    if (!pass_for(r)
        || (conf->allow_encoded_slashes && conf->decode_encoded_slashes)) {
        return DECLINED;
    }
    status = ap_unescape_url_ex(r->parsed_uri.path,
                                AP_UNESCAPE_URL_KEEP_UNRESERVED
                                    | AP_UNESCAPE_URL_KEEP_SLASHES);
    return status == OK ? DONE : status;
}

/* Before anybody rewrites: is the client's own target still what counts? */
static int on_translate_first(request_rec *r)
{
    if (!r->main && !r->prev && r->uri) {
        up_note_make(r)->target_baton = up_target_remember(r, r->uri);
    }
    return DECLINED;
}

/* After mod_rewrite, before mod_alias and the file system. */
static int on_translate_name(request_rec *r)
{
    const up_pass_t *pass = pass_for(r);

    if (!pass) {
        return DECLINED;
    }
    up_note_make(r)->pass = pass;
    r->filename = apr_pstrcat(r->pool, "upstream:", r->uri, NULL);
    return OK;
}

static int is_ours(const request_rec *r)
{
    const up_note_t *note = up_note_get(r);

    return note && note->pass;
}

/* No directory walk, no .htaccess, no stat(). */
static int on_map_to_storage(request_rec *r)
{
    return is_ours(r) ? OK : DECLINED;
}

/* No guessing of types and handlers from the path's extension. */
static int on_type_checker(request_rec *r)
{
    return is_ours(r) ? OK : DECLINED;
}

/* All sections have been merged. */
static int on_fixups(request_rec *r)
{
    const up_pass_t *pass = pass_for(r);
    up_note_t *note = up_note_get(r);

    if (pass) {
        up_note_make(r)->pass = pass;
        r->handler = HANDLER;
    }
    else if (note) {
        note->pass = NULL;
    }
    return DECLINED;
}

/* ------------------------------------------------------------------------ */
/* the content handler */

static int redirect_to(request_rec *r, const char *location)
{
    apr_table_setn(r->headers_out, "Location",
                   ap_construct_url(r->pool, location, r));
    return HTTP_MOVED_PERMANENTLY;
}

/* What a loop must not run itself goes to where it may block. */
static int on_handler_first(request_rec *r)
{
    int ours = r->handler && strcmp(r->handler, HANDLER) == 0;

    up_jump_arrive(r, ours);
    return up_drive_loop_divert(r, ours);
}

static int handler(request_rec *r)
{
    const up_note_t *note;
    const char *location;
    up_request_t *ur;
    int status;

    if (!r->handler || strcmp(r->handler, HANDLER) != 0) {
        return DECLINED;
    }
    note = up_note_get(r);
    if (!note || !note->pass) {
        return DECLINED;
    }
    if (r->method_number == M_TRACE) {
        return HTTP_METHOD_NOT_ALLOWED; /* as nginx; never shown to a backend */
    }
    location = up_target_slash_redirect(r, note->pass);
    if (location) {
        return redirect_to(r, location);
    }
    ur = up_request_make(r, note->pass, &status);
    if (!ur) {
        return status;
    }
    return up_drive_loop_fits(r) ? up_drive_loop(ur, r)
                                 : up_drive_sync(ur, r);
}

/* ------------------------------------------------------------------------ */
/* the server's life */

static int on_pre_connection(conn_rec *c, void *csd)
{
    (void)csd;
    if (!c->master) {
        up_client_attach(c);
    }
    return OK;
}

static int on_pre_config(apr_pool_t *pconf, apr_pool_t *plog,
                         apr_pool_t *ptemp)
{
    (void)plog;
    (void)ptemp;
    up_group_reset(pconf);
    up_zone_reset(pconf);
    up_match_reset(pconf);
    up_process_reset();
    return up_sessions_pre_config(pconf) == APR_SUCCESS
               ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

static int on_check_config(apr_pool_t *pconf, apr_pool_t *plog,
                           apr_pool_t *ptemp, server_rec *s)
{
    int status = up_checks_resolve(s);

    (void)plog;
    if (status == OK) {
        status = up_pass_post_config(pconf, ptemp, s);
    }
    return status == OK ? up_tls_check(ptemp, s) : status;
}

/* The MPM has settled how many children there may be. */
static int on_check_config_last(apr_pool_t *pconf, apr_pool_t *plog,
                                apr_pool_t *ptemp, server_rec *s)
{
    (void)pconf;
    (void)plog;
    (void)ptemp;
    return up_zones_check(s);
}

/* Here and not above: the error log is open now. */
static int on_post_config(apr_pool_t *pconf, apr_pool_t *plog,
                          apr_pool_t *ptemp, server_rec *s)
{
    const up_settings_t *settings =
        ap_get_module_config(s->lookup_defaults, &upstream_proxy_module);
    int status;

    (void)plog;
    (void)ptemp;
    up_temppath_post_config(s, up_pass_any() ? settings->temp_path : NULL);
    up_tlsprofile_post_config(pconf, s);
    status = up_zones_post_config(pconf, s);
    if (status == OK) {
        status = up_sessions_post_config(pconf, s);
    }
    if (status == OK) {
        status = up_group_post_config(pconf, s);
    }
    if (status == OK) {
        up_ledger_post_config(pconf, s);
        up_statefile_load(ptemp, s);
    }
    return status;
}

/* Others may hook in their post_config. */
static int on_post_config_last(apr_pool_t *pconf, apr_pool_t *plog,
                               apr_pool_t *ptemp, server_rec *s)
{
    (void)pconf;
    (void)plog;
    (void)ptemp;
    (void)s;
    up_hooks_find();
    return OK;
}

static void on_child_init(apr_pool_t *p, server_rec *s)
{
    apr_status_t rv;

    up_ledger_child_init();
    up_zones_child_init();
    up_sessions_child_init(p);
    rv = up_peers_child_init(p);
    if (rv == APR_SUCCESS) {
        rv = up_tls_child_init(p);
    }
    if (rv == APR_SUCCESS) {
        rv = up_pool_child_init(p, s);
    }
    if (rv == APR_SUCCESS) {
        rv = up_clerk_child_init(p, s);
    }
    if (rv == APR_SUCCESS) {
        rv = up_checker_child_init(p);
    }
    if (rv == APR_SUCCESS) {
        rv = up_drive_loop_child_init(p, s);
    }
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s, UPLOGNO(0001)
                     "cannot set up the upstream servers of this child");
        exit(APEXIT_CHILDFATAL);
    }
}

static void on_child_stopping(apr_pool_t *p, int graceful)
{
    (void)p;
    up_drive_sync_stop(graceful);
    up_checker_stop();
    up_pool_stopping();
}

static void register_hooks(apr_pool_t *p)
{
    static const char *const after_rewrite[] = { "mod_rewrite.c", NULL };
    static const char *const before_rewrite[] = { "mod_rewrite.c", NULL };

    up_client_register();
    up_trailers_register();
    up_source_register();
    up_ahead_register();
    up_last_chunk_register();
    up_drive_loop_register();
    up_jump_register();
    up_request_register();
    up_variables_register(p);
    up_metrics_register();
    up_api_register();
    up_status_register(p);
    up_zones_register();
    up_ledger_register();
    ap_hook_pre_config(on_pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(on_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(on_check_config_last, NULL, NULL,
                         APR_HOOK_REALLY_LAST);
    ap_hook_post_config(on_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(on_post_config_last, NULL, NULL,
                        APR_HOOK_REALLY_LAST);
    ap_hook_child_init(on_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_stopping(on_child_stopping, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_connection(on_pre_connection, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_translate_name(on_pre_translate_name, NULL, NULL,
                               APR_HOOK_MIDDLE);
    ap_hook_translate_name(on_translate_first, NULL, before_rewrite,
                           APR_HOOK_REALLY_FIRST);
    ap_hook_translate_name(on_translate_name, after_rewrite, NULL,
                           APR_HOOK_FIRST);
    ap_hook_map_to_storage(on_map_to_storage, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_type_checker(on_type_checker, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_fixups(on_fixups, NULL, before_rewrite, APR_HOOK_REALLY_FIRST);
    ap_hook_handler(on_handler_first, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_FIRST);
}

/* httpd takes one table of directives; each part of config/ has its own. */
static command_rec commands[256];

static void join_commands(const command_rec *from)
{
    apr_size_t n = 0;

    while (commands[n].name) {
        n++;
    }
    while (from->name) {
        ap_assert(n + 1 < sizeof(commands) / sizeof(commands[0]));
        commands[n++] = *from++;
    }
}

/* When the module is loaded, before httpd looks at its record. */
__attribute__((constructor)) static void make_commands(void)
{
    memset(commands, 0, sizeof(commands));
    join_commands(up_settings_commands);
    join_commands(up_group_commands);
    join_commands(up_match_commands);
    join_commands(up_process_commands);
    join_commands(up_nginxnames_make(up_settings_commands));
}

__attribute__((visibility("default")))
module AP_MODULE_DECLARE_DATA upstream_proxy_module = {
    STANDARD20_MODULE_STUFF,
    up_settings_create,
    up_settings_merge,
    up_pass_create_server,
    up_pass_merge_server,
    commands,
    register_hooks,
    0
};
