/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What an answer asks of the proxy; see wishes.h. */

#include "exchange/wishes.h"

#include "apr_strings.h"
#include "exchange/accel.h"
#include "exchange/framing.h"
#include "http_protocol.h"
#include "util_filter.h"

static const char *unless(const up_settings_t *settings, unsigned int bit,
                          const up_head_t *head, const char *name)
{
    return settings->ignored & bit ? NULL : up_head_get(head, name);
}

void up_wishes_read(const up_settings_t *settings, const up_head_t *head,
                    up_wishes_t *wishes)
{
    int asked = up_accel_buffering(unless(settings, UP_IGNORE_BUFFERING, head,
                                          "X-Accel-Buffering"));
    apr_off_t rate = up_accel_rate(unless(settings, UP_IGNORE_RATE, head,
                                          "X-Accel-Limit-Rate"));

    wishes->buffering = settings->buffering;
    if (asked >= 0) {
        wishes->buffering = asked;
    }
    else if (up_accel_streams(settings->stream_types,
                              up_head_get(head, "Content-Type"))) {
        wishes->buffering = 0;
    }
    wishes->rate = rate > 0 ? rate : 0;
    wishes->redirect = unless(settings, UP_IGNORE_REDIRECT, head,
                              "X-Accel-Redirect");
    wishes->charset = unless(settings, UP_IGNORE_CHARSET, head,
                             "X-Accel-Charset");
    wishes->expires = unless(settings, UP_IGNORE_EXPIRES, head,
                             "X-Accel-Expires");
}

/* Does one of mod_cache's filters stand by? */
static int may_be_cached(const request_rec *r)
{
    const ap_filter_t *f;

    for (f = r->output_filters; f; f = f->next) {
        if (strncasecmp(f->frec->name, "cache", 5) == 0) {
            return 1;
        }
    }
    return 0;
}

static void set_lifetime(request_rec *r, apr_int64_t seconds)
{
    const char *value;

    if (seconds == 0) {
        apr_table_setn(r->subprocess_env, "no-cache", "1");
        return;
    }
    value = apr_table_getm(r->pool, r->headers_out, "Cache-Control");
    apr_table_setn(r->headers_out, "Cache-Control",
                   up_accel_cache_control(r->pool, value, seconds));
}

void up_wishes_grant(request_rec *r, const up_wishes_t *wishes)
{
    apr_int64_t seconds;

    if (wishes->charset && r->content_type
        && strcasecmp(wishes->charset, "off") != 0) {
        const char *type = up_accel_charset(r->pool, r->content_type,
                                            wishes->charset);

        if (type) {
            ap_set_content_type(r, type);
        }
    }
    seconds = up_accel_expires(wishes->expires, r->request_time);
    if (seconds >= 0 && may_be_cached(r)) {
        set_lifetime(r, seconds);
    }
}
