/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Owns the framing of responses. */
#include "answer.h"

#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void answer_begin(answer_t *a)
{
    memset(a, 0, offsetof(answer_t, head));
}

static void take_data(answer_t *a, const char *bytes, size_t length)
{
    if (!kit_right(bytes, length, a->got)) {
        a->wrong = 1;
    }
    a->got += length;
}

/* --- chunks -------------------------------------------------------------- */

static void end_line(answer_t *a)
{
    int empty = a->line == 0;

    a->line = 0;
    switch (a->chunk) {
    case CHUNK_SIZE:
        a->chunk = a->left ? CHUNK_DATA : CHUNK_TRAILER;
        break;
    case CHUNK_END:
        a->chunk = CHUNK_SIZE;
        break;
    default:
        a->over = empty;
        break;
    }
}

static void take_framing(answer_t *a, char byte)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *digit = byte ? strchr(digits, byte) : NULL;

    if (byte == '\n') {
        end_line(a);
        return;
    }
    a->line += byte != '\r';
    if (a->chunk == CHUNK_SIZE && digit) {
        a->left = 16 * a->left + (uint64_t)((digit - digits) % 16);
    }
}

static void take_chunks(answer_t *a, const char *bytes, size_t length)
{
    size_t n;

    while (length && !a->over) {
        n = 1;
        if (a->chunk == CHUNK_DATA) {
            n = a->left < length ? (size_t)a->left : length;
            take_data(a, bytes, n);
            a->left -= n;
            a->chunk = a->left ? CHUNK_DATA : CHUNK_END;
        }
        else {
            take_framing(a, *bytes);
        }
        bytes += n;
        length -= n;
    }
}

/* --- the whole ----------------------------------------------------------- */

static void take_body(answer_t *a, const char *bytes, size_t length)
{
    if (a->chunked) {
        take_chunks(a, bytes, length);
        return;
    }
    take_data(a, bytes, length);
    if (a->delimited && a->got >= a->left) {
        a->over = 1;
    }
}

/* The value of a field, `name` with its colon, or "". */
static const char *field(const char *head, const char *name)
{
    const char *line = strchr(head, '\n');
    const char *value;

    while (line && strncasecmp(line + 1, name, strlen(name))) {
        line = strchr(line + 1, '\n');
    }
    value = line ? line + 1 + strlen(name) : "";
    return value + strspn(value, " \t");
}

static void read_head(answer_t *a)
{
    const char *value;

    if (sscanf(a->head, "HTTP/1.%*d %d", &a->status) != 1) {
        a->status = -1;
    }
    a->closes = !strncasecmp(field(a->head, "connection:"), "close", 5);
    a->chunked = !strncasecmp(field(a->head, "transfer-encoding:"),
                              "chunked", 7);
    value = field(a->head, "content-length:");
    if (*value && !a->chunked) {
        a->delimited = 1;
        a->left = strtoull(value, NULL, 10);
    }
}

void answer_take(answer_t *a, const char *bytes, size_t length)
{
    size_t room = sizeof(a->head) - 1 - a->head_used;
    size_t n = length < room ? length : room;
    size_t used = a->head_used;
    char *end;

    a->begun |= length > 0;
    if (a->status) {
        take_body(a, bytes, length);
        return;
    }
    memcpy(a->head + used, bytes, n);
    a->head_used += n;
    a->head[a->head_used] = '\0';
    end = strstr(a->head, "\r\n\r\n");
    if (end) {
        end[2] = '\0';
        read_head(a);
        n = (size_t)(end + 4 - a->head) - used;
        take_body(a, bytes + n, length - n);
    }
}

int answer_end(answer_t *a)
{
    if (a->status && !a->chunked && !a->delimited) {
        a->over = a->closes = 1;
    }
    return a->over;
}
