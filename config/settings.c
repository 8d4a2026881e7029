/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the table of location-level directives, and how settings are made
 * and merged. httpd merges sections for every request: that is a copy and a
 * loop over the rows that the inner section has set.
 */

#include "config/settings.h"

#include <stddef.h>

#include "apr_strings.h"
#include "config/derived.h"
#include "config/log.h"
#include "config/pass.h"
#include "config/rows_answer.h"
#include "config/rows_names.h"
#include "config/rows_relay.h"
#include "config/rows_request.h"
#include "config/rows_response.h"
#include "config/rows_rewrite.h"
#include "config/rows_server.h"
#include "config/rows_tls.h"
#include "config/rows_tunnel.h"
#include "config/setters.h"

/* The table, in parts by theme; each part has the types that only it uses. */
#define UP_SETTINGS(ROW)                                                      \
    UP_ROWS_REQUEST(ROW)                                                      \
    UP_ROWS_SERVER(ROW)                                                       \
    UP_ROWS_TLS(ROW)                                                          \
    UP_ROWS_NAMES(ROW)                                                        \
    UP_ROWS_RESPONSE(ROW)                                                     \
    UP_ROWS_RELAY(ROW)                                                        \
    UP_ROWS_ANSWER(ROW)                                                       \
    UP_ROWS_REWRITE(ROW)                                                      \
    UP_ROWS_TUNNEL(ROW)

typedef enum row_e {
#define NUMBER(type, name, first, last, least, usual, help) ROW_##name,
    UP_SETTINGS(NUMBER)
#undef NUMBER
    ROW_COUNT
} row_e;

_Static_assert(ROW_COUNT <= 64 * UP_SETTINGS_WORDS,
               "up_settings_t.set has no bit for every row");

/* --- types: the parser of a plain one, the setter and its arguments ------ */

#define PARSE_FLAG     up_setters_parse_flag
#define PARSE_TIME     up_setters_parse_time
#define PARSE_SIZE     up_setters_parse_size
#define PARSE_NUM      up_setters_parse_num

#define WHERE (RSRC_CONF | ACCESS_CONF)

#define ONE(name, setter, row, help)                                          \
    AP_INIT_TAKE1(name, setter, row, WHERE, help)
#define TWO(name, setter, row, help)                                          \
    AP_INIT_TAKE2(name, setter, row, WHERE, help)
#define RAW(name, setter, row, help)                                          \
    AP_INIT_RAW_ARGS(name, setter, row, WHERE, help)

#define SET_FLAG(name, row, help)     ONE(name, up_setters_plain, row, help)
#define SET_TIME(name, row, help)     ONE(name, up_setters_plain, row, help)
#define SET_SIZE(name, row, help)     ONE(name, up_setters_plain, row, help)
#define SET_NUM(name, row, help)      ONE(name, up_setters_plain, row, help)

/* --- the table, twice expanded ------------------------------------------- */

#define SPAN(first, last)                                                     \
    (offsetof(up_settings_t, last) - offsetof(up_settings_t, first)           \
     + sizeof(((up_settings_t *)0)->last))

static const up_row_t rows[ROW_COUNT] = {
#define DESCRIBE(type, name, first, last, least, usual, help)                 \
    [ROW_##name] = {"Upstream" #name, PARSE_##type, ROW_##name,               \
                    offsetof(up_settings_t, first), SPAN(first, last), least, \
                    usual},
    UP_SETTINGS(DESCRIBE)
#undef DESCRIBE
};

const command_rec up_settings_commands[] = {
#define COMMAND(type, name, first, last, least, usual, help)                  \
    SET_##type("Upstream" #name, (void *)&rows[ROW_##name], help),
    UP_SETTINGS(COMMAND)
#undef COMMAND
    AP_INIT_TAKE12("UpstreamPass", up_pass_set, NULL, WHERE,
                   "an http:// or https:// URL or off, behind a path when it "
                   "does not stand inside <Location>"),
    {.name = NULL}
};

/* Rows whose change makes the sizes, or the hidden fields, change. */
static const row_e size_rows[] = {
    ROW_BufferSize, ROW_MaxHeaderSize, ROW_Buffers, ROW_BusyBuffersSize,
    ROW_MaxTempFileSize, ROW_TempFileWriteSize
};
static const row_e hidden_rows[] = { ROW_PassHeader, ROW_HideHeader };

