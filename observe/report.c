/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Owns the names in the JSON. */

#include "observe/report.h"

#include "apr_strings.h"
#include "http_protocol.h"
#include "observe/query.h"
#include "peers/ledger.h"

#define TYPE "application/json"

typedef struct field_t {
    const char *name;
    int index; /* up_count_e, up_gauge_e or up_span_e */
} field_t;

static const field_t answers[] = {
    { "1xx", UP_COUNT_ANSWERED_1XX }, { "2xx", UP_COUNT_ANSWERED_2XX },
    { "3xx", UP_COUNT_ANSWERED_3XX }, { "4xx", UP_COUNT_ANSWERED_4XX },
    { "5xx", UP_COUNT_ANSWERED_5XX }, { "none", UP_COUNT_UNANSWERED },
    { NULL, 0 }
};

static const field_t failures[] = {
    { "connect_refused", UP_COUNT_CONNECT_REFUSED },
    { "connect_timeout", UP_COUNT_CONNECT_TIMEOUT },
    { "connect_other", UP_COUNT_CONNECT_OTHER },
    { "closed", UP_COUNT_RESPONSE_CLOSED },
    { "timeout", UP_COUNT_RESPONSE_TIMEOUT },
    { "invalid", UP_COUNT_RESPONSE_INVALID },
    { "truncated", UP_COUNT_RESPONSE_TRUNCATED },
    { NULL, 0 }
};

static const field_t totals[] = {
    { "connections_made", UP_COUNT_CONNECTIONS },
    { "connections_reused", UP_COUNT_REUSES },
    { "connections_stale", UP_COUNT_STALE },
    { "retries", UP_COUNT_RETRIES },
    { "bytes_in", UP_COUNT_BYTES_IN },
    { "bytes_out", UP_COUNT_BYTES_OUT },
    { "tunnels", UP_COUNT_TUNNELS },
    { NULL, 0 }
};

static const field_t gauges[] = {
    { "active", UP_GAUGE_ACTIVE },
    { "connections_active", UP_GAUGE_CONNECTIONS },
    { "connections_idle", UP_GAUGE_IDLE },
    { "tunnels_active", UP_GAUGE_TUNNELS },
    { NULL, 0 }
};

static const field_t spans[] = {
    { "connect", UP_SPAN_CONNECT }, { "header", UP_SPAN_HEADER },
    { "response", UP_SPAN_RESPONSE }, { NULL, 0 }
};

static const field_t group_totals[] = {
    { "no_live", UP_COUNT_NO_LIVE },
    { "client_aborts", UP_COUNT_CLIENT_ABORTS },
    { "queue_overflows", UP_COUNT_QUEUE_OVERFLOWS },
    { "queue_timeouts", UP_COUNT_QUEUE_TIMEOUTS },
    { NULL, 0 }
};

static const field_t group_gauges[] = {
    { "queued", UP_GAUGE_QUEUE }, { "suspended", UP_GAUGE_SUSPENDED },
    { "threads_held", UP_GAUGE_THREADS }, { NULL, 0 }
};

static const field_t group_spans[] = {
    { "queue", UP_SPAN_QUEUE }, { NULL, 0 }
};

static json_int_t number(const up_number_t *from)
{
    return (json_int_t)atomic_load_explicit(from, memory_order_relaxed);
}

