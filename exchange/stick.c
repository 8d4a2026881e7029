/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the forms of sticky cookies and of what requests ask for.
 */

#include "exchange/stick.h"

#include <string.h>

#include "apr_date.h"
#include "apr_strings.h"
#include "config/log.h"
#include "config/units.h"

#define LONGEST 4096 /* of a session's name: longer ones are no names */

/* The value of the first cookie of that name in a Cookie field. */
static const char *cookie_of(request_rec *r, const char *name)
{
    const char *at = apr_table_get(r->headers_in, "Cookie");
    apr_size_t len = strlen(name);

    while (at && *at) {
        apr_size_t end;

        at += strspn(at, "; \t,");
        end = strcspn(at, ";,");
        if (strncmp(at, name, len) == 0 && at[len] == '=' && end > len + 1) {
            return apr_pstrmemdup(r->pool, at + len + 1, end - len - 1);
        }
        at += end;
    }
    return NULL;
}

static const char *first_of(request_rec *r, const apr_array_header_t *texts)
{
    int i;

    for (i = 0; i < texts->nelts; i++) {
        const char *value = up_text_raw(r, APR_ARRAY_IDX(texts, i,
                                                         const up_text_t *));

        if (value && *value && strlen(value) <= LONGEST) {
            return value;
        }
    }
    return NULL;
}

const char *up_stick_asked(request_rec *r, const up_sticky_t *sticky)
{
    return sticky->kind == UP_STICKY_COOKIE ? cookie_of(r, sticky->cookie)
                                            : first_of(r, sticky->lookup);
}

const char *up_stick_created(request_rec *r, const up_sticky_t *sticky)
{
    return first_of(r, sticky->create);
}

/* An attribute's value; what would begin another attribute is none. */
static const char *value_of(request_rec *r, const up_text_t *text)
{
    const char *value = text ? up_text_value(r, text) : NULL;

    if (value && strchr(value, ';')) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, UPLOGNO(0820)
                      "expression \"%s\" of UpstreamSticky gives a value with "
                      "a semicolon, which is left out", text->source);
        return NULL;
    }
    return value && *value ? value : NULL;
}

/* As nginx has it: what is no such word is strict. */
static const char *samesite_of(request_rec *r, const up_sticky_t *sticky)
{
    static const up_word_t words[] = { { "strict", 1 }, { "lax", 1 },
                                       { "none", 1 }, { NULL, 0 } };
    const char *value = value_of(r, sticky->samesite);

    return value && !up_units_word(words, value) ? "strict" : value;
}

/* "; expires=Thu, 31-Dec-37 23:55:55 GMT; max-age=315360000" */
static const char *expiry_of(request_rec *r, const up_sticky_t *sticky,
                             apr_time_t now)
{
    char date[APR_RFC822_DATE_LEN];

    if (!sticky->expires_set) {
        return "";
    }
    if (sticky->expires_max) {
        return "; expires=Thu, 31-Dec-37 23:55:55 GMT; max-age=315360000";
    }
    apr_rfc822_date(date, now + sticky->expires);
    date[7] = date[11] = '-'; /* the form of the first cookies */
    return apr_psprintf(r->pool, "; expires=%.12s%s; max-age=%"
                        APR_INT64_T_FMT, date,
                        date + (strncmp(date + 12, "2037", 4) > 0 ? 12 : 14),
                        apr_time_sec(sticky->expires));
}

const char *up_stick_cookie(request_rec *r, const up_sticky_t *sticky,
                            const char *id, apr_time_t now)
{
    const char *domain = value_of(r, sticky->domain);
    const char *samesite = samesite_of(r, sticky);

    return apr_pstrcat(r->pool, sticky->cookie, "=", id,
                       expiry_of(r, sticky, now),
                       domain ? "; domain=" : "", domain ? domain : "",
                       sticky->httponly ? "; httponly" : "",
                       sticky->secure ? "; secure" : "",
                       samesite ? "; samesite=" : "",
                       samesite ? samesite : "",
                       sticky->path ? "; path=" : "",
                       sticky->path ? sticky->path : "", NULL);
}
