/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The bytes of a request on their way to a backend: the head's bucket, then
 * the client's body, uncopied.
 *
 * Buffered: the whole body is read before a backend is chosen, into memory
 * up to UpstreamRequestBufferSize, beyond it into an unlinked file; it can be
 * sent again from the start. Streamed: read as the backend takes it, sent
 * once.
 *
 * In the request's pool, one thread. Framing is always our own.
 */

#ifndef UP_REQUEST_BODY_H
#define UP_REQUEST_BODY_H

#include "apr_buckets.h"
#include "config/settings.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"
#include "transport/backend_conn.h"
#include "transport/client.h"
#include "transport/spool.h"

struct up_reqbody_t {
    request_rec *r;
    const up_settings_t *settings;
    up_client_t *client;
    apr_bucket_brigade *bytes; /* head and body; sent ones stay in front of
                                  `at` while they may be needed again */
    apr_bucket_brigade *fresh; /* just read; empty between calls */
    const char *replacement; /* UpstreamSetBody's text, NULL: none */
    apr_bucket *at;       /* first bucket not wholly sent, or the sentinel */
    apr_size_t at_sent;   /* bytes of it that are */
    up_spool_t *spool;    /* of a body that is too big for memory */
    apr_off_t in_memory;
    apr_off_t length;     /* of the body to send; -1: not known yet */
    int announced;        /* the client announced a body */
    int whole;            /* all of it has been read from the client */
    int dropped;          /* read, but not to be sent */
    int streamed;         /* sent while it is read */
    int chunked;          /* framed in chunks towards the backend */
    int consumed;         /* sent bytes have been thrown away: no replay */
    int moving;           /* any byte has been sent in this try */
    unsigned int reads;   /* that brought something */
    int status;           /* of a failed read: 400, 408, 413, 500 */
};

up_reqbody_t *up_reqbody_make(request_rec *r, const up_settings_t *settings,
                              up_client_t *client);

/** Could it be given to another location as it came? Also when there is
 * none, or none is to be sent. */
int up_reqbody_keeps(const up_reqbody_t *body);

/** Takes over the body that an earlier location had, whose exchange is over;
 * up_reqbody_keeps. Before gather. */
void up_reqbody_inherit(up_reqbody_t *body, up_reqbody_t *from);

/**
 * Reads what must be there before a backend is chosen: all of a buffered
 * body, what has arrived already of a streamed one.
 * @return APR_SUCCESS go on; APR_EAGAIN wait for the client; else failed,
 *         body->status says how
 */
apr_status_t up_reqbody_gather(up_reqbody_t *body);

/**
 * Decides the framing from what gather found: sets length and chunked.
 * Before the head is built.
 * @return APR_SUCCESS; APR_EGENERAL when UpstreamSetBody's expression failed
 */
apr_status_t up_reqbody_frame(up_reqbody_t *body);

/** Puts the head in front of the framed body; once a request. */
void up_reqbody_begin(up_reqbody_t *body, apr_bucket *head);

/** Another head in its place, before a byte of the try is sent. */
void up_reqbody_exchange_head(up_reqbody_t *body, apr_bucket *head);

/** Back to the first byte, for a try on another connection. */
void up_reqbody_rewind(up_reqbody_t *body);

/** Can it be sent (again) from its first byte? */
int up_reqbody_replayable(const up_reqbody_t *body);

/** Has all of it been sent? */
int up_reqbody_sent(const up_reqbody_t *body);

/** All has been sent and nothing will be again: frees it. */
void up_reqbody_forget(up_reqbody_t *body);

/** Is it the client that the sending waits for? */
int up_reqbody_starved(const up_reqbody_t *body);

/**
 * Sends what the socket takes; a streamed body is read on as it goes.
 * @param psent bytes sent by this call, added up
 * @return APR_SUCCESS all is sent; APR_EAGAIN wait, for the client when
 *         up_reqbody_starved, else as conn->want says; when body->status is
 *         set the client failed, else the connection did
 */
apr_status_t up_reqbody_send(up_reqbody_t *body, up_conn_t *conn,
                             apr_off_t *psent);

#endif