static void put(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

/* Names are the configuration's, so of any encoding. */
static void put_text(json_t *object, const char *name, const char *text)
{
    json_t *value = text ? json_string(text) : json_null();

    put(object, name, value ? value : json_string("(not UTF-8)"));
}

static void put_counts(json_t *object, const field_t *fields,
                       const up_counts_t *counts)
{
    for (; fields->name; fields++) {
        put(object, fields->name,
            json_integer(number(&counts->counts[fields->index])));
    }
}

static void put_gauges(json_t *object, const field_t *fields,
                       const up_counts_t *counts)
{
    for (; fields->name; fields++) {
        json_int_t n = number(&counts->gauges[fields->index]);

        put(object, fields->name, json_integer(n < 0 ? 0 : n));
    }
}

static void put_spans(json_t *object, const field_t *fields,
                      const up_counts_t *counts)
{
    json_t *all = json_object();

    for (; fields->name; fields++) {
        const up_histogram_t *span = &counts->spans[fields->index];
        json_t *buckets = json_array();
        json_t *one = json_object();
        int i;

        for (i = 0; i <= UP_BOUNDS_N; i++) {
            json_array_append_new(buckets,
                                  json_integer(number(&span->buckets[i])));
        }
        put(one, "sum", json_real((double)number(&span->sum)
                                  / APR_USEC_PER_SEC));
        put(one, "buckets", buckets);
        put(all, fields->name, one);
    }
    put(object, "seconds", all);
}

static json_t *group_of(json_t *object, const char *name)
{
    json_t *part = json_object();

    put(object, name, part);
    return part;
}

static json_t *peer_report(const up_peerview_t *peer)
{
    json_t *json = json_object();

    put_text(json, "peer", peer->name);
    put_text(json, "server", peer->server);
    put(json, "backup", json_boolean(peer->backup));
    put_text(json, "state", up_view_condition(peer->condition));
    put_text(json, "reason", peer->reason);
    put(json, "full", json_boolean(peer->full));
    put(json, "weight", json_integer(peer->weight));
    put(json, "max_conns", json_integer(peer->max_conns));
    put(json, "fails", json_integer(peer->fails));
    put_gauges(json, gauges, &peer->counts);
    put_counts(json, totals, &peer->counts);
    put_counts(group_of(json, "answers"), answers, &peer->counts);
    put_counts(group_of(json, "failures"), failures, &peer->counts);
    put_spans(json, spans, &peer->counts);
    return json;
}

static json_t *group_report(const up_groupview_t *group)
{
    json_t *json = json_object();
    json_t *peers = json_array();
    int i;

    put_text(json, "upstream", group->name);
    put_text(json, "zone", group->zone);
    put(json, "queue_max", json_integer(group->queue));
    put_gauges(json, group_gauges, &group->counts);
    put_counts(json, group_totals, &group->counts);
    put_spans(json, group_spans, &group->counts);
    for (i = 0; i < group->peers->nelts; i++) {
        json_array_append_new(peers,
                              peer_report(&APR_ARRAY_IDX(group->peers, i,
                                                         up_peerview_t)));
    }
    put(json, "peers", peers);
    return json;
}

json_t *up_report_make(const apr_array_header_t *groups)
{
    json_t *json = json_object();
    json_t *list = json_array();
    json_t *bounds = json_array();
    int i;

    for (i = 0; i < UP_BOUNDS_N; i++) {
        json_array_append_new(bounds, json_real((double)up_counts_bounds[i]
                                                / APR_USEC_PER_SEC));
    }
    for (i = 0; i < groups->nelts; i++) {
        json_array_append_new(list,
                              group_report(&APR_ARRAY_IDX(groups, i,
                                                          up_groupview_t)));
    }
    put(json, "version", json_integer(1));
    put(json, "time", json_real((double)apr_time_now() / APR_USEC_PER_SEC));
    put(json, "children", json_integer(up_ledger_children()));
    put(json, "bounds", bounds);
    put(json, "upstreams", list);
    return json;
}

static int write_out(const char *text, size_t len, void *r)
{
    return ap_rwrite(text, (int)len, r) < 0 ? -1 : 0;
}

int up_report_send(request_rec *r, int status, json_t *json)
{
    if (!json) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    r->status = status;
    up_query_answer(r, TYPE);
    if (!r->header_only) {
        json_dump_callback(json, write_out, r, JSON_COMPACT);
        ap_rputs("\n", r);
    }
    json_decref(json);
    return OK;
}

int up_report_error(request_rec *r, int status, const char *text)
{
    json_t *json = json_object();

    put_text(json, "error", text);
    return up_report_send(r, status, json);
}
