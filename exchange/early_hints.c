/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* 103 Early Hints; see early_hints.h. */

#include "exchange/early_hints.h"

#include "config/log.h"
#include "exchange/response_head.h"
#include "http_protocol.h"

#define EARLY_HINTS 103

struct up_hints_t {
    request_rec *r;
    const up_settings_t *settings;
    up_client_t *client;
    int wanted;       /* -1: not asked yet */
    int too_many;
    apr_size_t bytes; /* of all of them */
};

up_hints_t *up_hints_make(request_rec *r, const up_settings_t *settings,
                          up_client_t *client)
{
    up_hints_t *hints;

    if (!settings->early_hints || r->main
        || r->proto_num < HTTP_VERSION(1, 1)) {
        return NULL;
    }
    hints = apr_pcalloc(r->pool, sizeof(*hints));
    hints->r = r;
    hints->settings = settings;
    hints->client = client;
    hints->wanted = -1;
    return hints;
}

/* nginx's truth, and the word that its users will write. */
static int is_true(const char *value)
{
    return value && *value && strcmp(value, "0") != 0
           && strcasecmp(value, "off") != 0;
}

static int is_wanted(up_hints_t *hints)
{
    if (hints->wanted < 0) {
        hints->wanted = is_true(up_text_value(hints->r,
                                              hints->settings->early_hints));
    }
    return hints->wanted && !hints->client->header_out;
}

static int are_too_many(up_hints_t *hints, apr_size_t size)
{
    hints->bytes += size;
    if (hints->bytes <= (apr_size_t)hints->settings->buffer_size) {
        return 0;
    }
    if (!hints->too_many) {
        hints->too_many = 1;
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, hints->r, UPLOGNO(0623)
                      "upstream sent too big early hints, not relayed: %"
                      APR_SIZE_T_FMT " bytes (UpstreamBufferSize)",
                      hints->bytes);
    }
    return 1;
}

void up_hints_relay(void *baton, const up_head_t *head)
{
    up_hints_t *hints = baton;
    apr_table_t *fields;

    if (head->status != EARLY_HINTS || !is_wanted(hints)
        || are_too_many(hints, head->size)) {
        return;
    }
    fields = apr_table_make(hints->r->pool, 4);
    up_reshead_hints(hints->r, hints->settings, head, fields);
    if (!apr_is_empty_table(fields)) {
        /* Should the client be gone, the driver will notice. */
        up_client_interim(hints->client, EARLY_HINTS, "103 Early Hints",
                          fields);
    }
}
