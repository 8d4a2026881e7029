/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Which word of RFC 9209 stands for which failure. */

#include "exchange/error_type.h"

static const char *of_timeout(const up_error_facts_t *facts)
{
    if (facts->total) {
        return "http_response_timeout";
    }
    switch (facts->stage) {
    case UP_STAGE_CONNECT:
    case UP_STAGE_HANDSHAKE:
        return "connection_timeout";
    case UP_STAGE_SEND:
        return "connection_write_timeout";
    default:
        return "connection_read_timeout";
    }
}

static const char *of_error(const up_error_facts_t *facts)
{
    if (APR_STATUS_IS_ECONNREFUSED(facts->rv)) {
        return "connection_refused";
    }
    if (APR_STATUS_IS_EHOSTUNREACH(facts->rv)
        || APR_STATUS_IS_ENETUNREACH(facts->rv)) {
        return "destination_ip_unroutable";
    }
    if (APR_STATUS_IS_ETIMEDOUT(facts->rv)) {
        return "connection_timeout";
    }
    if (facts->stage == UP_STAGE_CONNECT) {
        return "destination_unavailable";
    }
    if (facts->stage == UP_STAGE_HANDSHAKE) {
        return "tls_protocol_error";
    }
    return facts->answered ? "http_response_incomplete"
                           : "connection_terminated";
}

static const char *of_answer(unsigned int fail)
{
    switch (fail & UP_FAIL_HTTP_ANY) {
    case UP_FAIL_HTTP_500:
        return "http_500";
    case UP_FAIL_HTTP_502:
        return "http_502";
    case UP_FAIL_HTTP_503:
        return "http_503";
    case UP_FAIL_HTTP_504:
        return "http_504";
    case UP_FAIL_HTTP_403:
        return "http_403";
    case UP_FAIL_HTTP_404:
        return "http_404";
    default:
        return "http_429";
    }
}

const char *up_errortype_of(const up_error_facts_t *facts)
{
    if (facts->fail & UP_FAIL_HTTP_ANY) {
        return of_answer(facts->fail);
    }
    if (facts->fail & UP_FAIL_NOLIVE) {
        return "destination_unavailable";
    }
    if (facts->fail & UP_FAIL_INVALID_HEADER) {
        return "http_protocol_error";
    }
    return (facts->fail & UP_FAIL_TIMEOUT) ? of_timeout(facts)
                                           : of_error(facts);
}

const char *up_errortype_of_body(apr_status_t rv)
{
    if (APR_STATUS_IS_TIMEUP(rv)) {
        return "connection_read_timeout";
    }
    return rv == APR_EINVAL ? "http_protocol_error"
                            : "http_response_incomplete";
}
