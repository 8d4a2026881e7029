/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What checks have found out of a server: a part of its state, apart from
 * what an operator orders and from what failed requests tell.
 *
 * One checker at a time writes it (the lease, `check_due`), anybody reads.
 */

#ifndef UP_HEALTH_H
#define UP_HEALTH_H

#include "config/checks.h"
#include "peers/peer.h"

typedef enum up_checked_e {
    UP_CHECK_PASSED,
    UP_CHECK_FAILED,
    UP_CHECK_DRAINS /* it has answered with the status of drain= */
} up_checked_e;

/**
 * Counts the result of a check. A server that was never checked is made well
 * by one pass; else `passes` or `fails` in a row change something.
 * @return 1: its health is another one now
 */
int up_health_note(up_peerstate_t *state, const up_check_t *check,
                   up_checked_e result, apr_time_t now);

/** May requests go there, as far as checks are concerned? */
int up_health_good(const up_peerstate_t *state, const up_check_t *check);

/** Only those that stick to it may. */
int up_health_drains(const up_peerstate_t *state, const up_check_t *check);

/** After a restart, before the first use: is it to be checked anew? */
void up_health_restored(up_peerstate_t *state, const up_check_t *check);

/**
 * Is a check due, and has nobody else begun it? Then it is this child's for as
 * long as a check may take: a checker that dies is replaced.
 * @param pnext when not: when to ask again, if that is earlier
 */
int up_health_claim(up_peerstate_t *state, const up_check_t *check,
                    apr_time_t now, apr_time_t *pnext);

/** The check is over, the next one is due then. */
void up_health_schedule(up_peerstate_t *state, apr_time_t due);

#endif
