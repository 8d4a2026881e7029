/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the names of metrics: a row a sample, rows of the same family behind
 * each other.
 */

#include "observe/metrics.h"

#include "httpd.h"

#include "apr_strings.h"
#include "http_config.h"
#include "http_protocol.h"
#include "observe/query.h"
#include "observe/view.h"
#include "peers/ledger.h"

#define HANDLER "upstream-metrics"
#define PREFIX "httpd_upstream_"
#define N APR_INT64_T_FMT
#define TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef enum kind_e {
    COUNTER,
    GAUGE,
    SPAN,
    STATE,  /* a gauge that a function makes of the server */
    GROUP_STATE
} kind_e;

/* Of which things there is a sample. */
typedef enum whose_e {
    PEER,
    GROUP
} whose_e;

typedef struct row_t {
    const char *family;
    const char *help; /* of the first row of a family */
    const char *label; /* "code=\"2xx\"", NULL: none */
    kind_e kind;
    whose_e whose;
    int index; /* up_count_e, up_gauge_e, up_span_e, or: */
    double (*of_peer)(const up_peerview_t *peer, int index);
    double (*of_group)(const up_groupview_t *group, int index);
} row_t;

static double is_up(const up_peerview_t *peer, int index)
{
    (void)index;
    return peer->condition == UP_CONDITION_UP;
}

static double is_in(const up_peerview_t *peer, int condition)
{
    return (int)peer->condition == condition;
}

static double weight(const up_peerview_t *peer, int index)
{
    (void)index;
    return peer->weight;
}

static double max_conns(const up_peerview_t *peer, int index)
{
    (void)index;
    return peer->max_conns;
}

static double queue_max(const up_groupview_t *group, int index)
{
    (void)index;
    return group->queue;
}

