/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * A backend's socket. The system calls are made directly: APR's socket calls
 * would look at timeouts and switch modes around each of them, and a socket
 * of theirs stays in its pool, while a connection object connects many times.
 */

#include "transport/backend_conn.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apr_portable.h"
#include "config/address.h"
#include "config/clock.h"
#include "config/log.h"
#include "http_main.h"

#define COPY_SIZE 16384

static apr_status_t close_with_pool(void *data)
{
    up_conn_close(data);
    return APR_SUCCESS;
}

up_conn_t *up_conn_make(apr_pool_t *p)
{
    up_conn_t *conn = apr_pcalloc(p, sizeof(*conn));

    conn->pool = p;
    conn->fd = -1;
    apr_pool_cleanup_register(p, conn, close_with_pool,
                              apr_pool_cleanup_null);
    return conn;
}

static void set_option(int fd, int level, int name, apr_size_t value)
{
    int number = value > INT_MAX ? INT_MAX : (int)value;

    /* nothing is lost but what the option would have improved */
    (void)setsockopt(fd, level, name, &number, sizeof(number));
}

static void set_options(int fd, const up_dial_t *dial)
{
    if (dial->keepalive) {
        set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
    if (dial->rcvbuf) {
        set_option(fd, SOL_SOCKET, SO_RCVBUF, dial->rcvbuf);
    }
    if (dial->sndbuf) {
        set_option(fd, SOL_SOCKET, SO_SNDBUF, dial->sndbuf);
    }
    if (dial->addr->family != AF_UNIX) {
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }
}

static apr_status_t set_transparent(int fd, int family)
{
    int on = 1;
    int rc;

    if (family == AF_INET6) {
        rc = setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &on, sizeof(on));
    }
    else {
        rc = setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on));
    }
    return rc ? errno : APR_SUCCESS;
}

static apr_status_t bind_local(int fd, const up_dial_t *dial)
{
    apr_status_t rv = APR_SUCCESS;
    up_local_t local;

    if (!dial->bind || !*dial->bind || dial->addr->family == AF_UNIX) {
        return APR_SUCCESS;
    }
    if (!up_address_local(dial->bind, &local)) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, ap_server_conf, UPLOGNO(0200)
                     "invalid local address \"%s\" is not bound to",
                     dial->bind);
        return APR_SUCCESS;
    }
    if (dial->bind_transparent) {
        rv = set_transparent(fd, dial->addr->family);
    }
    /* the port is at the same place in both families' addresses */
    if (local.sa.in.sin_port == 0) {
        set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    }
    if (rv == APR_SUCCESS && bind(fd, &local.sa.any, local.len) != 0) {
        rv = errno;
    }
    return rv;
}

/** A socket, not connected. */
static apr_status_t open_socket(up_conn_t *conn, const up_dial_t *dial)
{
    apr_status_t rv;
    int fd;

    fd = socket(dial->addr->family,
                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    rv = bind_local(fd, dial);
    if (rv != APR_SUCCESS) {
        close(fd);
        return rv;
    }
    set_options(fd, dial);
    apr_os_sock_put(&conn->made, &fd, conn->pool);
    conn->sock = conn->made;
    conn->fd = fd;
    return APR_SUCCESS;
}

static apr_status_t connected(up_conn_t *conn)
{
    conn->born = up_clock_now();
    return APR_SUCCESS;
}

static apr_status_t refuse(up_conn_t *conn, int err)
{
    up_conn_close(conn);
    /* a unix socket whose backlog is full says EAGAIN, and so does a TCP one
     * that finds no free port: neither gets better by waiting for it */
    return APR_STATUS_IS_EAGAIN(err) ? APR_ECONNREFUSED : err;
}

apr_status_t up_conn_connect(up_conn_t *conn, const up_dial_t *dial,
                             int *plocal)
{
    const apr_sockaddr_t *addr = dial->addr;
    apr_status_t rv;
    int rc;

    *plocal = 0;
    conn->why[0] = '\0';
    rv = open_socket(conn, dial);
    if (rv != APR_SUCCESS) {
        *plocal = 1;
        return rv;
    }
    do {
        rc = connect(conn->fd, (const struct sockaddr *)&addr->sa,
                     addr->salen);
    } while (rc != 0 && errno == EINTR);
    if (rc == 0 || errno == EISCONN) {
        return connected(conn);
    }
    if (errno == EINPROGRESS || errno == EALREADY) {
        conn->want = APR_POLLOUT;
        return APR_EAGAIN;
    }
    return refuse(conn, errno);
}

apr_status_t up_conn_connected(up_conn_t *conn)
{
    struct pollfd pfd = { .fd = conn->fd, .events = POLLOUT };
    socklen_t len = sizeof(int);
    int err = 0;

    /* SO_ERROR is 0 while the handshake goes on: whoever was woken for
     * nothing must not take that for success */
    if (poll(&pfd, 1, 0) <= 0) {
        conn->want = APR_POLLOUT;
        return APR_EAGAIN;
    }
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0) {
        err = errno;
    }
    return err ? refuse(conn, err) : connected(conn);
}

