/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Reading the next request head ahead; see ahead.h. */

#include "transport/ahead.h"

#include <string.h>
#include <strings.h>

#include "util_filter.h"

#define READ_BYTES 8192

/* A head of this size without its end is httpd's to refuse. */
#define MOST_BYTES 65536

struct up_ahead_t {
    conn_rec *c;
    ap_filter_t *filter;
    apr_bucket_brigade *kept;
    apr_bucket_brigade *fresh; /* just read; empty between calls */
    apr_off_t bytes;           /* in kept */
    int begun;                 /* a byte that is not CR or LF was seen */
    int newlines;              /* LF at the end of what was seen: two in a
                                  row end a head */
    int whole;                 /* they have been seen */
};

static ap_filter_rec_t *ahead_filter;

/* Something was taken out of `kept`: what is left is looked at anew. */
static void taken(up_ahead_t *ahead)
{
    ahead->begun = 0;
    ahead->newlines = 0;
    ahead->whole = 0;
    ahead->bytes = 0;
}

/* Buckets without bytes would pass for data. */
static void drop_empty(apr_bucket_brigade *bb)
{
    apr_bucket *e = APR_BRIGADE_FIRST(bb);

    while (e != APR_BRIGADE_SENTINEL(bb)) {
        apr_bucket *next = APR_BUCKET_NEXT(e);

        if (e->length == 0) {
            apr_bucket_delete(e);
        }
        e = next;
    }
}

static void look_at(up_ahead_t *ahead, const char *data, apr_size_t len)
{
    apr_size_t i;

    for (i = 0; i < len && !ahead->whole; i++) {
        if (data[i] == '\n') {
            ahead->newlines++;
            ahead->whole = ahead->begun && ahead->newlines == 2;
        }
        else if (data[i] != '\r') {
            ahead->begun = 1;
            ahead->newlines = 0;
        }
    }
}

/* Looks for the end of a head in the buckets of `bb`, all in memory. */
static apr_status_t look(up_ahead_t *ahead, apr_bucket_brigade *bb)
{
    apr_bucket *e;

    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;
        apr_status_t rv;

        if (APR_BUCKET_IS_EOS(e)) {
            return APR_EOF;
        }
        if (APR_BUCKET_IS_METADATA(e)) {
            continue;
        }
        rv = apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        ahead->bytes += (apr_off_t)len;
        look_at(ahead, data, len);
    }
    return APR_SUCCESS;
}

static apr_status_t take_line(up_ahead_t *ahead, apr_bucket_brigade *bb,
                              apr_off_t most)
{
    /* Without a LF all there is comes back; the caller asks on. */
    return apr_brigade_split_line(bb, ahead->kept, APR_NONBLOCK_READ, most);
}

static apr_status_t take_bytes(up_ahead_t *ahead, apr_bucket_brigade *bb,
                               apr_off_t most)
{
    apr_bucket *after;
    apr_status_t rv = apr_brigade_partition(ahead->kept, most, &after);

    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE) {
        return rv;
    }
    while (APR_BRIGADE_FIRST(ahead->kept) != after
           && !APR_BRIGADE_EMPTY(ahead->kept)) {
        apr_bucket *e = APR_BRIGADE_FIRST(ahead->kept);

        APR_BUCKET_REMOVE(e);
        APR_BRIGADE_INSERT_TAIL(bb, e);
    }
    return APR_SUCCESS;
}

/* The same bytes, but they stay. */
static apr_status_t show_bytes(up_ahead_t *ahead, apr_bucket_brigade *bb,
                               apr_off_t most)
{
    apr_bucket *e;
    apr_bucket *copy;
    apr_bucket *after;
    apr_status_t rv = apr_brigade_partition(ahead->kept, most, &after);

    if (rv != APR_SUCCESS && rv != APR_INCOMPLETE) {
        return rv;
    }
    for (e = APR_BRIGADE_FIRST(ahead->kept);
         e != after && e != APR_BRIGADE_SENTINEL(ahead->kept);
         e = APR_BUCKET_NEXT(e)) {
        rv = apr_bucket_copy(e, &copy);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        APR_BRIGADE_INSERT_TAIL(bb, copy);
    }
    return APR_SUCCESS;
}

/* Blank lines between requests. */
static void eat_newlines(up_ahead_t *ahead)
{
    while (!APR_BRIGADE_EMPTY(ahead->kept)) {
        apr_bucket *e = APR_BRIGADE_FIRST(ahead->kept);
        const char *data;
        apr_size_t len;
        apr_size_t n = 0;

        if (apr_bucket_read(e, &data, &len, APR_NONBLOCK_READ)) {
            return;
        }
        while (n < len && (data[n] == '\r' || data[n] == '\n')) {
            n++;
        }
        if (n < len) {
            if (n && apr_bucket_split(e, n) == APR_SUCCESS) {
                apr_bucket_delete(e);
            }
            return;
        }
        apr_bucket_delete(e);
    }
}

