/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * One direction of a WebSocket (RFC 6455 5.2), followed without looking at
 * what it says: where do frames end, and has a Close gone by? So that a Close
 * of our own can stand where one may.
 *
 * Pure: APR only.
 */

#ifndef UP_WSFRAMES_H
#define UP_WSFRAMES_H

#include "apr.h"

typedef struct up_wsframes_t {
    apr_uint64_t left;      /* payload bytes of the present frame to come */
    unsigned char head[14]; /* of the next one, as far as it came */
    unsigned char used;
    unsigned char closed;   /* a Close frame has begun */
} up_wsframes_t;

/** Bytes of up_wsframes_farewell at most. */
#define UP_WSFRAMES_FAREWELL 8

/** The next bytes of the direction; a zeroed object is at its beginning. */
void up_wsframes_feed(up_wsframes_t *frames, const char *data,
                      apr_size_t len);

/** May a frame of ours follow what was fed? */
int up_wsframes_between(const up_wsframes_t *frames);

/**
 * A Close frame that says 1001, going away.
 * @param mask of a client's frame, 4 bytes; NULL: a server's has none
 * @return its length
 */
apr_size_t up_wsframes_farewell(char buf[UP_WSFRAMES_FAREWELL],
                                const unsigned char *mask);

#endif