/** Of a call that returned -1. */
static apr_status_t failure(up_conn_t *conn, apr_int16_t want)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        conn->want = want;
        return APR_EAGAIN;
    }
    return errno;
}

apr_status_t up_conn_send(up_conn_t *conn, const struct iovec *vec, int nvec,
                          apr_size_t *psent)
{
    struct msghdr msg = { .msg_iov = (struct iovec *)vec };
    ssize_t n;

    if (conn->layer) {
        return conn->layer->send(conn, vec, nvec, psent);
    }
    msg.msg_iovlen = (size_t)(nvec > IOV_MAX ? IOV_MAX : nvec);
    *psent = 0;
    do {
        n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return failure(conn, APR_POLLOUT);
    }
    *psent = (apr_size_t)n;
    return APR_SUCCESS;
}

/** For the file systems that sendfile cannot read from. */
static apr_status_t send_copied(up_conn_t *conn, int file, off_t offset,
                                apr_size_t len, apr_size_t *psent)
{
    char buf[COPY_SIZE];
    struct iovec vec = { .iov_base = buf };
    ssize_t n;

    do {
        n = pread(file, buf, len < sizeof(buf) ? len : sizeof(buf), offset);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return n < 0 ? errno : APR_EOF;
    }
    vec.iov_len = (size_t)n;
    return up_conn_send(conn, &vec, 1, psent);
}

apr_status_t up_conn_sendfile(up_conn_t *conn, apr_file_t *file,
                              apr_off_t offset, apr_size_t len,
                              apr_size_t *psent)
{
    off_t from = offset;
    ssize_t n;
    int fd;

    *psent = 0;
    apr_os_file_get(&fd, file);
    if (conn->layer) {
        return send_copied(conn, fd, offset, len, psent);
    }
    do {
        n = sendfile(conn->fd, fd, &from, len);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EINVAL || errno == ENOSYS)) {
        return send_copied(conn, fd, offset, len, psent);
    }
    if (n < 0) {
        return failure(conn, APR_POLLOUT);
    }
    *psent = (apr_size_t)n;
    return n == 0 && len > 0 ? APR_EOF : APR_SUCCESS;
}

apr_status_t up_conn_recv(up_conn_t *conn, char *buf, apr_size_t *plen)
{
    apr_size_t room = *plen;
    ssize_t n;

    if (conn->layer) {
        return conn->layer->recv(conn, buf, plen);
    }
    *plen = 0;
    do {
        n = recv(conn->fd, buf, room, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return failure(conn, APR_POLLIN);
    }
    *plen = (apr_size_t)n;
    return n == 0 ? APR_EOF : APR_SUCCESS;
}

void up_conn_shut(up_conn_t *conn)
{
    if (conn->layer) {
        conn->layer->shut(conn);
        return;
    }
    shutdown(conn->fd, SHUT_WR); /* whoever cannot be told knows already */
}

int up_conn_alive(const up_conn_t *conn)
{
    ssize_t n;
    char c;

    if (conn->layer) {
        return conn->layer->alive(conn);
    }
    do {
        n = recv(conn->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

apr_int16_t up_conn_events(const up_conn_t *conn, apr_int16_t wanted)
{
    return conn->layer ? conn->layer->events(conn, wanted) : wanted;
}

int up_conn_pending(const up_conn_t *conn)
{
    return conn->layer && conn->layer->pending(conn);
}

int up_conn_truncated(const up_conn_t *conn)
{
    return conn->layer && conn->layer->truncated(conn);
}

void up_conn_close(up_conn_t *conn)
{
    int fd;

    if (conn->layer) {
        conn->layer->end(conn, 1);
    }
    fd = up_conn_disown(conn);

    if (fd >= 0) {
        close(fd);
    }
}

int up_conn_disown(up_conn_t *conn)
{
    int fd = conn->fd;

    if (conn->layer) {
        conn->layer->end(conn, 0);
    }
    if (conn->beacon) {
        conn->put_out(conn->beacon);
        conn->beacon = NULL;
    }
    conn->sock = NULL;
    conn->fd = -1;
    return fd;
}
