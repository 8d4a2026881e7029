/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What is known of the client's socket without asking; see source.h. */

#include "transport/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "apr_portable.h"
#include "http_core.h"
#include "util_filter.h"

struct up_source_t {
    conn_rec *c;
    int sole;    /* the core keeps nothing: its socket may be read for it */
    int drained; /* that was read empty, and there was no edge since */
    int ended;   /* the end was signalled: it will not be again */
    int apart;   /* whoever reads now is not told of edges */
};

static ap_filter_rec_t *source_filter;

/* Most reads are small, and what a block of the allocator would be: theirs is
 * as large as they are. */
#define SMALL 2048

static apr_bucket *bucket_of(const char *bytes, apr_size_t n,
                             apr_bucket_alloc_t *alloc)
{
    char *copy;

    if (n > SMALL) {
        return apr_bucket_heap_create(bytes, n, NULL, alloc);
    }
    copy = malloc(n);
    ap_assert(copy);
    memcpy(copy, bytes, n);
    return apr_bucket_heap_create(copy, n, free, alloc);
}

/* A stream that gives less than there is room for has no more. */
static apr_status_t read_socket(up_source_t *source, apr_bucket_brigade *bb)
{
    char bytes[APR_BUCKET_BUFF_SIZE];
    apr_os_sock_t fd = -1;
    ssize_t n;
    int err;

    apr_os_sock_get(&fd, ap_get_conn_socket(source->c));
    do {
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        err = errno;
    } while (n < 0 && err == EINTR);
    source->drained = n < (ssize_t)sizeof(bytes) && !source->ended;
    if (n > 0) {
        APR_BRIGADE_INSERT_TAIL(
            bb, bucket_of(bytes, (apr_size_t)n, source->c->bucket_alloc));
        return APR_SUCCESS;
    }
    return n == 0 ? APR_EOF : APR_STATUS_IS_EAGAIN(err) ? APR_SUCCESS : err;
}

/* The core reads until it has what it was asked for or nothing is left: less
 * than that is all there was. */
static void look(up_source_t *source, apr_bucket_brigade *bb,
                 apr_off_t wanted)
{
    apr_off_t bytes = -1;

    apr_brigade_length(bb, 0, &bytes);
    source->sole = bytes >= 0 && bytes < wanted;
    source->drained = source->sole && !source->ended;
}

static apr_status_t source_in(ap_filter_t *f, apr_bucket_brigade *bb,
                              ap_input_mode_t mode, apr_read_type_e block,
                              apr_off_t readbytes)
{
    up_source_t *source = f->ctx;
    int empty = APR_BRIGADE_EMPTY(bb);
    apr_status_t rv;

    if (source->apart || f->next->frec != ap_core_input_filter_handle) {
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    }
    if (block == APR_NONBLOCK_READ
        && (mode == AP_MODE_READBYTES || mode == AP_MODE_SPECULATIVE)) {
        if (source->drained) {
            return APR_SUCCESS; /* nothing, as the core says it */
        }
        /* Smaller pieces are the core's to cut. */
        if (source->sole && mode == AP_MODE_READBYTES
            && readbytes >= APR_BUCKET_BUFF_SIZE) {
            return read_socket(source, bb);
        }
    }
    source->sole = 0;
    source->drained = 0;
    rv = ap_get_brigade(f->next, bb, mode, block, readbytes);
    if (rv == APR_SUCCESS && empty && mode == AP_MODE_READBYTES
        && block == APR_NONBLOCK_READ) {
        look(source, bb, readbytes);
    }
    return rv;
}

void up_source_register(void)
{
    source_filter = ap_register_input_filter("UPSTREAM_SOURCE", source_in,
                                             NULL, AP_FTYPE_NETWORK - 1);
}

up_source_t *up_source_make(conn_rec *c)
{
    up_source_t *source = apr_pcalloc(c->pool, sizeof(*source));

    source->c = c;
    ap_add_input_filter_handle(source_filter, source, NULL, c);
    return source;
}

void up_source_apart(up_source_t *source, int apart)
{
    if (apart || source->apart) {
        source->drained = 0;
        source->sole = 0;
    }
    source->apart = apart;
}

void up_source_stirred(up_source_t *source, int ended)
{
    source->drained = 0;
    source->ended |= ended;
}
