/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* An HTTP/1.1 response as it comes, and whether its body is the pattern of
 * kit.h. */
#ifndef UP_BENCH_ANSWER_H
#define UP_BENCH_ANSWER_H

#include <stddef.h>
#include <stdint.h>

/* Where a chunked body is. */
typedef enum {
    CHUNK_SIZE,
    CHUNK_DATA,
    CHUNK_END, /* the end of its line */
    CHUNK_TRAILER
} answer_chunk_e;

typedef struct {
    int status;               /* 0: there is no whole head */
    uint64_t got;             /* bytes of the body */
    uint64_t left;            /* of the body or of the chunk */
    unsigned begun : 1;       /* there is a byte */
    unsigned over : 1;        /* all of it is there */
    unsigned chunked : 1;
    unsigned delimited : 1;   /* by its Content-Length */
    unsigned closes : 1;      /* the connection ends with it */
    unsigned wrong : 1;       /* the body is not the pattern */
    answer_chunk_e chunk;
    size_t line;              /* bytes of a line of the chunked framing */
    size_t head_used;
    char head[2048];
} answer_t;

void answer_begin(answer_t *a);

/* Takes at most KIT_ROOM bytes that have come. */
void answer_take(answer_t *a, const char *bytes, size_t length);

/* The connection has ended. Returns if that was the end of the answer. */
int answer_end(answer_t *a);

#endif
