/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The one place that decides whether a failed try is followed by another:
 * a pure function of the facts. nginx's rules but for stale connections and
 * unknown methods.
 */

#ifndef UP_RETRY_H
#define UP_RETRY_H

#include "mod_upstream_proxy.h"

typedef struct up_retry_facts_t {
    unsigned int fail;      /* one bit of up_fail_e */
    unsigned int enabled;   /* UpstreamNextUpstream */
    int tries;              /* left after this one */
    int limited;            /* none left, though there are other servers */
    int addressless;        /* no server of the group has an address */
    int sent;               /* any byte of the request went out */
    int idempotent;         /* the client's method, up_retry_idempotent */
    int replayable;         /* the body can be sent again from its start */
    int out_of_time;        /* UpstreamNextUpstreamTimeout has elapsed, or */
    int total_over;         /* UpstreamTotalTimeout has */
    int reused;             /* the connection came from the pool */
    int answered;           /* a byte of a response had arrived */
    int stale_before;       /* this request had its free retry already */
    int vetoed;             /* another module wants no other try */
} up_retry_facts_t;

typedef enum up_retry_e {
    UP_RETRY_STOP,  /* answer the client */
    UP_RETRY_NEXT,  /* another server; this one used up a try */
    UP_RETRY_STALE  /* the same server on a fresh connection: free, and not
                       a failure of the server */
} up_retry_e;

/**
 * A pooled connection that fails with UP_FAIL_ERROR before a response byte
 * is stale: one free retry, in groups of any size, also with
 * UpstreamNextUpstream off: nothing was ever answered on it, so it is the
 * same try. Only `out_of_time` forbids it.
 *
 * Here and there: a request of which bytes were sent is repeated when it is
 * `replayable` and its method idempotent, or `non_idempotent` in the list;
 * one of which nothing was sent is always repeatable.
 */
up_retry_e up_retry_decide(const up_retry_facts_t *facts);

/** Could a response with this bit be followed by another try? The test made
 * before a matching http_NNN response is given up. */
int up_retry_worth(const up_retry_facts_t *facts);

/** Why no other try follows, for the log: what would have to be otherwise, and
 * which directive says so. */
const char *up_retry_obstacle(const up_retry_facts_t *facts);

/** Is it a stale connection, whatever is decided? That says nothing about the
 * server: every server closes idle ones. */
int up_retry_stale(const up_retry_facts_t *facts);

/** The bit of a status that UpstreamNextUpstream can name, or 0. */
unsigned int up_retry_bit(int status);

/** The status a failure kind answers with: 502, 504, or http_NNN's own. */
int up_retry_status(unsigned int fail);

/**
 * Idempotent methods of RFC 9110 9.2.2 and WebDAV (GET HEAD OPTIONS TRACE PUT
 * DELETE PROPFIND PROPPATCH MKCOL COPY MOVE UNLOCK SEARCH REPORT); unknown
 * ones are not. Methods are case-sensitive.
 */
int up_retry_idempotent(const char *method);

#endif
