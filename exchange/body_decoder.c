/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The chunked grammar (RFC 9112 7.1) as a machine that takes framing a byte
 * at a time and body in runs.
 *
 *   START -> SIZE -> [EXTENSION ->] SIZE_LF -> DATA -> DATA_CR -> DATA_LF
 *     ^                                |                            |
 *     +--------------------------------|----------------------------+
 *                         size 0: TRAILER <-> TRAILER_LINE, TRAILER_LF
 *                                    |
 *                                 END_LF -> END
 *
 * From any of them to FAILED, which is never left.
 */

#include "exchange/body_decoder.h"

#include "config/units.h"

#include <string.h>

/* Framing bytes between two body bytes: a chunk line with its extension.
 * Nobody uses extensions; a stream of nothing else must not keep us busy. */
#define MAX_OVERHEAD 4096

typedef enum state_e {
    START,        /* wants the first digit of a size */
    SIZE,
    EXTENSION,    /* behind the size, up to the CR */
    SIZE_LF,
    DATA,
    DATA_CR,      /* wants the CR behind the data */
    DATA_LF,
    TRAILER,      /* at the start of a line */
    TRAILER_LINE,
    TRAILER_LF,
    END_LF,
    END,
    FAILED
} state_e;

void up_decoder_init(up_decoder_t *decoder, const up_framing_t *framing,
                     apr_size_t max_trailer)
{
    *decoder = (up_decoder_t){
        .kind = framing->kind,
        .left = framing->kind == UP_FRAMING_LENGTH ? framing->length : 0,
        .state = START,
        .max_trailer = max_trailer
    };
}

void up_decoder_keep(up_decoder_t *decoder, apr_pool_t *p)
{
    decoder->p = p;
}

static int fail(up_decoder_t *decoder, const char *error)
{
    decoder->error = error;
    return FAILED;
}

static int take_digit(up_decoder_t *decoder, int digit)
{
    if (decoder->left > (UP_OFF_MAX >> 4)) {
        return fail(decoder, "invalid chunked response: chunk size overflows");
    }
    decoder->left = decoder->left * 16 + digit;
    return SIZE;
}

/* A byte of the line that gives the size; returns the next state. */
static int step_size(up_decoder_t *decoder, char c)
{
    int digit;

    if (++decoder->overhead > MAX_OVERHEAD) {
        return fail(decoder,
                    "invalid chunked response: too long chunk extension");
    }
    if (decoder->state == SIZE_LF) {
        if (c != '\n') {
            return fail(decoder, "invalid chunked response: CR without LF");
        }
        return decoder->left ? DATA : TRAILER;
    }
    if (decoder->state != START && c == '\n') {
        return fail(decoder, "invalid chunked response: LF without CR");
    }
    if (decoder->state == EXTENSION) {
        return c == '\r' ? SIZE_LF : EXTENSION;
    }
    digit = up_units_hex(c);
    if (digit >= 0) {
        return take_digit(decoder, digit);
    }
    if (decoder->state == SIZE && c == '\r') {
        return SIZE_LF;
    }
    if (decoder->state == SIZE && (c == ';' || c == ' ' || c == '\t')) {
        return EXTENSION;
    }
    return fail(decoder, "invalid chunked response: no chunk size");
}

/* A byte of the line end behind the data. */
static int step_data_end(up_decoder_t *decoder, char c)
{
    ++decoder->overhead;
    if (c != (decoder->state == DATA_CR ? '\r' : '\n')) {
        return fail(decoder, "invalid chunked response: chunk is longer "
                             "than its size");
    }
    return decoder->state == DATA_CR ? DATA_LF : START;
}

/* Keeps the last byte that was counted. */
static void keep(up_decoder_t *decoder, char c)
{
    if (decoder->trailer > decoder->kept_size) {
        apr_size_t size = decoder->kept_size ? decoder->kept_size * 2 : 256;
        char *kept;

        size = size < decoder->max_trailer ? size : decoder->max_trailer;
        kept = apr_palloc(decoder->p, size);
        if (decoder->kept_size) {
            memcpy(kept, decoder->kept, decoder->kept_size);
        }
        decoder->kept = kept;
        decoder->kept_size = size;
    }
    decoder->kept[decoder->trailer - 1] = c;
}

/* A byte behind the last chunk. What the fields say is not our business, so
 * only the lines are looked at. */
