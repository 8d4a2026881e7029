/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the fuzz targets of the pure layer share. Included once a program.
 *
 * An apr_palloc of our own takes the library's place: each allocation is a
 * block of malloc, so that the address sanitizer sees its ends, which it does
 * not inside a pool. One list, freed between two inputs.
 */

#ifndef UP_FUZZ_H
#define UP_FUZZ_H

#include "apr_general.h"
#include "apr_pools.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct fuzz_block_t {
    struct fuzz_block_t *next;
    void *mem;
} fuzz_block_t;

static fuzz_block_t *fuzz_blocks;

static inline void require(int holds)
{
    if (!holds) {
        abort();
    }
}

static inline void *fuzz_alloc(size_t size)
{
    fuzz_block_t *block = malloc(sizeof(*block));

    require(block != NULL);
    block->next = fuzz_blocks;
    block->mem = malloc(size);
    require(block->mem != NULL);
    fuzz_blocks = block;
    return block->mem;
}

#ifndef FUZZ_REAL_POOLS

/** Any pool will do. */
#define FUZZ_POOL ((apr_pool_t *)&fuzz_blocks)

__attribute__((visibility("default")))
void *apr_palloc(apr_pool_t *p, apr_size_t size)
{
    require(p == FUZZ_POOL);
    return fuzz_alloc(size);
}

#endif

static inline void fuzz_free_all(void)
{
    while (fuzz_blocks) {
        fuzz_block_t *block = fuzz_blocks;

        fuzz_blocks = block->next;
        free(block->mem);
        free(block);
    }
}

#ifdef FUZZ_REAL_POOLS

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    apr_initialize();
    return 0;
}

#endif

/** What a run has given, to be compared with another run's. */
typedef struct fuzz_log_t {
    char *text;
    size_t len;
    size_t size;
} fuzz_log_t;

static inline void fuzz_log(fuzz_log_t *log, const void *data, size_t len)
{
    if (log->len + len > log->size) {
        char *text;

        log->size = 2 * (log->len + len);
        text = fuzz_alloc(log->size);
        if (log->len) {
            memcpy(text, log->text, log->len);
        }
        log->text = text;
    }
    if (len) {
        memcpy(log->text + log->len, data, len);
        log->len += len;
    }
}

static inline void fuzz_log_number(fuzz_log_t *log, int64_t n)
{
    fuzz_log(log, &n, sizeof(n));
}

static inline void fuzz_require_same(const fuzz_log_t *a, const fuzz_log_t *b)
{
    require(a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

/**
 * The length of the nth segment, 1..32: the bytes of the input, from its end,
 * over and over.
 */
static inline size_t fuzz_segment(const uint8_t *data, size_t size, size_t n)
{
    return data[size - 1 - n % size] % 32 + 1;
}

#endif
