/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns UpstreamSticky and its parameters.
 */

#include "config/sticky.h"

#include <stddef.h>

#include "ap_provider.h"
#include "apr_strings.h"
#include "config/complaint.h"
#include "config/group.h"
#include "config/group_section.h"
#include "config/section.h"
#include "config/units.h"

#define DEFAULT_SESSION apr_time_from_sec(600)
#define LEAST_ZONE      32768 /* nginx's: 8 pages */

#define COOKIE (1u << UP_STICKY_COOKIE)
#define LEARN  (1u << UP_STICKY_LEARN)

/* One parameter: `value` is what stands behind the =. */
typedef struct param_t {
    const char *name; /* with the = where a value follows */
    unsigned int kinds;
    int many; /* may stand there several times */
    const char *(*set)(cmd_parms *cmd, up_sticky_t *sticky, const char *value);
} param_t;

/* What is wrong with a value: the parameter's name is put in front. */
static const char *wants(cmd_parms *cmd, const char *what, const char *value)
{
    return apr_psprintf(cmd->pool, "%s, not \"%s\"", what, value);
}

/* --- of cookie ----------------------------------------------------------- */

static const char *set_domain(cmd_parms *cmd, up_sticky_t *sticky,
                              const char *value)
{
    if (*value == '\0' || strchr(value, ';') != NULL) {
        return wants(cmd, "wants a domain or an expression", value);
    }
    return up_text_parse(cmd, value, &sticky->domain);
}

static const char *set_path(cmd_parms *cmd, up_sticky_t *sticky,
                            const char *value)
{
    if (*value == '\0' || strpbrk(value, ";\r\n") != NULL) {
        return wants(cmd, "wants a path such as /", value);
    }
    sticky->path = apr_pstrdup(cmd->pool, value);
    return NULL;
}

static const char *set_expires(cmd_parms *cmd, up_sticky_t *sticky,
                               const char *value)
{
    sticky->expires_set = 1;
    sticky->expires_max = strcasecmp(value, "max") == 0;
    if (!sticky->expires_max
        && up_units_seconds(value, &sticky->expires) != NULL) {
        return wants(cmd, "wants max or a time in whole seconds such as 10s, "
                     "1m30s or 2h", value);
    }
    return NULL;
}

static const char *set_httponly(cmd_parms *cmd, up_sticky_t *sticky,
                                const char *value)
{
    (void)cmd;
    (void)value;
    sticky->httponly = 1;
    return NULL;
}

static const char *set_secure(cmd_parms *cmd, up_sticky_t *sticky,
                              const char *value)
{
    (void)cmd;
    (void)value;
    sticky->secure = 1;
    return NULL;
}

static const char *set_samesite(cmd_parms *cmd, up_sticky_t *sticky,
                                const char *value)
{
    static const up_word_t words[] = { { "strict", 1 }, { "lax", 1 },
                                       { "none", 1 }, { NULL, 0 } };

    if (strstr(value, "%{") == NULL && up_units_word(words, value) == 0) {
        return wants(cmd, "wants strict, lax, none or an expression", value);
    }
    return up_text_parse(cmd, value, &sticky->samesite);
}

/* --- of learn ------------------------------------------------------------ */

static const char *add_text(cmd_parms *cmd, apr_array_header_t *texts,
                            const char *value)
{
    const up_text_t *text = NULL;
    const char *error;

    if (strstr(value, "%{") == NULL) {
        return wants(cmd, "wants an expression such as "
                     "%{upstream_cookie:SID}", value);
    }
    error = up_text_parse(cmd, value, &text);
    if (error == NULL) {
        APR_ARRAY_PUSH(texts, const up_text_t *) = text;
    }
    return error;
}

static const char *add_create(cmd_parms *cmd, up_sticky_t *sticky,
                              const char *value)
{
    return add_text(cmd, sticky->create, value);
}

static const char *add_lookup(cmd_parms *cmd, up_sticky_t *sticky,
                              const char *value)
{
    return add_text(cmd, sticky->lookup, value);
}

static const char *set_timeout(cmd_parms *cmd, up_sticky_t *sticky,
                               const char *value)
{
    const char *error = up_units_time(value, &sticky->timeout);

    if (error == NULL && sticky->timeout < apr_time_from_sec(1)) {
        error = "wants a time of one second or more";
    }
    return error != NULL ? wants(cmd, error, value) : NULL;
}

static const char *set_header(cmd_parms *cmd, up_sticky_t *sticky,
                              const char *value)
{
    (void)cmd;
    (void)value;
    sticky->header = 1;
    return NULL;
}

