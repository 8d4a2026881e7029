/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The downstream side: reading the client's body, passing brigades to it and
 * noticing that it has left, none of which may block.
 *
 * httpd's core output filter blocks on a FLUSH bucket and on more than
 * FlushMaxThreshold bytes of memory. So a connection filter of ours sits just
 * above it: while an exchange is under way it swallows FLUSH, keeps what the
 * core could not write, and hands on only as much as the core takes without
 * blocking. Filters in between (DEFLATE, SSL) still see every FLUSH. Between
 * exchanges it is transparent, and what it keeps goes in front of the next
 * brigade, so the MPM's write completion finishes it.
 *
 * A connection without a socket of its own (HTTP/2 streams) has no such
 * filter: there every call may block, which only drive_sync permits.
 *
 * A client object lives in the request's pool; the filter and its state live
 * as long as the connection. One thread at a time.
 */

#ifndef UP_CLIENT_H
#define UP_CLIENT_H

#include "apr_buckets.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"

typedef struct up_clientnet_t up_clientnet_t; /* client.c: the filter's */

struct up_client_t {
    request_rec *r;
    up_clientnet_t *net; /* NULL: no socket, calls may block */
    int fd;              /* for polling, -1: none */
    int half_closed;     /* has finished sending, still listening: its end of
                            stream says nothing more */
    int pass_through;    /* -1: not looked at yet */
    int header_out;      /* something of the response was passed */
    int was_held;        /* how the filter was found */
    int raw;             /* up_client_switch_input */
    int skip_eos;        /* the next one stands for the end of a request
                            without a body; not for that of the stream */
};

/** register_hooks: makes the filter known. */
void up_client_register(void);

/**
 * pre_connection: puts the filter into place, transparent. Later would be too
 * late: a request's filters that stand in front of the connection's never
 * learn of a new first one.
 */
void up_client_attach(conn_rec *c);

/** The connection's filter; NULL where there is none (HTTP/2 streams). */
up_clientnet_t *up_clientnet_of(conn_rec *c);

/**
 * Takes hold of the output (1: no call blocks any more, up_clientnet_write
 * does the writing) or lets go (0).
 */
void up_clientnet_hold(up_clientnet_t *net, int hold);

/** As up_client_write, for the connection. */
apr_status_t up_clientnet_write(up_clientnet_t *net);

/** A place for what a driver keeps for the connection. */
void **up_clientnet_driver(up_clientnet_t *net);

/** Begins an exchange on r's connection. */
up_client_t *up_client_open(request_rec *r);

/** Ends it: the filter becomes again what it was. */
void up_client_close(up_client_t *client);

/**
 * Passes `bb` to the request's output filters and empties it.
 * @return APR_SUCCESS, also when bytes are still kept; else the client is
 *         gone or a filter failed
 */
apr_status_t up_client_pass(up_client_t *client, apr_bucket_brigade *bb);

/**
 * Ends a response that was cut short, so that the client can see it: no last
 * chunk, and the connection ends (RFC 9112 8); nothing may cache it. The head
 * goes out first if it has not, or httpd would send an error page instead.
 * @param bb an empty brigade to use
 * @return as up_client_pass
 */
apr_status_t up_client_cut(up_client_t *client, apr_bucket_brigade *bb);

/**
 * Writes what is kept, as far as the socket takes it.
 * @return APR_SUCCESS nothing is kept any more; APR_EAGAIN wait for
 *         APR_POLLOUT; else the client is gone
 */
apr_status_t up_client_write(up_client_t *client);

/** Are only HTTP's own filters between us and the core, which sends a file
 * without anybody having to read it? */
int up_client_pass_through(up_client_t *client);

/** Bytes passed but not yet taken by the kernel (an upper bound). */
apr_off_t up_client_pending(const up_client_t *client);

/**
 * Reads up to `max` bytes of the request body into bb. A client that waits
 * for 100 Continue gets it (RFC 9110 10.1.1).
 * @return APR_SUCCESS with at least one bucket (EOS ends the body);
 *         APR_EAGAIN wait for APR_POLLIN; else what the input filters said
 */
apr_status_t up_client_read(up_client_t *client, apr_bucket_brigade *bb,
                            apr_off_t max);

/**
 * Sends an interim response (1xx) at once.
 * @param line     as r->status_line, NULL: httpd's
 * @param fields   emptied; NULL: none
 * @return as up_client_write, but no APR_EAGAIN
 */
apr_status_t up_client_interim(up_client_t *client, int status,
                               const char *line, apr_table_t *fields);

/**
 * The client leaves HTTP (101 has been sent): what is passed from now on
 * reaches it as it is, no filter of the request's stands between. The
 * connection will not be used for another request. A stream gets a descriptor
 * to poll, if httpd has one: up_client_read does not block any more there.
 */
void up_client_switch(up_client_t *client);

/** The same for what it sends; when its request has been read. */
void up_client_switch_input(up_client_t *client);

/**
 * The connection will be quiet for long: memory that its allocator keeps for
 * the next buffer goes back to the system. `most`: blocks that may be there.
 */
void up_client_trim(up_client_t *client, int most);

/**
 * Everything has been passed, and no byte is pending: tells the client that
 * no more will come, while it may go on sending.
 * @return 1; 0: it cannot be told without closing (TLS, HTTP/2)
 */
int up_client_shut(up_client_t *client);

/**
 * The socket has signalled the end of the client's stream: has the client
 * left? A FIN alone does not tell a client that has closed from one that has
 * only finished sending. An HTTP/1.1 client that has got nothing yet is sent
 * `100 Continue`, which it must accept (RFC 9110 15.2), and which a closed one
 * answers with a reset. Over TLS and HTTP/1.0 the end means gone.
 * @param hangup the socket is reset or closed both ways
 */
int up_client_gone(up_client_t *client, int hangup);

#endif
