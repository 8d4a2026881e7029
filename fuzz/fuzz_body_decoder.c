/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes exchange/body_decoder.c: the input is a byte that picks the framing,
 * one that gives a length or the room for trailers, and what a backend sends.
 * In one piece or in segments, the body and the verdict must be the same. A
 * second pass puts the input into chunks and takes them off again.
 */

#include "exchange/body_decoder.h"
#include "fuzz/fuzz.h"

#include "apr_strings.h"

/* One segment, in a block of its own. */
static apr_status_t feed(up_decoder_t *decoder, const uint8_t *data,
                         size_t len, fuzz_log_t *body, size_t *pused)
{
    char *buf = fuzz_alloc(len);
    apr_off_t need = up_decoder_need(decoder);
    int done = up_decoder_finished(decoder);
    apr_size_t n = 0;
    apr_size_t used = 0;
    apr_status_t rv;

    memcpy(buf, data, len);
    rv = up_decoder_feed(decoder, buf, len, &n, &used);
    require(n <= used && used <= len);
    require(rv != APR_SUCCESS || used == len);
    require((rv == APR_EOF) == !!up_decoder_finished(decoder));
    require((rv == APR_EINVAL) == (decoder->error != NULL));
    require(memcmp(buf + used, data + used, len - used) == 0);
    require(!done || used == 0);
    if (need >= 0 && rv != APR_EINVAL) {
        /* nothing can end sooner than was said before */
        require(up_decoder_need(decoder) >= need - (apr_off_t)used);
        require((up_decoder_need(decoder) == 0) == (rv == APR_EOF));
    }
    fuzz_log(body, buf, n);
    *pused += used;
    return rv;
}

/* Returns the verdict; what came out is in log. */
static apr_status_t run(const up_framing_t *framing, size_t max_trailer,
                        const uint8_t *data, size_t size, int segmented,
                        fuzz_log_t *log)
{
    up_decoder_t decoder;
    size_t used = 0;
    size_t at = 0;
    size_t segments = 0;
    apr_status_t rv = APR_SUCCESS;

    up_decoder_init(&decoder, framing, max_trailer);
    up_decoder_keep(&decoder, FUZZ_POOL);
    while (at < size && rv == APR_SUCCESS) {
        size_t n = segmented ? fuzz_segment(data, size, segments++) : size;

        n = n < size - at ? n : size - at;
        rv = feed(&decoder, data + at, n, log, &used);
        at += n;
    }
    require(decoder.kept_size <= max_trailer);
    if (rv == APR_EOF && decoder.kept) {
        require(decoder.trailer <= decoder.kept_size);
        fuzz_log(log, decoder.kept, decoder.trailer);
    }
    fuzz_log_number(log, rv);
    fuzz_log_number(log, used);
    fuzz_log_number(log, up_decoder_closed(&decoder));
    fuzz_log_number(log, up_decoder_need(&decoder));
    if (decoder.error) {
        fuzz_log(log, decoder.error, strlen(decoder.error));
    }
    return rv;
}

/* The data in chunks whose sizes it gives itself. */
static void encode(fuzz_log_t *log, const uint8_t *data, size_t size)
{
    size_t at;
    size_t n;
    size_t segments = 0;

    for (at = 0; at < size; at += n) {
        char line[64];

        n = fuzz_segment(data, size, segments++);
        n = n < size - at ? n : size - at;
        fuzz_log(log, line, apr_snprintf(line, sizeof(line),
                                         n % 2 ? "%x\r\n" : "0%X ;a=\"b\"\r\n",
                                         (unsigned int)n));
        fuzz_log(log, data + at, n);
        fuzz_log(log, "\r\n", 2);
    }
    fuzz_log(log, "0\r\nA: b\r\n\r\n", 11);
}

static void round_trip(const uint8_t *data, size_t size)
{
    static const up_framing_t chunked = { UP_FRAMING_CHUNKED, -1, -1, 0 };
    fuzz_log_t raw = { 0 };
    fuzz_log_t got = { 0 };

    encode(&raw, data, size);
    require(run(&chunked, 64, (const uint8_t *)raw.text, raw.len, 1, &got)
            == APR_EOF);
    require(got.len > size && memcmp(got.text, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const up_framing_e kinds[] = {
        UP_FRAMING_CHUNKED, UP_FRAMING_LENGTH, UP_FRAMING_CLOSE,
        UP_FRAMING_NONE
    };
    up_framing_t framing = { .length = -1, .announced = -1 };
    fuzz_log_t whole = { 0 };
    fuzz_log_t pieces = { 0 };

    if (size < 3) {
        return 0;
    }
    framing.kind = kinds[data[0] & 3];
    if (framing.kind == UP_FRAMING_LENGTH) {
        framing.length = data[1];
    }
    run(&framing, data[1], data + 2, size - 2, 0, &whole);
    run(&framing, data[1], data + 2, size - 2, 1, &pieces);
    fuzz_require_same(&whole, &pieces);
    round_trip(data + 2, size - 2);
    fuzz_free_all();
    return 0;
}
