/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the names UPSTREAM_* and upstream_*(), and when they are put into the
 * environment of a request.
 */

#include "observe/variables.h"

#include <string.h>

#include "ap_expr.h"
#include "apr_strings.h"
#include "config/log.h"
#include "config/pass.h"
#include "exchange/fields.h"
#include "exchange/note.h"
#include "exchange/response_head.h"
#include "exchange/trail.h"
#include "http_config.h"
#include "http_protocol.h"
#include "status_parser.h"

/* A row a variable: one of the trail's lists, or a function. */
typedef struct variable_t {
    const char *name;
    const char *(*get)(request_rec *r, apr_pool_t *p); /* NULL: a list */
    up_trail_e list;
} variable_t;

/* Does anything read the environment, when it is logged? Found out in
 * post_config. */
static int env_wanted;

static const up_pass_t *pass_of(const request_rec *r)
{
    for (; r; r = r->prev) {
        const up_note_t *note = up_note_get(r);

        if (note && note->pass) {
            return note->pass;
        }
    }
    return NULL;
}

static const char *get_host(request_rec *r, apr_pool_t *p)
{
    const up_pass_t *pass = pass_of(r);

    (void)p;
    return pass ? pass->host_value : NULL;
}

static const char *get_port(request_rec *r, apr_pool_t *p)
{
    const up_pass_t *pass = pass_of(r);

    (void)p;
    return pass ? pass->port_value : NULL;
}

static int collect(void *baton, const char *name, const char *value)
{
    (void)name;
    if (*value) {
        APR_ARRAY_PUSH((apr_array_header_t *)baton, const char *) = value;
        APR_ARRAY_PUSH((apr_array_header_t *)baton, const char *) = ", ";
    }
    return 1;
}

/* The client as httpd knows it, so as mod_remoteip has found it. */
static const char *get_forwarded(request_rec *r, apr_pool_t *p)
{
    apr_array_header_t *parts = apr_array_make(p, 4, sizeof(const char *));

    apr_table_do(collect, parts, r->headers_in, "X-Forwarded-For", NULL);
    APR_ARRAY_PUSH(parts, const char *) = r->useragent_ip;
    return apr_array_pstrcat(p, parts, 0);
}

static const char *get_tries(request_rec *r, apr_pool_t *p)
{
    const up_trail_t *trail = up_note_trail(r);

    return trail ? apr_itoa(p, up_trail_tries(trail)) : NULL;
}

static const variable_t variables[] = {
    { "UPSTREAM_HOST", get_host, 0 },
    { "UPSTREAM_PORT", get_port, 0 },
    { "UPSTREAM_ADD_X_FORWARDED_FOR", get_forwarded, 0 },
    { "UPSTREAM_ADDR", NULL, UP_TRAIL_ADDR },
    { "UPSTREAM_STATUS", NULL, UP_TRAIL_STATUS },
    { "UPSTREAM_QUEUE_TIME", NULL, UP_TRAIL_QUEUE_TIME },
    { "UPSTREAM_CONNECT_TIME", NULL, UP_TRAIL_CONNECT_TIME },
    { "UPSTREAM_HEADER_TIME", NULL, UP_TRAIL_HEADER_TIME },
    { "UPSTREAM_RESPONSE_TIME", NULL, UP_TRAIL_RESPONSE_TIME },
    { "UPSTREAM_RESPONSE_LENGTH", NULL, UP_TRAIL_RESPONSE_LENGTH },
    { "UPSTREAM_BYTES_RECEIVED", NULL, UP_TRAIL_BYTES_RECEIVED },
    { "UPSTREAM_BYTES_SENT", NULL, UP_TRAIL_BYTES_SENT },
    { "UPSTREAM_REUSED", NULL, UP_TRAIL_REUSED },
    { "UPSTREAM_ERROR", NULL, UP_TRAIL_ERROR },
    { "UPSTREAM_TRIES", get_tries, 0 },
};

#define NVARIABLES (sizeof(variables) / sizeof(variables[0]))

static const char *get(request_rec *r, apr_pool_t *p, const variable_t *row)
{
    const up_trail_t *trail;

    if (row->get) {
        return row->get(r, p);
    }
    trail = up_note_trail(r);
    return trail ? up_trail_text(p, trail, row->list) : NULL;
}

static const char *eval_variable(ap_expr_eval_ctx_t *ctx, const void *data)
{
    return ctx->r ? get(ctx->r, ctx->p, data) : NULL;
}

static const up_head_t *head_of(const ap_expr_eval_ctx_t *ctx)
{
    const up_trail_t *trail = up_note_trail(ctx->r);

    return trail ? trail->head : NULL;
}

static const up_head_t *trailers_of(const ap_expr_eval_ctx_t *ctx)
{
    const up_trail_t *trail = up_note_trail(ctx->r);

    return trail ? trail->trailers : NULL;
}

/* Field names as nginx's variables spell them, or as they are. */
static int is_spelled(const char *name, const char *asked)
{
    char one[2] = { 0 }, other[2] = { 0 };

    for (; *name && *asked; name++, asked++) {
        one[0] = *name == '-' ? '_' : *name;
        other[0] = *asked == '-' ? '_' : *asked;
        if (!up_field_is(one, other)) {
            return 0;
        }
    }
    return *name == *asked;
}

/* All fields of that name. */
static const char *value_in(const ap_expr_eval_ctx_t *ctx,
                            const up_head_t *head, const char *arg)
{
    const char *text = NULL;
    int i;

    for (i = 0; head && arg && i < head->nfields; i++) {
        const up_field_t *field = &head->fields[i];

        if (!is_spelled(field->name, arg) || up_reshead_repeats(head, i)) {
            continue;
        }
        text = text ? apr_pstrcat(ctx->p, text, ", ", field->value, NULL)
                    : field->value;
    }
    return text ? text : "";
}

