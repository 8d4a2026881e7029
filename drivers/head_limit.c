/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what is known of mod_reqtimeout. Its configuration is its own, so the
 * directives are read again, out of httpd's tree of them.
 */

#include "drivers/head_limit.h"

#include "apr_hash.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_config.h"

/* What mod_reqtimeout does without a directive. */
static const up_headlimit_t usual = { apr_time_from_sec(20),
                                      apr_time_from_sec(40), 500 };
static const up_headlimit_t none;

static const up_headlimit_t *outside; /* of the main server; NULL: no module */
static apr_hash_t *inside; /* by server_rec *: up_headlimit_t, where a
                              <VirtualHost> has its own */

/* header=FIRST[-MOST][,MinRate=RATE]; mod_reqtimeout has checked it. */
static up_headlimit_t *parse(apr_pool_t *p, const char *value)
{
    up_headlimit_t *limit = apr_pcalloc(p, sizeof(*limit));
    apr_int64_t first = apr_atoi64(value);

    limit->first = apr_time_from_sec(first);
    limit->most = limit->first;
    value += strspn(value, "0123456789");
    if (*value == '-') {
        limit->most = apr_time_from_sec(apr_atoi64(value + 1));
        value += 1 + strspn(value + 1, "0123456789");
    }
    else if (*value == ',') {
        limit->most = 0;
    }
    value = ap_strcasestr(value, "MinRate=");
    if (value != NULL && first != 0) {
        limit->rate = (apr_off_t)apr_atoi64(value + strlen("MinRate="));
    }
    return limit;
}

/* The limit in a list of directives; the last one counts. NULL: none. */
static up_headlimit_t *limit_in(apr_pool_t *p, const ap_directive_t *at)
{
    up_headlimit_t *limit = NULL;

    for (; at != NULL; at = at->next) {
        const char *words = at->args;

        if (strcasecmp(at->directive, "RequestReadTimeout") != 0) {
            continue;
        }
        while (*words != '\0') {
            const char *word = ap_getword_conf(p, &words);

            if (strncasecmp(word, "header=", 7) == 0) {
                limit = parse(p, word + 7);
            }
        }
    }
    return limit;
}

/* Whose <VirtualHost> is it? */
static const server_rec *server_of(const server_rec *s,
                                   const ap_directive_t *section)
{
    for (; s != NULL; s = s->next) {
        if (s->is_virtual && s->defn_name != NULL
            && s->defn_line_number == (unsigned)section->line_num
            && strcmp(s->defn_name, section->filename) == 0) {
            return s;
        }
    }
    return NULL;
}

void up_headlimit_read(apr_pool_t *pconf, server_rec *main_server)
{
    const ap_directive_t *at;

    inside = apr_hash_make(pconf);
    outside = NULL;
    if (ap_find_linked_module("mod_reqtimeout.c") == NULL) {
        return;
    }
    outside = limit_in(pconf, ap_conftree);
    if (outside == NULL) {
        outside = &usual;
    }
    for (at = ap_conftree; at != NULL; at = at->next) {
        const server_rec *s;
        const up_headlimit_t *limit;

        if (strcasecmp(at->directive, "<VirtualHost") != 0) {
            continue;
        }
        s = server_of(main_server, at);
        limit = limit_in(pconf, at->first_child);
        if (s != NULL && limit != NULL) {
            apr_hash_set(inside, apr_pmemdup(pconf, &s, sizeof(s)),
                         sizeof(s), limit);
        }
    }
}

static const up_headlimit_t *limit_of(const server_rec *s)
{
    const up_headlimit_t *limit = NULL;

    if (outside == NULL) {
        return &none;
    }
    if (apr_hash_count(inside) > 0) {
        limit = apr_hash_get(inside, &s, sizeof(s));
    }
    return limit != NULL ? limit : outside;
}

apr_interval_time_t up_headlimit_of(const server_rec *s, apr_off_t bytes)
{
    const up_headlimit_t *limit = limit_of(s);
    apr_interval_time_t time = limit->first;

    if (time == 0 || limit->rate == 0) {
        return time;
    }
    time += apr_time_from_sec(bytes / limit->rate);
    return limit->most != 0 && time > limit->most ? limit->most : time;
}
