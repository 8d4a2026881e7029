/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Maps request fields to the backend; see mapped_fields.h. */

#include "exchange/mapped_fields.h"

#include <string.h>

#include "apr_strings.h"
#include "config/pass.h"
#include "exchange/etags.h"
#include "exchange/fields.h"
#include "exchange/uri_map.h"
#include "util_filter.h"

/* The path of a Destination on this server, NULL: it is elsewhere. */
static const char *own_path(request_rec *r, const char *value)
{
    const char *host = apr_table_get(r->headers_in, "Host");
    apr_size_t len = host ? strlen(host) : 0;

    if (*value == '/') {
        return value[1] == '/' ? NULL : value;
    }
    if (strncasecmp(value, "http://", 7) == 0) {
        value += 7;
    }
    else if (strncasecmp(value, "https://", 8) == 0) {
        value += 8;
    }
    else {
        return NULL;
    }
    return len && strncasecmp(value, host, len) == 0 && value[len] == '/'
               ? value + len : NULL;
}

/*
 * Location and URI part change places as in the request's own target. What
 * climbs is left as it is: nobody has checked where it leads, and a backend
 * refuses another server's name.
 */
static const char *destination(request_rec *r, const up_pass_t *pass,
                               const char *host, const char *value)
{
    const char *path = own_path(r, value);

    if (!path || pass->written || up_urimap_has_parent(path)) {
        return value;
    }
    if (pass->uri) {
        if (!pass->location
            || strncmp(path, pass->location, pass->location_len) != 0) {
            return value;
        }
        path = apr_pstrcat(r->pool, pass->uri, path + pass->location_len,
                           NULL);
    }
    return *value == '/' ? path
                         : apr_pstrcat(r->pool, "http://", host, path, NULL);
}

/* Is there a filter of httpd's in the way that compresses? Such ones change
 * the entity tag. AddOutputFilterByType puts a word before the name. */
static const char *suffix_of(const request_rec *r)
{
    const ap_filter_t *filter;

    for (filter = r->output_filters; filter; filter = filter->next) {
        if (ap_strcasestr(filter->frec->name, "deflate")) {
            return "-gzip";
        }
        if (ap_strcasestr(filter->frec->name, "brotli_compress")) {
            return "-br";
        }
    }
    return NULL;
}

static const char *etags(request_rec *r, const char *value)
{
    const char *suffix = suffix_of(r);

    return suffix ? up_etags_strip(r->pool, value, suffix) : value;
}

const char *up_mapped_value(request_rec *r, const up_settings_t *settings,
                            const up_pass_t *pass, const char *host,
                            const char *name, const char *value)
{
    if (settings->destination && up_field_is(name, "Destination")) {
        return destination(r, pass, host, value);
    }
    if (settings->fix_deflate_etag
        && (up_field_is(name, "If-None-Match")
            || up_field_is(name, "If-Match"))) {
        return etags(r, value);
    }
    return value;
}
