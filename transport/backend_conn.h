/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * One socket to one backend. Never blocks.
 *
 * Lives in its own pool, made by backend_pool; nothing of a request is kept
 * in it. Used by one thread at a time. Every function that would have to
 * wait returns APR_EAGAIN and says in conn->want what to poll for.
 */

#ifndef UP_BACKEND_CONN_H
#define UP_BACKEND_CONN_H

#include <sys/uio.h>

#include "apr_file_io.h"
#include "apr_network_io.h"
#include "apr_poll.h"
#include "mod_upstream_proxy.h"

/**
 * What somebody keeps for a connection's socket as long as it is open: an
 * event loop its registration. put_out is called just before it closes.
 */
typedef struct up_beacon_t up_beacon_t;

/**
 * What stands between the bytes of HTTP and those of the socket: TLS. The
 * functions are as up_conn's of the same name.
 */
typedef struct up_layer_t {
    apr_status_t (*send)(up_conn_t *conn, const struct iovec *vec, int nvec,
                         apr_size_t *psent);
    apr_status_t (*recv)(up_conn_t *conn, char *buf, apr_size_t *plen);
    void (*shut)(up_conn_t *conn);
    int (*alive)(const up_conn_t *conn);
    int (*pending)(const up_conn_t *conn);
    int (*truncated)(const up_conn_t *conn);
    apr_int16_t (*events)(const up_conn_t *conn, apr_int16_t wanted);
    /** Frees it. @param polite the peer may be told (a system call) */
    void (*end)(up_conn_t *conn, int polite);
} up_layer_t;

struct up_conn_t {
    const up_layer_t *layer; /* NULL: none, what is sent is what is written */
    struct up_tls_t *tls;    /* the layer's own */
    char why[256];           /* of the last failure in words, "": its status
                                says all */
    up_beacon_t *beacon; /* NULL: none */
    void (*put_out)(up_beacon_t *beacon);
    apr_pool_t *pool;    /* its own, given by the maker */
    apr_socket_t *sock;  /* NULL: not open. For polling; fd is what is used */
    int fd;              /* of sock, -1: not open */
    apr_socket_t *made;  /* what sock is when open: made once an object */
    apr_int16_t want;    /* APR_POLLIN or APR_POLLOUT after APR_EAGAIN */
    apr_time_t born;     /* connected since */
    apr_time_t idle_since;
    apr_time_t idle_until; /* not to be used from then on, 0: no limit */
    unsigned int requests; /* sent over it so far, the present one too:
                              counted by who sends them */
    int reused;            /* came from the pool */
    struct up_slot_t *slot; /* backend_pool's record of it */
    apr_interval_time_t idle_hint; /* backend's Keep-Alive: timeout, less 1 s;
                                      0: none said */
};

/** How to connect. All of it is part of what makes a connection different. */
typedef struct up_dial_t {
    apr_sockaddr_t *addr;
    const char *bind; /* local address[:port], NULL or "": any */
    int bind_transparent;
    int keepalive;    /* SO_KEEPALIVE */
    apr_size_t rcvbuf; /* 0: the system's */
    apr_size_t sndbuf;
} up_dial_t;

/** A connection object without a socket, in pool p (which it owns). */
up_conn_t *up_conn_make(apr_pool_t *p);

/**
 * Opens the socket and starts connecting; sets TCP_NODELAY. A local address
 * that cannot be read is logged and left out, as nginx does; the local
 * address of a unix socket is left out silently. A socket option that cannot
 * be set is left unset.
 * @return APR_SUCCESS connected; APR_EAGAIN under way (want APR_POLLOUT,
 *         then up_conn_connected); else the failure. With *plocal = 1 it is
 *         one of socket() or bind() here: answer 500, no other try
 */
apr_status_t up_conn_connect(up_conn_t *conn, const up_dial_t *dial,
                             int *plocal);

/** The end of a connect that was under way: as up_conn_connect. */
apr_status_t up_conn_connected(up_conn_t *conn);

/**
 * Which poll events stand for `wanted` on the socket: TLS may have to read
 * before it can write, and the other way round.
 */
apr_int16_t up_conn_events(const up_conn_t *conn, apr_int16_t wanted);

/** Are there bytes that up_conn_recv gives without the socket being
 * readable? */
int up_conn_pending(const up_conn_t *conn);

/** After APR_EOF: did the stream end without having been closed as its
 * protocol wants it? Whoever can cut a connection can do that. */
int up_conn_truncated(const up_conn_t *conn);

/**
 * writev: APR_SUCCESS with *psent > 0 (unless there was nothing to send),
 * APR_EAGAIN, or the failure. After APR_EAGAIN the next bytes must be the same
 * ones, more may follow them.
 */
apr_status_t up_conn_send(up_conn_t *conn, const struct iovec *vec, int nvec,
                          apr_size_t *psent);

/**
 * The same from a file, without copying. APR_EOF: the file ends before
 * `offset`. The file's own position does not count and is not moved.
 * @param len at most this many bytes
 */
apr_status_t up_conn_sendfile(up_conn_t *conn, apr_file_t *file,
                              apr_off_t offset, apr_size_t len,
                              apr_size_t *psent);

/**
 * recv: APR_SUCCESS with 0 < *plen <= its value before, APR_EAGAIN, APR_EOF
 * (orderly close), or the failure.
 */
apr_status_t up_conn_recv(up_conn_t *conn, char *buf, apr_size_t *plen);

/**
 * No more will be sent; the backend sees the end and may go on sending.
 * Everything has been sent before.
 */
void up_conn_shut(up_conn_t *conn);

/**
 * May an idle connection be used? No when there is anything to read: data
 * that nobody asked for, or the end. What TLS alone is about, as a session
 * ticket, is taken in. One non-blocking look.
 */
int up_conn_alive(const up_conn_t *conn);

/** Closes the socket, if open. The object can connect again. */
void up_conn_close(up_conn_t *conn);

/**
 * The same without the system call, for who holds a lock.
 * @return what the caller has to close(), -1: was not open
 */
int up_conn_disown(up_conn_t *conn);

#endif
