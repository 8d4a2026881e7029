/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes status_parser.c: the input is a byte of options (HEAD, size of the
 * first buffer, size of a head) and what a backend sends. In one piece and a
 * full-size buffer, or in segments and a growing one, the heads, the framing
 * and the verdict must be the same, and nothing that could break a head of
 * ours may get through.
 */

#include "fuzz/fuzz.h"
#include "exchange/framing.h"
#include "status_parser.h"

#define MAX_INTERIM 8

/* Nobody puts such bytes into a head that goes to a client. */
static void require_text(const char *s, size_t len)
{
    size_t i;

    require(strlen(s) == len);
    for (i = 0; i < len; ++i) {
        unsigned char c = s[i];

        require((c >= ' ' || c == '\t') && c != 0x7f);
    }
}

static void require_printable(const char *s)
{
    require(strlen(s) <= 200);
    for (; *s; ++s) {
        require(*s >= ' ' && *s < 0x7f);
    }
}

/* Leniency takes what strictness takes, and in the same way. */
static void require_tolerance(const up_head_t *head, int is_head,
                              const char *error, const up_framing_t *strict)
{
    up_framing_t framing;
    const char *other = up_head_framing_lenient(head, is_head, &framing);

    if (other) {
        require(error != NULL);
        require_printable(other);
        return;
    }
    require((framing.kind == UP_FRAMING_LENGTH) == (framing.length >= 0));
    if (error) {
        require(framing.close); /* something was forgiven */
        return;
    }
    require(framing.kind == strict->kind);
    require(framing.length == strict->length);
    require(framing.announced == strict->announced);
    require(framing.close == strict->close);
}

static void log_framing(fuzz_log_t *log, const up_head_t *head, int is_head)
{
    up_framing_t framing;
    const char *error = up_head_framing(head, is_head, &framing);

    require_tolerance(head, is_head, error, &framing);
    if (error) {
        require_printable(error);
        fuzz_log(log, error, strlen(error));
        return;
    }
    require((framing.kind == UP_FRAMING_LENGTH) == (framing.length >= 0));
    require(framing.announced >= -1);
    fuzz_log_number(log, framing.kind);
    fuzz_log_number(log, framing.length);
    fuzz_log_number(log, framing.announced);
    fuzz_log_number(log, framing.close);
}

static void log_head(fuzz_log_t *log, const up_head_t *head, int is_head)
{
    int i;

    require(head->status >= 100 && head->status <= 999);
    require(head->major >= 1 && head->minor >= 0);
    require_text(head->reason, strlen(head->reason));
    fuzz_log_number(log, head->status);
    fuzz_log_number(log, head->major * 100 + head->minor);
    fuzz_log_number(log, head->size);
    fuzz_log(log, head->reason, strlen(head->reason));
    for (i = 0; i < head->nfields; ++i) {
        const up_field_t *field = &head->fields[i];

        require(field->name_len > 0);
        require_text(field->name, field->name_len);
        require_text(field->value, field->value_len);
        require(!strpbrk(field->name, " \t:"));
        require(up_head_get(head, field->name) != NULL);
        fuzz_log(log, field->name, field->name_len + 1);
        fuzz_log(log, field->value, field->value_len + 1);
    }
    log_framing(log, head, is_head);
}

/* What came first, which the parser copies into a buffer of its size. */
static size_t put(up_parser_t *parser, const uint8_t *data, size_t left,
                  apr_status_t *rv)
{
    size_t n = data[0] % up_parser_first(parser) + 1;
    char *bytes;

    n = n < left ? n : left;
    require(!up_parser_started(parser));
    bytes = fuzz_alloc(n);
    memcpy(bytes, data, n);
    *rv = up_parser_put(parser, bytes, n);
    memset(bytes, 'x', n);
    return n;
}

/* The next segment into the parser; returns its length. */
static size_t give(up_parser_t *parser, const uint8_t *data, size_t left,
                   size_t want)
{
    char *buf;
    apr_size_t room;

    up_parser_space(parser, &buf, &room);
    require(room > 0);
    want = want < left ? want : left;
    want = want < room ? want : room;
    memcpy(buf, data, want);
    return want;
}

#define SEGMENTED 0x100
#define PUT_FIRST 0x200

static void run(fuzz_log_t *log, up_parser_t *parser, const uint8_t *data,
                size_t size, int options)
{
    int segmented = options & SEGMENTED;
    size_t at = 0;
    size_t n;
    size_t segments = 0;
    size_t heads = 0;
    int interim = 0;
    apr_status_t rv;

    if (options & PUT_FIRST) {
        at = put(parser, data, size, &rv);
    }
    else {
        rv = up_parser_added(parser, 0);
    }
    for (;;) {
        if (rv == APR_SUCCESS) {
            const up_head_t *head = up_parser_head(parser);

            log_head(log, head, options & 1);
            heads += head->size;
            if (head->status >= 200 || ++interim > MAX_INTERIM) {
                break;
            }
            up_parser_next(parser);
            n = 0;
        }
        else if (rv != APR_INCOMPLETE || at == size) {
            break;
        }
        else {
            n = give(parser, data + at, size - at,
                     segmented ? fuzz_segment(data, size, segments++) : size);
            at += n;
        }
        rv = up_parser_added(parser, n);
    }
    require_printable(up_parser_error(parser));
    require((rv == APR_EINVAL || rv == APR_ENOSPC)
            == (*up_parser_error(parser) != '\0'));
    if (rv == APR_SUCCESS) {
        char *rest;
        apr_size_t len;

        up_parser_rest(parser, &rest, &len);
        require(heads + len == at);
        require(memcmp(rest, data + heads, len) == 0);
        memset(rest, 'x', len);
    }
    fuzz_log_number(log, rv);
    fuzz_log_number(log, heads);
}

/* The same bytes as a trailer section. */
static void run_trailers(const uint8_t *data, size_t size)
{
    const char *error = NULL;
    const up_head_t *head = up_parser_trailers(FUZZ_POOL, (const char *)data,
                                               size, &error);
    int i;

    require(!head == (error != NULL));
    if (!head) {
        require_printable(error);
        return;
    }
    for (i = 0; i < head->nfields; ++i) {
        require(head->fields[i].name_len > 0);
        require_text(head->fields[i].name, head->fields[i].name_len);
        require_text(head->fields[i].value, head->fields[i].value_len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_log_t whole = { 0 };
    fuzz_log_t pieces = { 0 };
    size_t first;
    size_t max;
    up_parser_t *parser;

    if (size < 2) {
        return 0;
    }
    first = (size_t)1 << (data[0] >> 1 & 7);
    max = first + (size_t)(data[0] >> 4) * 100;
    run(&whole, up_parser_make(FUZZ_POOL, max, max), data + 1, size - 1,
        data[0]);
    parser = up_parser_make(FUZZ_POOL, first, max);
    run(&pieces, parser, data + 1, size - 1, data[0] | SEGMENTED);
    fuzz_require_same(&whole, &pieces);

    /* what was there before a reset leaves no trace */
    up_parser_reset(parser);
    pieces.len = 0;
    run(&pieces, parser, data + 1, size - 1, data[0] | SEGMENTED | PUT_FIRST);
    fuzz_require_same(&whole, &pieces);

    /* a parser that has waited without a buffer */
    pieces.len = 0;
    run(&pieces, up_parser_make(FUZZ_POOL, first, max), data + 1, size - 1,
        data[0] | PUT_FIRST);
    fuzz_require_same(&whole, &pieces);
    run_trailers(data + 1, size - 1);
    fuzz_free_all();
    return 0;
}