#define COUNT(family, help, label, whose, what) \
    { family, help, label, COUNTER, whose, UP_COUNT_##what, NULL, NULL }
#define GAUGE_OF(family, help, whose, what) \
    { family, help, NULL, GAUGE, whose, UP_GAUGE_##what, NULL, NULL }
#define SPAN_OF(family, help, whose, what) \
    { family, help, NULL, SPAN, whose, UP_SPAN_##what, NULL, NULL }
#define STATE_OF(family, help, label, get, index) \
    { family, help, label, STATE, PEER, index, get, NULL }

static const row_t rows[] = {
    COUNT("requests_total", "Tries by the class of the server's answer.",
          "code=\"1xx\"", PEER, ANSWERED_1XX),
    COUNT("requests_total", NULL, "code=\"2xx\"", PEER, ANSWERED_2XX),
    COUNT("requests_total", NULL, "code=\"3xx\"", PEER, ANSWERED_3XX),
    COUNT("requests_total", NULL, "code=\"4xx\"", PEER, ANSWERED_4XX),
    COUNT("requests_total", NULL, "code=\"5xx\"", PEER, ANSWERED_5XX),
    COUNT("requests_total", NULL, "code=\"none\"", PEER, UNANSWERED),
    GAUGE_OF("requests_active", "Requests that have the server now.", PEER,
             ACTIVE),
    COUNT("connections_total", "Connections made.", NULL, PEER, CONNECTIONS),
    GAUGE_OF("connections_active", "Connections in use.", PEER, CONNECTIONS),
    GAUGE_OF("connections_idle", "Connections kept for later.", PEER, IDLE),
    COUNT("connection_reuses_total", "Tries on a kept connection.", NULL, PEER,
          REUSES),
    COUNT("connection_stale_total", "Kept connections that the server had "
          "closed when they were used.", NULL, PEER, STALE),
    COUNT("unexpected_data_total", "Responses with more data than announced.",
          NULL, PEER, UNEXPECTED_DATA),
    COUNT("pool_evictions_total", "Idle connections closed to make room.",
          NULL, PEER, EVICTIONS),
    COUNT("connect_failures_total", "Connections that could not be made.",
          "reason=\"refused\"", PEER, CONNECT_REFUSED),
    COUNT("connect_failures_total", NULL, "reason=\"timeout\"", PEER,
          CONNECT_TIMEOUT),
    COUNT("connect_failures_total", NULL, "reason=\"other\"", PEER,
          CONNECT_OTHER),
    COUNT("response_errors_total", "Tries that failed once connected.",
          "reason=\"closed\"", PEER, RESPONSE_CLOSED),
    COUNT("response_errors_total", NULL, "reason=\"timeout\"", PEER,
          RESPONSE_TIMEOUT),
    COUNT("response_errors_total", NULL, "reason=\"invalid\"", PEER,
          RESPONSE_INVALID),
    COUNT("response_errors_total", NULL, "reason=\"truncated\"", PEER,
          RESPONSE_TRUNCATED),
    COUNT("retries_total", "Tries after which another server was asked.",
          NULL, PEER, RETRIES),
    COUNT("bytes_in_total", "Bytes from the server, heads included.", NULL,
          PEER, BYTES_IN),
    COUNT("bytes_out_total", "Bytes to the server, heads included.", NULL,
          PEER, BYTES_OUT),
    COUNT("tunnels_total", "Connections upgraded to a tunnel.", NULL, PEER,
          TUNNELS),
    GAUGE_OF("tunnels_active", "Open tunnels.", PEER, TUNNELS),
    SPAN_OF("connect_seconds", "Time to make a connection.", PEER, CONNECT),
    SPAN_OF("header_seconds", "Time from choosing the server to the response "
            "head.", PEER, HEADER),
    SPAN_OF("response_seconds", "Time from choosing the server to the end of "
            "the response, tunnels aside.", PEER, RESPONSE),
    STATE_OF("peer_up", "1: it gets new requests.", NULL, is_up, 0),
    STATE_OF("peer_state", "1 for the state it is in.", "state=\"up\"", is_in,
             UP_CONDITION_UP),
    STATE_OF("peer_state", NULL, "state=\"failed\"", is_in,
             UP_CONDITION_FAILED),
    STATE_OF("peer_state", NULL, "state=\"drain\"", is_in,
             UP_CONDITION_DRAIN),
    STATE_OF("peer_state", NULL, "state=\"down\"", is_in, UP_CONDITION_DOWN),
    STATE_OF("peer_weight", "The weight in effect.", NULL, weight, 0),
    STATE_OF("peer_max_conns", "The limit of requests at once, 0: none.",
             NULL, max_conns, 0),
    COUNT("no_live_total", "Requests for which no server could be chosen.",
          NULL, GROUP, NO_LIVE),
    COUNT("client_aborts_total", "Clients that left before the end.", NULL,
          GROUP, CLIENT_ABORTS),
    GAUGE_OF("queue_length", "Requests that wait for a server.", GROUP,
             QUEUE),
    { "queue_max", "How many may wait.", NULL, GROUP_STATE, GROUP, 0, NULL,
      queue_max },
    COUNT("queue_overflow_total", "Requests refused for the queue was full.",
          NULL, GROUP, QUEUE_OVERFLOWS),
    COUNT("queue_timeouts_total", "Requests that waited in vain.", NULL,
          GROUP, QUEUE_TIMEOUTS),
    SPAN_OF("queue_seconds", "Time in the queue.", GROUP, QUEUE),
    GAUGE_OF("suspended_transactions", "Exchanges that hold no thread.",
             GROUP, SUSPENDED),
    GAUGE_OF("worker_threads_held", "Threads that an exchange holds while it "
             "waits.", GROUP, THREADS),
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* A label's value: \, " and line ends are escaped. */
static const char *quoted(apr_pool_t *p, const char *text)
{
    char *copy = apr_palloc(p, 2 * strlen(text) + 1);
    char *to = copy;

    for (; *text; text++) {
        if (*text == '\\' || *text == '"' || *text == '\n') {
            *to++ = '\\';
        }
        *to++ = *text == '\n' ? 'n' : *text;
    }
    *to = '\0';
    return copy;
}

static apr_int64_t read_number(const up_number_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

/* Gauges of children that are read one after the other may add up to less
 * than nothing for a moment. */
static apr_int64_t at_least_0(apr_int64_t n)
{
    return n < 0 ? 0 : n;
}

static void print_span(request_rec *r, const char *family,
                       const up_histogram_t *span, const char *labels)
{
    apr_int64_t sum = 0;
    int i;

    for (i = 0; i <= UP_BOUNDS_N; i++) {
        sum += read_number(&span->buckets[i]);
        if (i < UP_BOUNDS_N) {
            ap_rprintf(r, PREFIX "%s_bucket{%s,le=\"%g\"} %" N "\n", family,
                       labels, (double)up_counts_bounds[i] / APR_USEC_PER_SEC,
                       sum);
        }
    }
    ap_rprintf(r, PREFIX "%s_bucket{%s,le=\"+Inf\"} %" N "\n", family,
               labels, sum);
    ap_rprintf(r, PREFIX "%s_sum{%s} %.6f\n", family, labels,
               (double)read_number(&span->sum) / APR_USEC_PER_SEC);
    ap_rprintf(r, PREFIX "%s_count{%s} %" N "\n", family, labels, sum);
}

static void print_sample(request_rec *r, const row_t *row,
                         const up_groupview_t *group,
                         const up_peerview_t *peer, const char *labels)
{
    const up_counts_t *counts = peer ? &peer->counts : &group->counts;

    if (row->kind == SPAN) {
        print_span(r, row->family, &counts->spans[row->index], labels);
        return;
    }
    ap_rprintf(r, PREFIX "%s{%s%s%s} ", row->family, labels,
               row->label ? "," : "", row->label ? row->label : "");
    if (row->kind == COUNTER) {
        ap_rprintf(r, "%" N "\n", read_number(&counts->counts[row->index]));
    }
    else if (row->kind == GAUGE) {
        ap_rprintf(r, "%" N "\n",
                   at_least_0(read_number(&counts->gauges[row->index])));
    }
    else {
        ap_rprintf(r, "%g\n", peer ? row->of_peer(peer, row->index)
                                   : row->of_group(group, row->index));
    }
}

static void print_row(request_rec *r, const row_t *row,
                      const apr_array_header_t *groups)
{
    int i, k;

    for (i = 0; i < groups->nelts; i++) {
        const up_groupview_t *group = &APR_ARRAY_IDX(groups, i,
                                                     up_groupview_t);
        const char *labels = apr_pstrcat(r->pool, "upstream=\"",
                                         quoted(r->pool, group->name), "\"",
                                         NULL);

        if (row->whose == GROUP) {
            print_sample(r, row, group, NULL, labels);
        }
        for (k = 0; row->whose == PEER && k < group->peers->nelts; k++) {
            const up_peerview_t *peer = &APR_ARRAY_IDX(group->peers, k,
                                                       up_peerview_t);

            print_sample(r, row, group, peer,
                         apr_pstrcat(r->pool, labels, ",peer=\"",
                                     quoted(r->pool, peer->name), "\"",
                                     NULL));
        }
    }
}

static int is_wanted(request_rec *r, const row_t *row, const char *names)
{
    return up_view_listed(r->pool, names, row->family)
           || up_view_listed(r->pool, names,
                             apr_pstrcat(r->pool, PREFIX, row->family, NULL));
}

static const char *type_of(const row_t *row)
{
    return row->kind == COUNTER ? "counter"
                                : row->kind == SPAN ? "histogram" : "gauge";
}

static int handler(request_rec *r)
{
    const apr_array_header_t *groups;
    const char *names;
    apr_size_t i;
    int status;

    status = up_query_reads(r, HANDLER);
    if (status != OK) {
        return status;
    }
    up_query_answer(r, TYPE);
    if (r->header_only) {
        return OK;
    }
    names = up_query_get(r, "metrics");
    groups = up_view_make(r->pool, up_query_get(r, "upstream"));
    for (i = 0; i < NROWS; i++) {
        if (!is_wanted(r, &rows[i], names)) {
            continue;
        }
        if (rows[i].help) {
            ap_rprintf(r, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n",
                       rows[i].family, rows[i].help, rows[i].family,
                       type_of(&rows[i]));
        }
        print_row(r, &rows[i], groups);
    }
    return OK;
}

void up_metrics_register(void)
{
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
}
