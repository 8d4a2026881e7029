/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns nginx's names of directives: proxy_read_timeout is that of
 * UpstreamReadTimeout.
 */

#include "config/nginx_names.h"

#include <string.h>

#include "apr_lib.h"
#include "apr_strings.h"
#include "config/dollar.h"

#define MOST 128
#define LONGEST 48

static char names[MOST][LONGEST];
static command_rec refusing[MOST + 1];

/* The line that is meant, and what else has to change in it. */
static const char *refuse(cmd_parms *cmd, void *dconf, const char *args)
{
    apr_size_t len = strlen(args);
    const char *hint = up_dollar_hint(cmd->temp_pool, args);

    (void)dconf;
    while (len > 0 && (args[len - 1] == ';' || apr_isspace(args[len - 1]))) {
        len--;
    }
    return apr_psprintf(cmd->pool, "%s is nginx's name: write \"%s%s%.*s\"%s%s",
                        cmd->cmd->name, (const char *)cmd->info,
                        len > 0 ? " " : "", (int)len, args,
                        hint != NULL ? "; " : "", hint != NULL ? hint : "");
}

static const char *refuse_upstream(cmd_parms *cmd, void *dconf,
                                   const char *args)
{
    const char *name = ap_getword_conf(cmd->temp_pool, &args);

    (void)dconf;
    return apr_psprintf(cmd->pool, "%s is nginx's name: write \"<Upstream %s>"
                        "\", a line for each UpstreamServer, and \"</Upstream>"
                        "\"", cmd->cmd->name, name);
}

/* HTTPVersion is http_version: a word begins with a capital behind a small
 * letter, or with the last of several capitals. */
static void spell(char *to, const char *name)
{
    const char *at;
    apr_size_t n = (apr_size_t)(apr_cpystrn(to, "proxy", LONGEST) - to);

    for (at = name; *at != '\0' && n + 3 < LONGEST; at++) {
        if (at == name
            || (apr_isupper(*at) && (apr_islower(at[-1])
                                     || apr_islower(at[1])))) {
            to[n++] = '_';
        }
        to[n++] = (char)apr_tolower(*at);
    }
    to[n] = '\0';
}

static void add(int n, const char *name,
                const char *(*setter)(cmd_parms *, void *, const char *),
                const char *ours)
{
    command_rec row = AP_INIT_RAW_ARGS(name, setter, NULL,
                                       RSRC_CONF | ACCESS_CONF,
                                       "nginx's name, refused");

    row.cmd_data = (void *)ours;
    refusing[n] = row;
}

const command_rec *up_nginxnames_make(const command_rec *from)
{
    int n = 0;

    add(n++, "upstream", refuse_upstream, NULL);
    for (; from->name != NULL && n < MOST; from++) {
        spell(names[n], from->name + strlen("Upstream"));
        add(n, names[n], refuse, from->name);
        n++;
    }
    return refusing;
}
