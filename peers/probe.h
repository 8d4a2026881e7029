/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * One health check: a connection to a server, perhaps a request and its
 * answer. Steps never block; who owns it polls its descriptor.
 *
 * One thread.
 */

#ifndef UP_PROBE_H
#define UP_PROBE_H

#include "apr_network_io.h"
#include "config/checks.h"
#include "peers/health.h"

typedef struct up_probe_t up_probe_t;

/** A probe in a pool of its own below p; destroyed with up_probe_free. */
up_probe_t *up_probe_make(apr_pool_t *p, const up_check_t *check,
                          const apr_sockaddr_t *addr);

/** Begins a check; one that is kept for reuse begins another one. */
void up_probe_start(up_probe_t *probe, apr_time_t now);

/** To be polled; -1 when the check is over or has not begun. */
int up_probe_fd(const up_probe_t *probe);

/** poll() events it waits for. */
short up_probe_events(const up_probe_t *probe);

/** When it fails for taking too long. */
apr_time_t up_probe_until(const up_probe_t *probe);

/**
 * Goes on, when the descriptor is ready or time is up.
 * @return 1: it is over, up_probe_result says how
 */
int up_probe_step(up_probe_t *probe, apr_time_t now);

/** @param pwhy for the log, "" when it passed; valid until the next start */
up_checked_e up_probe_result(const up_probe_t *probe, const char **pwhy);

void up_probe_free(up_probe_t *probe);

#endif
