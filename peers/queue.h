/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamQueue: who waits for a place at a server, first come, first served.
 *
 * A child has a queue a group. Only the first in it looks for a server; it is
 * woken when a place becomes free here, and looks by itself now and then for
 * what no one tells: places that other children give up, servers that come
 * back. With a zone the queues of all children are one: how many wait is
 * counted over all, who comes later lines up although his own child's queue is
 * empty, and the first of a child lets those pass that have waited longer in
 * others, unless they do not move.
 *
 * Who waits holds no thread: his bell is rung. Any thread; under peers->lock.
 */

#ifndef UP_QUEUE_H
#define UP_QUEUE_H

#include "peers/bell.h"
#include "peers/peer.h"

typedef struct up_queue_t up_queue_t;

/** Who waits. The exchange's own; all zero outside of the queue. */
typedef struct up_place_t {
    up_queue_t *queue; /* NULL: not in one */
    struct up_place_t *next, *prev;
    up_bell_t *bell;
    apr_time_t since;
    int passed; /* how often others were let pass */
} up_place_t;

/** The queue of a group that has one, in pool p. */
up_queue_t *up_queue_make(apr_pool_t *p, up_peers_t *peers);

/** Does anybody wait, in any child? */
int up_queue_busy(const up_queue_t *queue);

/**
 * Lines up. Look for a server afterwards, when it is your turn, before you
 * wait: one may have become free meanwhile.
 * @param bell is held until up_queue_leave
 * @return 0: the queue is full
 */
int up_queue_join(up_queue_t *queue, up_place_t *place, up_bell_t *bell,
                  apr_time_t now);

/** Is it this one's turn to look for a server? */
int up_queue_turn(up_place_t *place);

/** It was, there is a server, but somebody else has waited for longer. */
int up_queue_yield(up_place_t *place);

/** When to look again without having been woken; 0: not at all. */
apr_interval_time_t up_queue_patience(const up_place_t *place);

/** Goes, with a server or without; the next one is woken. Nothing when it is
 * in no queue. */
void up_queue_leave(up_place_t *place);

/** Something has changed: the first one is to look. NULL: nothing */
void up_queue_wake(up_queue_t *queue);

#endif