static apr_status_t ahead_in(ap_filter_t *f, apr_bucket_brigade *bb,
                             ap_input_mode_t mode, apr_read_type_e block,
                             apr_off_t readbytes)
{
    up_ahead_t *ahead = f->ctx;

    if (mode == AP_MODE_EATCRLF && !APR_BRIGADE_EMPTY(ahead->kept)) {
        eat_newlines(ahead);
        taken(ahead);
    }
    drop_empty(ahead->kept);
    if (APR_BRIGADE_EMPTY(ahead->kept) || mode == AP_MODE_INIT) {
        return ap_get_brigade(f->next, bb, mode, block, readbytes);
    }
    switch (mode) {
    case AP_MODE_SPECULATIVE:
        return show_bytes(ahead, bb, readbytes);
    case AP_MODE_GETLINE:
        taken(ahead);
        return take_line(ahead, bb, readbytes);
    case AP_MODE_READBYTES:
        taken(ahead);
        return take_bytes(ahead, bb, readbytes);
    case AP_MODE_EXHAUSTIVE:
        taken(ahead);
        APR_BRIGADE_CONCAT(bb, ahead->kept);
        return APR_SUCCESS;
    default:
        return APR_SUCCESS; /* EATCRLF: something else comes next */
    }
}

void up_ahead_register(void)
{
    /* Above the connection filters of others, mod_ssl's among them. */
    ahead_filter = ap_register_input_filter("UPSTREAM_AHEAD", ahead_in, NULL,
                                            AP_FTYPE_CONNECTION);
}

up_ahead_t *up_ahead_make(conn_rec *c)
{
    up_ahead_t *ahead = apr_pcalloc(c->pool, sizeof(*ahead));

    ahead->c = c;
    ahead->kept = apr_brigade_create(c->pool, c->bucket_alloc);
    ahead->fresh = apr_brigade_create(c->pool, c->bucket_alloc);
    ahead->filter = ap_add_input_filter_handle(ahead_filter, ahead, NULL, c);
    return ahead;
}

/* What was read joins what is kept, set aside: mod_ssl's bytes lie in a buffer
 * that it uses again for the next read. */
static apr_status_t keep_fresh(up_ahead_t *ahead)
{
    return ap_save_brigade(ahead->filter, &ahead->kept, &ahead->fresh,
                           ahead->c->pool);
}

/*
 * mod_reqtimeout measures a request's time from httpd's first read of it. It
 * would take ours for a part of the request before, and the pause between the
 * two for a body that does not come: it is not to see them. Returns the filter
 * in front of its, NULL: it is not there.
 */
static ap_filter_t *before_reqtimeout(const up_ahead_t *ahead)
{
    ap_filter_t *f;

    for (f = ahead->filter; f && f->next; f = f->next) {
        if (strcasecmp(f->next->frec->name, "reqtimeout") == 0) {
            return f;
        }
    }
    return NULL;
}

static apr_status_t read_unseen(up_ahead_t *ahead)
{
    ap_filter_t *before = before_reqtimeout(ahead);
    ap_filter_t *hidden = before ? before->next : NULL;
    apr_status_t rv;

    if (hidden) {
        before->next = hidden->next;
    }
    rv = ap_get_brigade(ahead->filter->next, ahead->fresh, AP_MODE_READBYTES,
                        APR_NONBLOCK_READ, READ_BYTES);
    if (hidden) {
        before->next = hidden;
    }
    return rv;
}

/* One read. The core says an end of stream only when it is asked again after
 * an empty brigade. */
static apr_status_t read_more(up_ahead_t *ahead)
{
    apr_status_t rv = APR_SUCCESS;
    int i;

    for (i = 0; i < 2 && rv == APR_SUCCESS
                && APR_BRIGADE_EMPTY(ahead->fresh); i++) {
        rv = read_unseen(ahead);
        drop_empty(ahead->fresh);
    }
    return rv == APR_SUCCESS && APR_BRIGADE_EMPTY(ahead->fresh) ? APR_EAGAIN
                                                                : rv;
}

apr_status_t up_ahead_read(up_ahead_t *ahead)
{
    apr_status_t rv = APR_SUCCESS;
    apr_status_t saved;

    if (ahead->bytes == 0) {
        rv = look(ahead, ahead->kept);
    }
    while (rv == APR_SUCCESS && !ahead->whole && ahead->bytes < MOST_BYTES) {
        rv = read_more(ahead);
        if (rv == APR_SUCCESS) {
            rv = look(ahead, ahead->fresh);
        }
        saved = keep_fresh(ahead);
        if (saved != APR_SUCCESS) {
            rv = saved;
        }
    }
    if (APR_STATUS_IS_EOF(rv) && ahead->begun) {
        return APR_SUCCESS; /* a head without an end */
    }
    return APR_STATUS_IS_EAGAIN(rv) ? APR_EAGAIN : rv;
}

int up_ahead_holds(up_ahead_t *ahead, apr_off_t bytes)
{
    apr_off_t held = 0;

    apr_brigade_length(ahead->kept, 0, &held);
    while (held < bytes && held < MOST_BYTES
           && read_more(ahead) == APR_SUCCESS
           && keep_fresh(ahead) == APR_SUCCESS) {
        taken(ahead); /* what was not looked at has come to it */
        apr_brigade_length(ahead->kept, 0, &held);
    }
    return held >= bytes;
}

int up_ahead_whole(const up_ahead_t *ahead)
{
    return ahead->whole;
}

apr_off_t up_ahead_bytes(const up_ahead_t *ahead)
{
    return ahead->bytes;
}

int up_ahead_started(const up_ahead_t *ahead)
{
    return ahead->begun;
}
