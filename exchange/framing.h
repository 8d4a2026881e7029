/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the fields of a response head say about the body that follows.
 *
 * Pure: APR only, no httpd.h; fuzzed with the parser.
 */

#ifndef UP_FRAMING_H
#define UP_FRAMING_H

#include "apr.h"
#include "status_parser.h"

/** The first field of that name, any case, or NULL. */
const char *up_head_get(const up_head_t *head, const char *name);

/** How the body that follows a head is delimited (RFC 9112 6.3). */
typedef enum up_framing_e {
    UP_FRAMING_NONE,    /* no body, whatever the fields say */
    UP_FRAMING_LENGTH,  /* exactly `length` bytes */
    UP_FRAMING_CHUNKED,
    UP_FRAMING_CLOSE    /* until the backend closes */
} up_framing_e;

typedef struct up_framing_t {
    up_framing_e kind;
    apr_off_t length;    /* UP_FRAMING_LENGTH; else -1 */
    apr_off_t announced; /* Content-Length as sent, -1: none. With
                            UP_FRAMING_NONE it may still be relayed */
    int close;           /* Connection: close, HTTP before 1.1, or doubts */
} up_framing_t;

/**
 * Framing by RFC 9112 6.3 in nginx's strict reading: two lengths, a length
 * and a Transfer-Encoding, anything but exactly `chunked`, a sign or a list in
 * a length are refused, also where there is no body; only in an interim head
 * (1xx) the length fields mean nothing.
 * @param head_request the method sent was HEAD
 * @return NULL, or what is wrong: static text that reads well behind
 *         "upstream sent "
 */
const char *up_head_framing(const up_head_t *head, int head_request,
                            up_framing_t *framing);

/**
 * The same for backends that are known to be sloppy (UpstreamLenientFraming):
 * chunked wins over a length (RFC 9112 6.3), and lengths or codings that say
 * the same several times, on lines of their own or in a list, count once.
 * Lengths that differ are refused here, too. What had to be forgiven sets
 * `close`: nobody can be sure where the next response begins.
 */
const char *up_head_framing_lenient(const up_head_t *head, int head_request,
                                    up_framing_t *framing);

#endif
