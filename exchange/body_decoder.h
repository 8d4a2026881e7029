/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Takes the framing off a response body, in any segmentation, in place.
 *
 * Pure: APR only. RFC 9112 7.1; a bare LF in chunk framing is refused,
 * extensions are skipped, trailers are read and, unless somebody wants them
 * kept, dropped; the bytes that carry no body are bounded (4096 from one body
 * byte to the next, max_trailer at the end). A decoder that has refused
 * something refuses all that follows.
 */

#ifndef UP_BODY_DECODER_H
#define UP_BODY_DECODER_H

#include "apr_errno.h"
#include "apr_pools.h"
#include "mod_upstream_proxy.h"
#include "exchange/framing.h"

struct up_decoder_t {
    up_framing_e kind;
    apr_off_t left;      /* of the length, or of the present chunk */
    int state;           /* of the chunked grammar, body_decoder.c */
    apr_off_t overhead;  /* framing bytes since the last body byte */
    apr_size_t trailer;  /* bytes of the trailer section so far */
    apr_size_t max_trailer;
    apr_pool_t *p;       /* up_decoder_keep's, NULL: trailers are dropped */
    char *kept;          /* the lines of the trailer section, CR LF included,
                            without the empty one at the end; `trailer` bytes
                            of it are set; NULL: none */
    apr_size_t kept_size;
    const char *error;   /* after APR_EINVAL, static text that reads well
                            behind "upstream sent " */
};

/** @param max_trailer bytes the trailer fields may have */
void up_decoder_init(up_decoder_t *decoder, const up_framing_t *framing,
                     apr_size_t max_trailer);

/**
 * Trailers are to be kept, in `p`: decoder->kept when the body is finished.
 * Takes no memory until there are some.
 */
void up_decoder_keep(up_decoder_t *decoder, apr_pool_t *p);

/**
 * Decodes `len` raw bytes in place: buf[0..*pbody) is body afterwards. A
 * body that is finished takes no more: *pused < len then means surplus
 * bytes, which are left at buf + *pused as they came.
 * @return APR_SUCCESS more is expected; APR_EOF the body is finished;
 *         APR_EINVAL bad framing (body before the fault is still handed out)
 */
apr_status_t up_decoder_feed(up_decoder_t *decoder, char *buf, apr_size_t len,
                             apr_size_t *pbody, apr_size_t *pused);

/**
 * The backend has closed.
 * @return APR_EOF that was a proper end; APR_INCOMPLETE the body is cut
 */
apr_status_t up_decoder_closed(const up_decoder_t *decoder);

/** Is the body finished? (true at once for UP_FRAMING_NONE, length 0) */
int up_decoder_finished(const up_decoder_t *decoder);

/**
 * The fewest raw bytes that could still finish the message: what is left of
 * the length; of the chunk + 7, or 5 between chunks, which are nginx's
 * figures; exact in the states inside the framing; 0 when finished or
 * refused; -1 until close.
 */
apr_off_t up_decoder_need(const up_decoder_t *decoder);

#endif