/* A table of httpd's. */
static const char *use_provider(cmd_parms *cmd, up_sticky_t *sticky,
                                const char *name, const char *args)
{
    const char *error;

    sticky->store = name;
    sticky->tables++;
    sticky->blocks = strcmp(name, "shmcb") != 0;
    sticky->provider = ap_lookup_provider(AP_SOCACHE_PROVIDER_GROUP, name,
                                          AP_SOCACHE_PROVIDER_VERSION);
    if (sticky->provider == NULL) {
        return apr_psprintf(cmd->pool, "needs a table \"%s\" that is not "
                            "there: write LoadModule for mod_socache_%s in "
                            "front of the <Upstream>", name, name);
    }
    error = sticky->provider->create(&sticky->instance, args, cmd->temp_pool,
                                     cmd->pool);
    return error != NULL ? apr_psprintf(cmd->pool, "%s: %s", name, error)
                         : NULL;
}

static const char *set_provider(cmd_parms *cmd, up_sticky_t *sticky,
                                const char *value)
{
    const char *colon = strchr(value, ':');

    if (*value == '\0' || colon == value) {
        return wants(cmd, "wants a table such as shmcb, "
                     "redis:10.0.0.1:6379 or memcache:10.0.0.1:11211", value);
    }
    if (colon == NULL) {
        return use_provider(cmd, sticky, apr_pstrdup(cmd->pool, value), NULL);
    }
    return use_provider(cmd, sticky,
                        apr_pstrmemdup(cmd->pool, value, colon - value),
                        apr_pstrdup(cmd->pool, colon + 1));
}

typedef struct search_t {
    const char *zone;
    const up_sticky_t *found;
} search_t;

static void find_zone(up_group_t *group, void *baton)
{
    search_t *search = baton;
    const up_sticky_t *sticky = group->sticky;

    if (sticky != NULL && sticky->zone != NULL
        && strcmp(sticky->zone, search->zone) == 0) {
        search->found = sticky;
    }
}

static const char *set_zone(cmd_parms *cmd, up_sticky_t *sticky,
                            const char *value)
{
    const char *colon = strchr(value, ':');
    search_t search = { NULL, NULL };
    apr_off_t size = 0;

    if (colon == NULL || colon == value
        || up_units_size(colon + 1, 0, &size) != NULL || size < LEAST_ZONE) {
        return wants(cmd, "wants a name and a size of 32k or more, such as "
                     "sessions:1m", value);
    }
    search.zone = apr_pstrmemdup(cmd->pool, value, colon - value);
    up_group_each(find_zone, &search);
    if (search.found != NULL) {
        return apr_psprintf(cmd->pool, "\"%s\" is the table of group %s "
                            "already, at %s: give it another name",
                            search.zone, search.found->group,
                            search.found->where);
    }
    sticky->zone = search.zone;
    return use_provider(cmd, sticky, "shmcb",
                        apr_psprintf(cmd->pool, "%s(%" APR_OFF_T_FMT ")",
                                     search.zone, size));
}

static const char *set_sync(cmd_parms *cmd, up_sticky_t *sticky,
                            const char *value)
{
    (void)cmd;
    (void)sticky;
    (void)value;
    return "is not there: take a table that machines share, such as "
           "provider=redis:10.0.0.1:6379";
}

/* --- the directive ------------------------------------------------------- */

static const param_t params[] = {
    { "domain=", COOKIE, 0, set_domain },
    { "path=", COOKIE, 0, set_path },
    { "expires=", COOKIE, 0, set_expires },
    { "httponly", COOKIE, 0, set_httponly },
    { "secure", COOKIE, 0, set_secure },
    { "samesite=", COOKIE, 0, set_samesite },
    { "create=", LEARN, 1, add_create },
    { "lookup=", LEARN, 1, add_lookup },
    { "zone=", LEARN, 0, set_zone },
    { "provider=", LEARN, 0, set_provider },
    { "timeout=", LEARN, 0, set_timeout },
    { "header", LEARN, 0, set_header },
    { "sync", LEARN, 0, set_sync },
    { NULL, 0, 0, NULL }
};

static const param_t *find_param(unsigned int kinds, const char *word)
{
    const param_t *param;

    for (param = params; param->name != NULL; param++) {
        if ((param->kinds & kinds)
            && up_units_param(word, param->name) != NULL) {
            return param;
        }
    }
    return NULL;
}

static const char *takes(apr_pool_t *p, unsigned int kinds)
{
    const char *all = "";
    const param_t *param;

    for (param = params; param->name != NULL; param++) {
        if ((param->kinds & kinds) && param->set != set_sync) {
            all = apr_pstrcat(p, all, " ", param->name, NULL);
        }
    }
    return all;
}