/* --- making -------------------------------------------------------------- */

/* Every settings object begins as a copy of this one, and all of them share
 * its hash of hidden fields. It lives as long as the configuration. */
static up_settings_t *defaults;

static apr_status_t forget_defaults(void *unused)
{
    (void)unused;
    defaults = NULL;
    return APR_SUCCESS;
}

static up_settings_t *make_defaults(apr_pool_t *p)
{
    up_settings_t *settings = apr_pcalloc(p, sizeof(*settings));
    const char *temp_dir = NULL;
    const up_row_t *row;

    for (row = rows; row < rows + ROW_COUNT; row++) {
        if (row->usual != NULL) {
            const char *error = row->parse(row, row->usual,
                                           (char *)settings + row->offset);

            ap_assert(error == NULL);
        }
    }
    settings->next_upstream = UP_FAIL_ERROR | UP_FAIL_TIMEOUT;
    /* Files there are nameless, so that no directories are needed. */
    settings->temp_path = apr_temp_dir_get(&temp_dir, p) == APR_SUCCESS
                              ? temp_dir : "/tmp";
    settings->stream_types = up_setters_usual_types(p);
    settings->upgrade = &up_upgrade_usual;
    settings->tls.protocols = UP_TLS_1_2 | UP_TLS_1_3;
    up_derived_begin(&settings->written);
    up_derived_sizes(settings);
    settings->hidden = up_derived_builtin_hidden(p);
    return settings;
}

/* The first call is httpd's for the main server, in the pool of the whole
 * configuration and before there are threads. */
/* NOLINTNEXTLINE(readability-non-const-parameter): httpd calls it */
void *up_settings_create(apr_pool_t *p, char *path)
{
    (void)path;
    if (defaults == NULL) {
        defaults = make_defaults(p);
        apr_pool_cleanup_register(p, NULL, forget_defaults,
                                  apr_pool_cleanup_null);
    }
    return apr_pmemdup(p, defaults, sizeof(*defaults));
}

/* --- merging ------------------------------------------------------------- */

/* The set that the inner section has made from its own lists is the right
 * one when no list of the outer section has a part in it. */
static void merge_hidden(apr_pool_t *p, up_settings_t *merged,
                         const up_settings_t *inner)
{
    if (merged->hide_headers == inner->hide_headers
        && merged->pass_headers == inner->pass_headers) {
        merged->hidden = inner->hidden;
    }
    else {
        up_derived_hidden(p, merged, defaults->hidden);
    }
}

#define GIVEN(settings, list)                                                 \
    any_given(settings, list, sizeof(list) / sizeof((list)[0]))

static int any_given(const up_settings_t *settings, const row_e *list,
                     apr_size_t count)
{
    apr_size_t i;

    for (i = 0; i < count; i++) {
        if (up_setters_given(settings, &rows[list[i]])) {
            return 1;
        }
    }
    return 0;
}

/* Copies what the inner section has set, row by row. */
static void merge_rows(up_settings_t *merged, const up_settings_t *inner)
{
    apr_uint64_t left;
    int word;

    for (word = 0; word < UP_SETTINGS_WORDS; word++) {
        for (left = inner->set[word]; left != 0; left &= left - 1) {
            const up_row_t *row = &rows[64 * word + __builtin_ctzll(left)];

            memcpy((char *)merged + row->offset,
                   (const char *)inner + row->offset, row->length);
        }
        merged->set[word] |= inner->set[word];
    }
}

void *up_settings_merge(apr_pool_t *p, void *base, void *add)
{
    const up_settings_t *inner = add;
    up_settings_t *merged = apr_pmemdup(p, base, sizeof(*merged));

    merge_rows(merged, inner);
    if (inner->pass != NULL) {
        merged->pass = inner->pass;
    }
    if (GIVEN(inner, size_rows)) {
        up_derived_sizes(merged);
    }
    if (GIVEN(inner, hidden_rows)) {
        merge_hidden(p, merged, inner);
    }
    return merged;
}

const up_settings_t *up_settings_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &upstream_proxy_module);
}