static int step_trailer(up_decoder_t *decoder, char c)
{
    if (decoder->state == TRAILER && c == '\r') {
        return END_LF;
    }
    if (decoder->state == END_LF && c == '\n') {
        return END;
    }
    if (++decoder->trailer > decoder->max_trailer) {
        return fail(decoder, "too big trailers");
    }
    if (decoder->p) {
        keep(decoder, c);
    }
    if (decoder->state == TRAILER_LF && c == '\n') {
        return TRAILER;
    }
    if (decoder->state >= TRAILER_LF || c == '\n') {
        return fail(decoder, "invalid trailer");
    }
    return c == '\r' ? TRAILER_LF : TRAILER_LINE;
}

static int step(up_decoder_t *decoder, char c)
{
    if (decoder->state <= SIZE_LF) {
        return step_size(decoder, c);
    }
    if (decoder->state <= DATA_LF) {
        return step_data_end(decoder, c);
    }
    return step_trailer(decoder, c);
}

/* Moves a run of body down to buf + out; returns its length. */
static apr_size_t take_data(up_decoder_t *decoder, char *to, const char *from,
                            apr_size_t len)
{
    if ((apr_uint64_t)len > (apr_uint64_t)decoder->left) {
        len = (apr_size_t)decoder->left;
    }
    if (to != from) {
        memmove(to, from, len);
    }
    decoder->left -= len;
    decoder->overhead = 0;
    if (!decoder->left) {
        decoder->state = DATA_CR;
    }
    return len;
}

static void feed_chunked(up_decoder_t *decoder, char *buf, apr_size_t len,
                         apr_size_t *pbody, apr_size_t *pused)
{
    apr_size_t in = 0;
    apr_size_t out = 0;

    while (in < len && decoder->state < END) {
        if (decoder->state == DATA) {
            apr_size_t n = take_data(decoder, buf + out, buf + in, len - in);

            in += n;
            out += n;
        }
        else {
            decoder->state = step(decoder, buf[in++]);
        }
    }
    *pbody = out;
    *pused = in;
}

apr_status_t up_decoder_feed(up_decoder_t *decoder, char *buf, apr_size_t len,
                             apr_size_t *pbody, apr_size_t *pused)
{
    if (decoder->kind == UP_FRAMING_CHUNKED) {
        feed_chunked(decoder, buf, len, pbody, pused);
        if (decoder->state == FAILED) {
            return APR_EINVAL;
        }
    }
    else {
        if (decoder->kind != UP_FRAMING_CLOSE
            && (apr_uint64_t)len > (apr_uint64_t)decoder->left) {
            len = (apr_size_t)decoder->left;
        }
        if (decoder->kind == UP_FRAMING_LENGTH) {
            decoder->left -= len;
        }
        *pbody = *pused = len;
    }
    return up_decoder_finished(decoder) ? APR_EOF : APR_SUCCESS;
}

apr_status_t up_decoder_closed(const up_decoder_t *decoder)
{
    return decoder->kind == UP_FRAMING_CLOSE || up_decoder_finished(decoder)
               ? APR_EOF
               : APR_INCOMPLETE;
}

int up_decoder_finished(const up_decoder_t *decoder)
{
    switch (decoder->kind) {
    case UP_FRAMING_NONE:
        return 1;
    case UP_FRAMING_LENGTH:
        return decoder->left == 0;
    case UP_FRAMING_CHUNKED:
        return decoder->state == END;
    case UP_FRAMING_CLOSE:
        return 0;
    }
    return 0;
}

/* What is left of the chunk and the shortest way from its end, or from this
 * state, to the end of the message: "0 CRLF CRLF" is five bytes. */
static apr_off_t need_chunked(const up_decoder_t *decoder)
{
    static const int shortest[] = {
        [START] = 5, [SIZE] = 4, [EXTENSION] = 4, [SIZE_LF] = 3,
        [DATA] = 7, [DATA_CR] = 7, [DATA_LF] = 6,
        [TRAILER] = 2, [TRAILER_LINE] = 4, [TRAILER_LF] = 3, [END_LF] = 1,
        [END] = 0, [FAILED] = 0
    };
    apr_off_t need = shortest[decoder->state];

    if (decoder->state == FAILED) {
        return 0;
    }
    if (decoder->state <= SIZE_LF && decoder->left) {
        need += 5; /* this chunk is not the last one */
    }
    return decoder->left > UP_OFF_MAX - need ? UP_OFF_MAX
                                             : decoder->left + need;
}

apr_off_t up_decoder_need(const up_decoder_t *decoder)
{
    switch (decoder->kind) {
    case UP_FRAMING_CHUNKED:
        return need_chunked(decoder);
    case UP_FRAMING_CLOSE:
        return -1;
    default:
        return decoder->left;
    }
}
