/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * How another thread wakes an exchange that waits for something which is no
 * socket and no moment: a name that is being looked up, a server that is busy.
 *
 * An exchange has one bell at most, made when it first needs it
 * (up_machine_bell). Who will have news for it keeps a reference and rings;
 * whoever rings need not know whether the exchange still waits, or still
 * lives. A ring carries nothing: the exchange's step looks again at what it
 * waits for.
 *
 * To wait in a step:
 *
 *     up_bell_t *bell = up_machine_bell(ur);
 *     up_bell_heed(bell);                  before looking, not after
 *     if (there is news) ... go on
 *     (once) hand up_bell_hold(bell) to who will ring
 *     return up_machine_wait_bell(ur);     deadline as in every state
 *
 * For who rings: up_bell_ring from any thread, with any lock held but those
 * of drivers/, as often as you like; up_bell_drop when there will be no more.
 * A ring takes two short locks and perhaps a system call.
 *
 * For drivers: poll up_bell_fd while want->bell is set, or up_bell_attach.
 */

#ifndef UP_BELL_H
#define UP_BELL_H

#include "apr_errno.h"

typedef struct up_bell_t up_bell_t;

/** A bell with one reference, the caller's. From malloc. */
apr_status_t up_bell_make(up_bell_t **pbell);

/** One more reference. @return the same bell */
up_bell_t *up_bell_hold(up_bell_t *bell);

/** One reference less; the last one frees it. */
void up_bell_drop(up_bell_t *bell);

/** Wakes the exchange, if it still is there. */
void up_bell_ring(up_bell_t *bell);

/** Has it been rung since the last time? Forgets it. */
int up_bell_heed(up_bell_t *bell);

/**
 * A descriptor that is readable from a ring until it is heeded. It stays the
 * bell's. @return -1: there are too many open files
 */
int up_bell_fd(up_bell_t *bell);

/**
 * From now on a ring calls `wake`, with the bell's lock held: it may only
 * take note. So does this call when the bell has been rung and not heeded.
 */
void up_bell_attach(up_bell_t *bell, void (*wake)(void *baton), void *baton);

/** The exchange's end: after this call a ring does nothing. */
void up_bell_mute(up_bell_t *bell);

#endif