static const char *eval_http(ap_expr_eval_ctx_t *ctx, const void *data,
                             const char *arg)
{
    (void)data;
    return value_in(ctx, head_of(ctx), arg);
}

static const char *eval_trailer(ap_expr_eval_ctx_t *ctx, const void *data,
                                const char *arg)
{
    (void)data;
    return value_in(ctx, trailers_of(ctx), arg);
}

/* The value in a Set-Cookie of that name, or NULL. */
static const char *cookie_value(apr_pool_t *p, const char *cookie,
                                const char *name)
{
    apr_size_t len = strlen(name);

    cookie += strspn(cookie, " \t");
    if (ap_cstr_casecmpn(cookie, name, len) != 0) {
        return NULL;
    }
    cookie += len;
    cookie += strspn(cookie, " \t");
    if (*cookie != '=') {
        return NULL;
    }
    cookie++;
    cookie += strspn(cookie, " \t");
    return apr_pstrmemdup(p, cookie, strcspn(cookie, ";"));
}

static const char *eval_cookie(ap_expr_eval_ctx_t *ctx, const void *data,
                               const char *arg)
{
    const up_head_t *head = head_of(ctx);
    int i;

    (void)data;
    for (i = 0; head && arg && *arg && i < head->nfields; i++) {
        const char *value;

        if (!up_field_is(head->fields[i].name, "Set-Cookie")) {
            continue;
        }
        value = cookie_value(ctx->p, head->fields[i].value, arg);
        if (value) {
            return value;
        }
    }
    return "";
}

static int lookup_variable(ap_expr_lookup_parms *parms)
{
    apr_size_t i;

    for (i = 0; i < NVARIABLES; i++) {
        if (ap_cstr_casecmp(variables[i].name, parms->name) == 0) {
            *parms->func = eval_variable;
            *parms->data = &variables[i];
            return OK;
        }
    }
    return DECLINED;
}

static int lookup(ap_expr_lookup_parms *parms)
{
    if (parms->type == AP_EXPR_FUNC_VAR) {
        return lookup_variable(parms);
    }
    if (parms->type != AP_EXPR_FUNC_STRING) {
        return DECLINED;
    }
    if (ap_cstr_casecmp(parms->name, "upstream_http") == 0) {
        *parms->func = eval_http;
    }
    else if (ap_cstr_casecmp(parms->name, "upstream_trailer") == 0) {
        *parms->func = eval_trailer;
    }
    else if (ap_cstr_casecmp(parms->name, "upstream_cookie") == 0) {
        *parms->func = eval_cookie;
    }
    else {
        return DECLINED;
    }
    *parms->data = NULL;
    return OK;
}

void up_variables_publish(request_rec *r)
{
    apr_size_t i;

    if (up_note_trail(r) == NULL) {
        return;
    }
    for (i = 0; i < NVARIABLES; i++) {
        const char *value = get(r, r->pool, &variables[i]);

        if (value) {
            apr_table_setn(r->subprocess_env, variables[i].name, value);
        }
    }
}

/* The loggers look at the last request of a chain of redirects. */
static int log_transaction(request_rec *r)
{
    if (env_wanted) {
        while (r->next) {
            r = r->next;
        }
        up_variables_publish(r);
    }
    return DECLINED;
}

static int names_one(const char *args)
{
    apr_size_t i;

    for (i = 0; i < NVARIABLES; i++) {
        if (ap_strcasestr(args, variables[i].name)) {
            return 1;
        }
    }
    return 0;
}

/* Those that read the environment when the response's head is sent: they see
 * what is known by then. mod_headers for one: Header set X %{UPSTREAM_ADDR}e */
static int reads_early(const ap_directive_t *node)
{
    return ap_cstr_casecmp(node->directive, "Header") == 0;
}

/* Our own directives ask through expressions, never the environment. */
static int reads_at_all(const ap_directive_t *node)
{
    return ap_cstr_casecmpn(node->directive, "Upstream", 8) != 0;
}

static int names_a_variable(const ap_directive_t *node,
                            int (*counts)(const ap_directive_t *node))
{
    for (; node; node = node->next) {
        if (names_a_variable(node->first_child, counts)
            || (node->args && counts(node) && names_one(node->args))) {
            return 1;
        }
    }
    return 0;
}

/* A response's head is there. */
static int publish_for_response(request_rec *r, up_request_t *u)
{
    (void)u;
    up_variables_publish(r);
    return DECLINED;
}

/* An error page of ours may follow. */
static void publish_for_error(request_rec *r, up_request_t *u)
{
    (void)u;
    up_variables_publish(r);
}

/* Building the texts costs some microseconds a request. Nothing can read
 * them that does not name them in the configuration, scripts aside. */
static int post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp,
                       server_rec *s)
{
    (void)p;
    (void)plog;
    (void)ptemp;
    (void)s;
    env_wanted = ap_find_linked_module("mod_lua.c") != NULL
                 || ap_find_linked_module("mod_perl.c") != NULL
                 || names_a_variable(ap_conftree, reads_at_all);
    if (names_a_variable(ap_conftree, reads_early)) {
        APR_OPTIONAL_HOOK(up, upstream_response_in, publish_for_response,
                          NULL, NULL, APR_HOOK_REALLY_FIRST);
        APR_OPTIONAL_HOOK(up, upstream_log, publish_for_error, NULL, NULL,
                          APR_HOOK_REALLY_FIRST);
    }
    return OK;
}

void up_variables_register(apr_pool_t *p)
{
    (void)p;
    ap_hook_expr_lookup(lookup, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(log_transaction, NULL, NULL, APR_HOOK_FIRST);
}
