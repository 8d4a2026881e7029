/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What happened: one entry a try, with its server, status, times and bytes.
 * The UPSTREAM_* variables and the log lines are read off it.
 *
 * Pure: APR only. In the request's pool; one thread. One trail a proxied
 * request; after an internal redirect the earlier legs' trails are found
 * through `earlier` (joined with " : ").
 */

#ifndef UP_TRAIL_H
#define UP_TRAIL_H

#include "apr_pools.h"
#include "apr_tables.h"
#include "apr_time.h"
#include "mod_upstream_proxy.h"

typedef struct up_try_t {
    const char *peer;  /* "127.0.0.1:80"; group name when none was live; ""
                          when no socket could be made */
    int status;        /* 0: none, printed as - */
    int answer;        /* the backend's, of a head that came, else 0 */
    apr_time_t started;
    apr_interval_time_t queue_time;    /* -1: it did not wait */
    apr_interval_time_t connect_time;  /* -1: not connected; 0: reused */
    apr_interval_time_t header_time;   /* -1: no head */
    apr_interval_time_t response_time; /* -1: still running */
    apr_off_t response_length; /* raw body bytes, framing included */
    apr_off_t received;        /* all bytes */
    apr_off_t sent;
    int reused;
    unsigned int fail;         /* bit of up_fail_e */
    const char *error;         /* in a word (exchange/error_type.h), NULL: it
                                  has not failed */
} up_try_t;

struct up_trail_t {
    apr_pool_t *p;
    apr_array_header_t *tries; /* of up_try_t */
    const up_trail_t *earlier; /* of the request this one came from */
    const up_pass_t *pass;     /* for UPSTREAM_HOST, UPSTREAM_PORT */
    const void *head;          /* up_head_t of the last response, or NULL */
    const void *trailers;      /* up_head_t, the same of its trailers */
    const char *activity;      /* "connecting to upstream", for the log */
    int client_aborted;
};

/** The variables that are lists over the tries. */
typedef enum up_trail_e {
    UP_TRAIL_ADDR,
    UP_TRAIL_STATUS,
    UP_TRAIL_QUEUE_TIME,
    UP_TRAIL_CONNECT_TIME,
    UP_TRAIL_HEADER_TIME,
    UP_TRAIL_RESPONSE_TIME,
    UP_TRAIL_RESPONSE_LENGTH,
    UP_TRAIL_BYTES_RECEIVED,
    UP_TRAIL_BYTES_SENT,
    UP_TRAIL_REUSED,
    UP_TRAIL_ERROR
} up_trail_e;

up_trail_t *up_trail_make(apr_pool_t *p, const up_trail_t *earlier);

/** A new try; the pointer is good until the next up_trail_open. */
up_try_t *up_trail_open(up_trail_t *trail, const char *peer, apr_time_t now);

/** The present try, or NULL. */
up_try_t *up_trail_last(const up_trail_t *trail);

/** How many tries there were, those of earlier legs too. */
int up_trail_tries(const up_trail_t *trail);

/** Ends the present try: its response_time. Harmless when ended already. */
void up_trail_close(up_trail_t *trail, apr_time_t now);

/**
 * The text of a variable: tries joined ", ", legs joined " : "; times as
 * s.mmm, - where there is none: nginx's form. A leg without a try
 * leaves nothing but its " : ".
 * @return in pool p; NULL when nothing was tried at all
 */
const char *up_trail_text(apr_pool_t *p, const up_trail_t *trail,
                          up_trail_e which);

#endif
