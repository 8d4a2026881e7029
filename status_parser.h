/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Reads a response head: status line and fields, in any segmentation.
 *
 * Pure: APR only, no httpd.h; fuzzed. What a backend sends is hostile text:
 * every length is bounded and a bad line spoils the whole head
 * (RFC 9112 2.2, 4, 5; nginx's grammar where the RFC leaves a choice). Names
 * may hold anything but controls, blanks, DEL and the colon, as in nginx: more
 * than RFC 9110's tokens. Values may hold HT and 8-bit bytes, no other control
 * character. At most 1000 fields.
 *
 * The parser owns one buffer that grows from `first` to `max` bytes. The
 * caller receives straight into it: up_parser_space, recv, up_parser_added;
 * or, so that waiting for a response costs no buffer, gives what came first
 * with up_parser_put, and then the buffer is made as large as that.
 * Lives in the pool it was made in; one thread.
 */

#ifndef UP_STATUS_PARSER_H
#define UP_STATUS_PARSER_H

#include "apr_errno.h"
#include "apr_pools.h"
#include "mod_upstream_proxy.h"

typedef struct up_field_t {
    const char *name; /* NUL-terminated, as sent */
    apr_size_t name_len;
    const char *value; /* NUL-terminated, SP trimmed at both ends */
    apr_size_t value_len;
} up_field_t;

/** A whole head. Valid until up_parser_next, up_parser_reset or the pool. */
typedef struct up_head_t {
    int status; /* 100..999 */
    int major;  /* of the HTTP version */
    int minor;
    const char *reason; /* NUL-terminated, may be "" */
    const up_field_t *fields; /* in the order received */
    int nfields;
    apr_size_t size; /* raw bytes */
} up_head_t;

/**
 * @param first bytes of the first buffer, > 0
 * @param max   bytes a head may have, >= first
 */
up_parser_t *up_parser_make(apr_pool_t *p, apr_size_t first, apr_size_t max);

/** Back to the beginning, keeping the buffer: for the next try. */
void up_parser_reset(up_parser_t *parser);

/** How many bytes up_parser_put takes at most. */
apr_size_t up_parser_first(const up_parser_t *parser);

/**
 * Takes the first `n` > 0 bytes of what is to come, while
 * !up_parser_started. Answers as up_parser_added does.
 */
apr_status_t up_parser_put(up_parser_t *parser, const char *bytes,
                           apr_size_t n);

/**
 * Where the next received bytes go. *plen is at least 1: a head that would
 * not fit was refused by up_parser_added before.
 */
void up_parser_space(up_parser_t *parser, char **pbuf, apr_size_t *plen);

/**
 * `n` bytes have been put there (0: parse what is left after
 * up_parser_next).
 * @return APR_SUCCESS the head is whole; APR_INCOMPLETE more is wanted;
 *         APR_ENOSPC larger than `max`; APR_EINVAL malformed or too many
 *         fields: see up_parser_error
 */
apr_status_t up_parser_added(up_parser_t *parser, apr_size_t n);

/** The head, after APR_SUCCESS. */
const up_head_t *up_parser_head(const up_parser_t *parser);

/** Bytes received beyond the head. They stay in the parser's buffer. */
void up_parser_rest(up_parser_t *parser, char **pbuf, apr_size_t *plen);

/** Has a byte of the present head been seen? */
int up_parser_started(const up_parser_t *parser);

/**
 * Drops a whole (interim, 1xx) head and makes ready for the next one, whose
 * beginning may be in the buffer already: call up_parser_added(parser, 0).
 */
void up_parser_next(up_parser_t *parser);

/**
 * The fields of a trailer section (RFC 9110 6.5), by the grammar of a head's.
 * @param block its lines with their ends, without the empty one; copied
 * @param perror set on failure, as up_parser_error
 * @return in p: a head of which only the fields count; NULL: malformed
 */
const up_head_t *up_parser_trailers(apr_pool_t *p, const char *block,
                                    apr_size_t len, const char **perror);

/**
 * What is wrong, for the log: printable, at most 200 bytes, names the field
 * and its size where one is to blame, never its value; reads well behind
 * "upstream sent ". "" when nothing is.
 */
const char *up_parser_error(const up_parser_t *parser);

#endif
