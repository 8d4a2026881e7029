/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes the way of a trailer section: the input is a chunked body. What the
 * decoder has kept is parsed, and of that what may go on is written as it
 * would be for a client, and read again. Nothing may become another field on
 * the way, end the section early, or frame a message.
 */

#include "fuzz/fuzz.h"
#include "exchange/body_decoder.h"
#include "exchange/fields.h"
#include "status_parser.h"

#define MAX_TRAILER 300

/* The kept section, in segments; NULL: the body did not end well. */
static const char *keep(const uint8_t *data, size_t size, size_t *plen)
{
    up_framing_t framing = { .kind = UP_FRAMING_CHUNKED, .length = -1 };
    up_decoder_t decoder;
    apr_status_t rv = APR_SUCCESS;
    size_t at, n, i = 0;

    up_decoder_init(&decoder, &framing, MAX_TRAILER);
    up_decoder_keep(&decoder, FUZZ_POOL);
    for (at = 0; at < size && rv == APR_SUCCESS; at += n) {
        apr_size_t body, used;
        char *segment;

        n = fuzz_segment(data, size, i++);
        n = n < size - at ? n : size - at;
        segment = fuzz_alloc(n);
        memcpy(segment, data + at, n);
        rv = up_decoder_feed(&decoder, segment, n, &body, &used);
    }
    if (rv != APR_EOF || !decoder.kept) {
        return NULL;
    }
    require(decoder.trailer <= MAX_TRAILER);
    *plen = decoder.trailer;
    return decoder.kept;
}

static void require_harmless(const up_field_t *field)
{
    static const char *const framing[] = {
        "Content-Length", "Transfer-Encoding", "Host", "Connection",
        "Trailer", "TE", "Upgrade", "Set-Cookie", "Authorization", NULL
    };
    int i;

    require(up_field_name_ok(field->name));
    require(strpbrk(field->value, "\r\n") == NULL);
    for (i = 0; framing[i]; i++) {
        require(!up_field_same(field->name, framing[i]));
    }
}

/* The fields of `head` that may go on, as lines. */
static fuzz_log_t write_fields(const up_head_t *head, int *pcount)
{
    fuzz_log_t lines = { 0 };
    int i;

    for (i = 0; i < head->nfields; i++) {
        const up_field_t *field = &head->fields[i];

        if (!up_field_name_ok(field->name)
            || !up_field_fits_trailer(field->name)) {
            continue;
        }
        require_harmless(field);
        fuzz_log(&lines, field->name, field->name_len);
        fuzz_log(&lines, ": ", 2);
        fuzz_log(&lines, field->value, field->value_len);
        fuzz_log(&lines, "\r\n", 2);
        ++*pcount;
    }
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *kept, *error = NULL;
    const up_head_t *head;
    fuzz_log_t lines;
    size_t len = 0;
    int count = 0;

    if (size == 0) {
        return 0;
    }
    kept = keep(data, size, &len);
    head = kept ? up_parser_trailers(FUZZ_POOL, kept, len, &error) : NULL;
    require(!kept || !head == (error != NULL));
    if (head) {
        lines = write_fields(head, &count);
        if (count > 0) {
            head = up_parser_trailers(FUZZ_POOL, lines.text, lines.len,
                                      &error);
            require(head != NULL && head->nfields == count);
        }
    }
    fuzz_free_all();
    return 0;
}
