/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What can be said of a location: one field a directive.
 *
 * A settings object is always complete: create fills in every default, merge
 * takes from the inner section what was set there. Nothing in it changes
 * after merging; it lives in the configuration pool or, when httpd merged
 * sections for one request, in that request's pool. Any thread may read it.
 *
 * To add a simple directive: one field here and one row in settings.c.
 */

#ifndef UP_SETTINGS_H
#define UP_SETTINGS_H

#include "apr_hash.h"
#include "apr_tables.h"
#include "config/codes.h"
#include "config/expressions.h"
#include "config/tls.h"
#include "exchange/upgrade.h"
#include "httpd.h"
#include "http_config.h"
#include "mod_upstream_proxy.h"

/** One UpstreamSetHeader. */
typedef struct up_header_t {
    const char *name;
    const up_text_t *value;
} up_header_t;

/**
 * Sizes that depend on each other, as written. What rules is derived from
 * them (derived.h), so that merging in any order gives the same result.
 */
typedef struct up_sizes_t {
    apr_off_t buffer_size;     /* 0: not given, as all but one here */
    apr_off_t max_header_size;
    int buffers_num;           /* these two are one directive's */
    apr_off_t buffers_size;
    apr_off_t busy_buffers_size;
    apr_off_t max_temp_file_size; /* -1: not given */
    apr_off_t temp_file_write_size;
} up_sizes_t;

/** What UpstreamIgnoreHeaders lists: whose meaning for us is switched off. */
#define UP_IGNORE_REDIRECT  (1u << 0) /* X-Accel-Redirect, and so on */
#define UP_IGNORE_EXPIRES   (1u << 1)
#define UP_IGNORE_RATE      (1u << 2)
#define UP_IGNORE_BUFFERING (1u << 3)
#define UP_IGNORE_CHARSET   (1u << 4)
#define UP_IGNORE_INERT     (1u << 5) /* from here on: for nginx's cache only,
                                         without a meaning here */

/** UpstreamForwarded: which fields. */
#define UP_FORWARDED_LEGACY  1 /* X-Forwarded-* */
#define UP_FORWARDED_RFC7239 2

/** UpstreamStore. */
typedef enum up_store_e {
    UP_STORE_OFF,
    UP_STORE_URI, /* where httpd would look for the URI */
    UP_STORE_PATH
} up_store_e;

/** Words of the mask of rows: 64 rows each. */
#define UP_SETTINGS_WORDS 2

struct up_settings_t {
    apr_uint64_t set[UP_SETTINGS_WORDS]; /* bit n: row n of the table was set
                                            here or, in a merged object, in
                                            one of its sections */

    const up_pass_t *pass; /* UpstreamPass of this section or of the nearest
                              one around it; NULL: none */

    /* the request */
    const up_text_t *method;         /* NULL: the client's */
    int http_version;                /* 10 or 11 */
    apr_array_header_t *set_headers; /* of up_header_t, may be NULL */
    const up_text_t *set_body;       /* NULL: the client's */
    int pass_request_headers;
    int forwarded;        /* mask of UP_FORWARDED_* */
    int normalized_uri;   /* behind a prefix: decoded and escaped again */
    int destination;      /* of WebDAV is mapped */
    int fix_deflate_etag;
    int pass_request_body;
    int request_buffering;
    apr_off_t request_buffer_size; /* bytes of a body kept in memory */
    const up_text_t *bind;         /* NULL: off */
    int bind_transparent;
    int socket_keepalive;
    apr_off_t socket_rcvbuf; /* bytes, 0: the system's */
    apr_off_t socket_sndbuf;
    apr_off_t send_lowat; /* accepted, ignored on Linux */
    int ignore_client_abort;
    int async; /* a waiting exchange may leave its thread */
    const up_protocols_t *upgrade; /* NULL: off */
    apr_interval_time_t tunnel_timeout; /* 0: read_timeout */
    int headers_hash_max_size; /* accepted for nginx's sake, inert */
    int headers_hash_bucket_size;

    /* timeouts (microseconds) and retries */
    apr_interval_time_t connect_timeout;
    apr_interval_time_t send_timeout;
    apr_interval_time_t read_timeout;
    unsigned int next_upstream; /* mask of up_fail_e */
    int next_upstream_tries;    /* 0: no limit */
    apr_interval_time_t next_upstream_timeout; /* 0: no limit */
    apr_interval_time_t try_timeout; /* 0: no limit */
    const char *retry_key; /* the name of a request field, NULL: off */
    apr_interval_time_t total_timeout; /* 0: no limit */

    up_tlsconf_t tls;
    int proxy_protocol; /* 1 or 2, 0: off */

    const struct up_resolver_t *resolver; /* NULL: the system's */
    apr_interval_time_t resolver_timeout;

    /* the response; sizes are derived from `written`, never 0 unless said */
    up_sizes_t written;
    int buffering;
    apr_off_t buffer_size;     /* first buffer for the head */
    apr_off_t max_header_size; /* the head may grow to this */
    int buffers_num;
    apr_off_t buffers_size;
    apr_off_t busy_buffers_size;
    apr_off_t max_temp_file_size;   /* 0: no file */
    apr_off_t temp_file_write_size;
    const char *temp_path;          /* absolute */
    int temp_levels[3];             /* digits a level, 0: no level */
    int pass_trailers;
    int force_ranges;
    int store;                     /* up_store_e */
    const up_text_t *store_path;   /* UP_STORE_PATH's */
    int store_mode;                /* permissions of a stored file, as chmod
                                      has them */
    const up_text_t *limit_rate;    /* bytes a second, NULL: no limit */
    apr_array_header_t *pass_headers; /* of const char * */
    apr_array_header_t *hide_headers; /* of const char * */

    /* what the answer may ask for */
    const up_codes_t *intercept_errors; /* NULL: off */
    unsigned int ignored;               /* mask of UP_IGNORE_* */
    apr_array_header_t *stream_types;   /* of const char *: media types, a *
                                           at the end stands for any rest */
    const up_text_t *early_hints;       /* NULL: off */
    int proxy_status;
    int lenient_framing;

    /* lists of up_rule_t (config/rewrite_rules.h); NULL: nothing was said,
       empty: off */
    apr_array_header_t *redirects;
    apr_array_header_t *cookie_domains;
    apr_array_header_t *cookie_paths;
    apr_array_header_t *cookie_flags;

    apr_hash_t *hidden; /* keys: lower-case names that are not relayed,
                           (built-in + hide) - pass; only apr_hash_get */
};

/** The settings that rule this request, after all merging. Never NULL. */
const up_settings_t *up_settings_of(const request_rec *r);

void *up_settings_create(apr_pool_t *p, char *path);
void *up_settings_merge(apr_pool_t *p, void *base, void *add);

/** All location-level directives, for the module record. */
extern const command_rec up_settings_commands[];

#endif
