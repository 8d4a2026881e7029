/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What of an exchange is counted, each thing in one place: a try when it
 * gives its server back, a failure when it is known to be one. */

#include "peers/counts.h"
#include "upstream_machine.h"

up_counts_t *up_machine_counts(const up_request_t *ur)
{
    return ur->pick->peers->counts;
}

up_counts_t *up_request_counts(const up_request_t *ur)
{
    return up_machine_counts(ur);
}

static void count_connection(up_counts_t *counts, const up_try_t *tried)
{
    if (tried->connect_time < 0) {
        return;
    }
    if (tried->reused) {
        up_counts_add(counts, UP_COUNT_REUSES, 1);
        return;
    }
    up_counts_add(counts, UP_COUNT_CONNECTIONS, 1);
    up_counts_time(counts, UP_SPAN_CONNECT, tried->connect_time);
}

void up_machine_count_try(up_request_t *ur, up_peer_t *peer)
{
    const up_try_t *tried = up_trail_last(ur->trail);
    up_counts_t *counts = peer->counts;

    if (tried->header_time >= 0) {
        up_counts_answer(counts, tried->status);
    }
    else {
        up_counts_add(counts, UP_COUNT_UNANSWERED, 1);
    }
    count_connection(counts, tried);
    up_counts_time(counts, UP_SPAN_HEADER, tried->header_time);
    if (!ur->tunnel) {
        up_counts_time(counts, UP_SPAN_RESPONSE, tried->response_time);
    }
    up_counts_add(counts, UP_COUNT_BYTES_IN, tried->received);
    up_counts_add(counts, UP_COUNT_BYTES_OUT, tried->sent);
    if (ur->pipe && up_pipe_end(ur->pipe) == UP_PIPE_CUT) {
        up_counts_add(counts, UP_COUNT_RESPONSE_TRUNCATED, 1);
    }
    if (ur->tunnel_open) {
        up_counts_gauge(counts, UP_GAUGE_TUNNELS, -1);
        ur->tunnel_open = 0;
    }
}

void up_machine_count_tunnel(up_request_t *ur)
{
    ur->tunnel_open = 1;
    up_counts_add(ur->peer->counts, UP_COUNT_TUNNELS, 1);
    up_counts_gauge(ur->peer->counts, UP_GAUGE_TUNNELS, 1);
}

/* -1: the failure is an answer, which is counted as such. */
static int kind_of(const up_request_t *ur, up_state_e state, unsigned int bit)
{
    if (bit & (UP_FAIL_HTTP_ANY | UP_FAIL_NOLIVE)) {
        return -1;
    }
    if (state == UP_CONNECT || state == UP_HANDSHAKE) {
        if (bit & UP_FAIL_TIMEOUT) {
            return UP_COUNT_CONNECT_TIMEOUT;
        }
        return APR_STATUS_IS_ECONNREFUSED(ur->rv) ? UP_COUNT_CONNECT_REFUSED
                                                  : UP_COUNT_CONNECT_OTHER;
    }
    if (bit & UP_FAIL_TIMEOUT) {
        return UP_COUNT_RESPONSE_TIMEOUT;
    }
    return bit & UP_FAIL_INVALID_HEADER ? UP_COUNT_RESPONSE_INVALID
                                        : UP_COUNT_RESPONSE_CLOSED;
}

void up_machine_note_failure(up_request_t *ur, unsigned int bit)
{
    ur->failed_as = kind_of(ur, ur->state, bit);
    if (bit & UP_FAIL_NOLIVE) {
        up_counts_add(up_machine_counts(ur), UP_COUNT_NO_LIVE, 1);
    }
}

void up_machine_count_failure(up_request_t *ur, up_retry_e decision)
{
    if (!ur->peer) {
        return;
    }
    if (decision == UP_RETRY_STALE) {
        up_counts_add(ur->peer->counts, UP_COUNT_STALE, 1);
        return;
    }
    if (ur->failed_as >= 0) {
        up_counts_add(ur->peer->counts, (up_count_e)ur->failed_as, 1);
    }
    if (decision == UP_RETRY_NEXT) {
        up_counts_add(ur->peer->counts, UP_COUNT_RETRIES, 1);
    }
}

void up_machine_count_end(const up_request_t *ur)
{
    int lost = ur->pipe && up_pipe_end(ur->pipe) == UP_PIPE_CLIENT
               && ur->r->connection->aborted;

    if (lost || ur->trail->client_aborted
        || ur->result == UP_STATUS_CLIENT_GONE) {
        up_counts_add(up_machine_counts(ur), UP_COUNT_CLIENT_ABORTS, 1);
    }
}