static const char *set_params(cmd_parms *cmd, up_sticky_t *sticky, int argc,
                              char *const argv[])
{
    unsigned int kinds = 1u << sticky->kind;
    unsigned int seen = 0;
    const char *error;
    int i;

    for (i = 0; i < argc; i++) {
        const param_t *param = find_param(kinds, argv[i]);
        unsigned int bit = param != NULL ? 1u << (param - params) : 0;

        if (param == NULL) {
            return up_complaint_word(cmd, apr_pstrcat(cmd->pool, "takes",
                                                      takes(cmd->pool, kinds),
                                                      " here", NULL), argv[i]);
        }
        if ((seen & bit) && !param->many) {
            return up_complaint_param_twice(cmd, argv[i]);
        }
        seen |= bit;
        error = param->set(cmd, sticky, argv[i] + strlen(param->name));
        if (error != NULL) {
            return strncmp(error, cmd->cmd->name, strlen(cmd->cmd->name)) == 0
                       ? error
                       : apr_psprintf(cmd->pool, "%s: %s %s", cmd->cmd->name,
                                      param->name, error);
        }
    }
    return NULL;
}

static const char *set_cookie(cmd_parms *cmd, up_sticky_t *sticky, int argc,
                              char *const argv[])
{
    if (argc < 1 || argv[0][0] == '\0'
        || argv[0][strcspn(argv[0], "()<>@,;:\\\"/[]?={} \t")] != '\0') {
        return up_complaint_word(cmd, "cookie wants the cookie's name, as in "
                                 "\"cookie srv_id expires=1h path=/\"",
                                 argc < 1 ? "" : argv[0]);
    }
    sticky->cookie = apr_pstrdup(cmd->pool, argv[0]);
    return set_params(cmd, sticky, argc - 1, argv + 1);
}

static const char *set_route(cmd_parms *cmd, up_sticky_t *sticky, int argc,
                             char *const argv[])
{
    const char *error;
    int i;

    for (i = 0; i < argc; i++) {
        error = add_text(cmd, sticky->lookup, argv[i]);
        if (error != NULL) {
            return apr_psprintf(cmd->pool, "%s route %s", cmd->cmd->name,
                                error);
        }
    }
    return argc == 0 ? apr_psprintf(cmd->pool, "%s route wants expressions, "
                                    "as in \"route %%{env:ROUTE}\"",
                                    cmd->cmd->name)
                     : NULL;
}

static const char *set_learn(cmd_parms *cmd, up_sticky_t *sticky, int argc,
                             char *const argv[])
{
    const char *error;

    sticky->timeout = DEFAULT_SESSION;
    error = set_params(cmd, sticky, argc, argv);
    if (error != NULL) {
        return error;
    }
    if (sticky->create->nelts == 0 || sticky->lookup->nelts == 0) {
        return apr_psprintf(cmd->pool, "%s learn wants create= and lookup=, "
                            "expressions that name a session",
                            cmd->cmd->name);
    }
    if (sticky->zone != NULL && sticky->tables > 1) {
        return apr_psprintf(cmd->pool, "%s learn has zone= and provider=: "
                            "keep one of them", cmd->cmd->name);
    }
    if (sticky->provider == NULL) {
        error = use_provider(cmd, sticky, "shmcb", NULL);
    }
    return error != NULL ? apr_psprintf(cmd->pool, "%s learn %s",
                                        cmd->cmd->name, error)
                         : NULL;
}

const char *up_sticky_set(cmd_parms *cmd, void *dconf, int argc,
                          char *const argv[])
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);
    up_sticky_t *sticky;

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    sticky = apr_pcalloc(cmd->pool, sizeof(*sticky));
    sticky->where = up_section_where(cmd);
    sticky->group = group->name;
    sticky->lookup = apr_array_make(cmd->pool, 2, sizeof(up_text_t *));
    sticky->create = apr_array_make(cmd->pool, 2, sizeof(up_text_t *));
    group->sticky = sticky;
    if (argc > 0 && strcasecmp(argv[0], "cookie") == 0) {
        sticky->kind = UP_STICKY_COOKIE;
        return set_cookie(cmd, sticky, argc - 1, argv + 1);
    }
    if (argc > 0 && strcasecmp(argv[0], "route") == 0) {
        sticky->kind = UP_STICKY_ROUTE;
        return set_route(cmd, sticky, argc - 1, argv + 1);
    }
    if (argc > 0 && strcasecmp(argv[0], "learn") == 0) {
        sticky->kind = UP_STICKY_LEARN;
        return set_learn(cmd, sticky, argc - 1, argv + 1);
    }
    return up_complaint_word(cmd, "wants cookie, route or learn",
                             argc > 0 ? argv[0] : "");
}
