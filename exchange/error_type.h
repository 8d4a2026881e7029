/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Kinds of failure in one word each, for logs, metrics and other proxies: the
 * proxy error types of RFC 9209 2.3, as far as there is one.
 *
 * Pure: APR only.
 */

#ifndef UP_ERROR_TYPE_H
#define UP_ERROR_TYPE_H

#include "apr_errno.h"
#include "mod_upstream_proxy.h"

typedef struct up_error_facts_t {
    unsigned int fail; /* one bit of up_fail_e */
    up_stage_e stage;  /* what the try was at */
    apr_status_t rv;   /* the system's word, 0: none */
    int total;         /* it was the time for the whole exchange */
    int answered;      /* a byte of a response had arrived */
} up_error_facts_t;

/**
 * The word for a try that has failed; for an answer that is given up,
 * "http_503" and so on, which RFC 9209 does not have.
 * @return a constant, never NULL
 */
const char *up_errortype_of(const up_error_facts_t *facts);

/** Of a response that broke off after its head. */
const char *up_errortype_of_body(apr_status_t rv);

#endif
