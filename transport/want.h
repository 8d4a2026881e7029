/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What must happen before the next step: the only thing that an exchange
 * tells its driver.
 */

#ifndef UP_WANT_H
#define UP_WANT_H

#include "apr_poll.h"
#include "apr_time.h"
#include "peers/bell.h"

typedef struct up_want_t {
    apr_int16_t backend; /* APR_POLLIN | APR_POLLOUT, 0: not watched */
    apr_int16_t client;  /* the same for the client's socket */
    apr_time_t until;    /* give up at this moment, 0: never */
    up_bell_t *bell;     /* another thread may ring, NULL: none will */
} up_want_t;

/** Brings the moment of giving up forward to `when`. */
static inline void up_want_until(up_want_t *want, apr_time_t when)
{
    if (!want->until || when < want->until) {
        want->until = when;
    }
}

#endif
