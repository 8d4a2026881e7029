/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Backend sockets, against real ones on the loopback interface.
 */

#include "apr_strings.h"
#include "config/clock.h"
#include "t/unit/up_transport.h"
#include "transport/backend_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static apr_status_t dial(up_conn_t *conn, apr_sockaddr_t *addr,
                         const char *bind_to, int *plocal)
{
    up_dial_t how = { .addr = addr, .bind = bind_to };

    return up_conn_connect(conn, &how, plocal);
}

static int can_write(up_conn_t *conn)
{
    fd_set set;
    struct timeval second = { .tv_sec = 1 };

    FD_ZERO(&set);
    FD_SET(conn->fd, &set);
    return select(conn->fd + 1, NULL, &set, NULL, &second) == 1;
}

/* Connects to the end, waiting where a driver would. */
static apr_status_t dial_through(up_conn_t *conn, apr_sockaddr_t *addr,
                                 const char *bind_to)
{
    int local;
    apr_status_t rv = dial(conn, addr, bind_to, &local);

    if (rv == APR_EAGAIN) {
        ck_assert_int_eq(conn->want, APR_POLLOUT);
        ck_assert(can_write(conn));
        rv = up_conn_connected(conn);
    }
    return rv;
}

static up_conn_t *make_conn(void)
{
    apr_pool_t *p;

    apr_pool_create(&p, unit_pool);
    return up_conn_make(p);
}

/* A connection and the other end of it. */
static up_conn_t *pair(int *pother)
{
    apr_sockaddr_t *addr = unit_address("127.0.0.1", 0);
    int listener = unit_listen(addr, 8);
    up_conn_t *conn = make_conn();

    ck_assert_int_eq(dial_through(conn, addr, NULL), APR_SUCCESS);
    *pother = unit_accept(listener);
    close(listener);
    return conn;
}

static int option(up_conn_t *conn, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    ck_assert_int_eq(getsockopt(conn->fd, level, name, &value, &len), 0);
    return value;
}

START_TEST(connects)
{
    apr_sockaddr_t *addr = unit_address("127.0.0.1", 0);
    int listener = unit_listen(addr, 8);
    up_conn_t *conn = make_conn();
    apr_time_t before = up_clock_now();

    ck_assert_int_eq(conn->fd, -1);
    ck_assert_ptr_null(conn->sock);
    ck_assert_int_eq(dial_through(conn, addr, NULL), APR_SUCCESS);
    unit_accept(listener);
    ck_assert_ptr_nonnull(conn->sock);
    ck_assert_int_ge(conn->born, before);
    ck_assert(fcntl(conn->fd, F_GETFL) & O_NONBLOCK);
    ck_assert(fcntl(conn->fd, F_GETFD) & FD_CLOEXEC);
    ck_assert_int_ne(option(conn, IPPROTO_TCP, TCP_NODELAY), 0);
    ck_assert_int_eq(option(conn, SOL_SOCKET, SO_KEEPALIVE), 0);
}
END_TEST

START_TEST(socket_options)
{
    apr_sockaddr_t *addr = unit_address("127.0.0.1", 0);
    up_dial_t how = { .addr = addr, .keepalive = 1, .rcvbuf = 20000,
                      .sndbuf = 30000 };
    int listener = unit_listen(addr, 8);
    up_conn_t *conn = make_conn();
    int local;

    up_conn_connect(conn, &how, &local);
    unit_accept(listener);
    ck_assert_int_ne(option(conn, SOL_SOCKET, SO_KEEPALIVE), 0);
    /* Linux doubles what is asked for */
    ck_assert_int_eq(option(conn, SOL_SOCKET, SO_RCVBUF), 40000);
    ck_assert_int_eq(option(conn, SOL_SOCKET, SO_SNDBUF), 60000);
}
END_TEST

START_TEST(refused)
{
    apr_sockaddr_t *addr = unit_address("127.0.0.1", 0);
    up_conn_t *conn = make_conn();
    int local = -1;
    apr_status_t rv;

    close(unit_listen(addr, 8));
    rv = dial(conn, addr, NULL, &local);
    if (rv == APR_EAGAIN) {
        ck_assert(can_write(conn));
        rv = up_conn_connected(conn);
    }
    ck_assert_int_eq(rv, APR_ECONNREFUSED);
    ck_assert_int_eq(local, 0);
    ck_assert_int_eq(conn->fd, -1);
}
END_TEST

/* A listener that accepts nobody and whose queue is full drops SYNs. */
START_TEST(woken_too_early)
{
    apr_sockaddr_t *addr = unit_address("127.0.0.1", 0);
    up_conn_t *conn = NULL;
    int local;
    int i;

    unit_listen(addr, 0);
    for (i = 0; i < 20; i++) {
        conn = make_conn();
        ck_assert_int_eq(dial(conn, addr, NULL, &local), APR_EAGAIN);
    }
    usleep(20000);
    conn->want = 0;
    ck_assert_int_eq(up_conn_connected(conn), APR_EAGAIN);
    ck_assert_int_eq(conn->want, APR_POLLOUT);
    ck_assert_int_ge(conn->fd, 0);
}
END_TEST

static const char *socket_path(void)
{
    return apr_psprintf(unit_pool, "/tmp/up-unit-%d.sock", (int)getpid());
}

START_TEST(unix_socket)
{
    apr_sockaddr_t *addr = unit_unix_address(socket_path());
    int listener = unit_listen(addr, 8);
    up_conn_t *conn = make_conn();
    int local;

    /* a local address means nothing there */
    ck_assert_int_eq(dial(conn, addr, "127.0.0.1", &local), APR_SUCCESS);
    unit_accept(listener);
    unlink(socket_path());
    ck_assert_int_eq(dial(make_conn(), addr, NULL, &local), APR_ENOENT);
    ck_assert_int_eq(local, 0);
}
END_TEST

START_TEST(unix_socket_with_full_backlog)
{
    apr_sockaddr_t *addr = unit_unix_address(socket_path());
    apr_status_t rv = APR_SUCCESS;
    int listener = unit_listen(addr, 1);
    up_conn_t *conn = NULL;
    int local;
    int i;

    for (i = 0; rv == APR_SUCCESS && i < 20; i++) {
        conn = make_conn();
        rv = dial(conn, addr, NULL, &local);
    }
    unlink(socket_path());
    close(listener);
    /* not EAGAIN: nothing would ever wake the waiter */
    ck_assert_int_eq(rv, APR_ECONNREFUSED);
    ck_assert_int_eq(local, 0);
    ck_assert_int_eq(conn->fd, -1);
}
END_TEST

/* Where the listener sees a connection come from. */
static const char *seen_from(int family, const char *bind_to, int *pport)
{
    const char *ip = family == AF_INET6 ? "::1" : "127.0.0.1";
    apr_sockaddr_t *addr = unit_address(ip, 0);
    apr_sockaddr_t *from = unit_address(ip, 1);
    socklen_t len = from->salen;
    int listener = unit_listen(addr, 8);
    char *text;
    int other;

    ck_assert_int_eq(dial_through(make_conn(), addr, bind_to), APR_SUCCESS);
    other = unit_accept(listener);
    ck_assert_int_eq(getpeername(other, (struct sockaddr *)&from->sa, &len),
                     0);
    *pport = ntohs(from->sa.sin.sin_port);
    close(other);
    close(listener);
    ck_assert_int_eq(apr_sockaddr_ip_get(&text, from), APR_SUCCESS);
    return text;
}

START_TEST(binds)
{
    static const struct {
        int family;
        const char *bind;
        const char *from;
    } rows[] = {
        { AF_INET, "127.0.0.2", "127.0.0.2" },
        { AF_INET, "", "127.0.0.1" },
        { AF_INET6, "::1", "::1" },
        { AF_INET6, "[::1]", "::1" },
    };
    int port;
    int i;

    for (i = 0; i < COUNT(rows); i++) {
        ck_assert_str_eq(seen_from(rows[i].family, rows[i].bind, &port),
                         rows[i].from);
        ck_assert_str_eq(unit_logged(), "");
    }
}
END_TEST

START_TEST(binds_to_a_port)
{
    apr_sockaddr_t *free_port = unit_address("127.0.0.2", 0);
    const char *bind_to;
    int port;

    close(unit_listen(free_port, 1));
    bind_to = apr_psprintf(unit_pool, "127.0.0.2:%d", (int)free_port->port);
    ck_assert_str_eq(seen_from(AF_INET, bind_to, &port), "127.0.0.2");
    ck_assert_int_eq(port, (int)free_port->port);
}
END_TEST

START_TEST(binds_to_nonsense)
{
    static const char *const rows[] = {
        "nonsense", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
        "127.0.0.1:1x", "127.0.0.1:-1", "127.0.0.1: 1", "[::1", "[::1]x",
        "[::1]:", "[::1]:0", "127.0.0.1:0", "[127.0.0.1]:1", ":80", "[]:80",
        "1.2.3", "127.0.0.1 ",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:1",
    };
    int port;
    int i;

    for (i = 0; i < COUNT(rows); i++) {
        ck_assert_str_eq(seen_from(AF_INET, rows[i], &port), "127.0.0.1");
        unit_contains(unit_logged(), rows[i]);
    }
}
END_TEST

START_TEST(cannot_bind)
{
    apr_sockaddr_t *addr = unit_address("127.0.0.1", 0);
    int before = unit_open_files();
    up_conn_t *conn = make_conn();
    int local = 0;

    /* nobody has an address of the documentation range */
    ck_assert_int_eq(dial(conn, addr, "192.0.2.1", &local), EADDRNOTAVAIL);
    ck_assert_int_eq(local, 1);
    ck_assert_int_eq(conn->fd, -1);
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

START_TEST(sends_and_receives)
{
    struct iovec vec[] = { { .iov_base = "one ", .iov_len = 4 },
                           { .iov_base = "two", .iov_len = 3 } };
    apr_size_t len;
    char buf[16];
    int other;
    up_conn_t *conn = pair(&other);

    ck_assert_int_eq(up_conn_send(conn, vec, 2, &len), APR_SUCCESS);
    ck_assert_uint_eq(len, 7);
    ck_assert_int_eq(read(other, buf, sizeof(buf)), 7);
    ck_assert_int_eq(memcmp(buf, "one two", 7), 0);

    len = sizeof(buf);
    ck_assert_int_eq(up_conn_recv(conn, buf, &len), APR_EAGAIN);
    ck_assert_int_eq(conn->want, APR_POLLIN);
    ck_assert(up_conn_alive(conn));

    ck_assert_int_eq(write(other, "answer", 6), 6);
    ck_assert(unit_readable(conn->fd, 1000));
    ck_assert(!up_conn_alive(conn));
    len = 4;
    ck_assert_int_eq(up_conn_recv(conn, buf, &len), APR_SUCCESS);
    ck_assert_uint_eq(len, 4);
    ck_assert_int_eq(memcmp(buf, "answ", 4), 0);
    len = sizeof(buf);
    ck_assert_int_eq(up_conn_recv(conn, buf, &len), APR_SUCCESS);
    ck_assert_uint_eq(len, 2);

    close(other);
    ck_assert(unit_readable(conn->fd, 1000));
    ck_assert(!up_conn_alive(conn));
    len = sizeof(buf);
    ck_assert_int_eq(up_conn_recv(conn, buf, &len), APR_EOF);
    ck_assert_uint_eq(len, 0);
}
END_TEST

static void reset(int fd)
{
    struct linger hard = { .l_onoff = 1 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
}

START_TEST(other_end_is_gone)
{
    struct iovec vec = { .iov_base = "x", .iov_len = 1 };
    apr_size_t len = 1;
    char buf[1];
    int other;
    up_conn_t *conn = pair(&other);

    signal(SIGPIPE, SIG_DFL);
    reset(other);
    ck_assert(unit_readable(conn->fd, 1000));
    ck_assert_int_eq(up_conn_recv(conn, buf, &len), APR_ECONNRESET);
    ck_assert(!up_conn_alive(conn));
    /* an error, not a signal */
    ck_assert_int_eq(up_conn_send(conn, &vec, 1, &len), EPIPE);
}
END_TEST

START_TEST(send_until_full)
{
    static char data[65536];
    struct iovec vec = { .iov_base = data, .iov_len = sizeof(data) };
    apr_status_t rv = APR_SUCCESS;
    apr_size_t len;
    int other;
    up_conn_t *conn = pair(&other);
    int i;

    for (i = 0; rv == APR_SUCCESS && i < 10000; i++) {
        rv = up_conn_send(conn, &vec, 1, &len);
    }
    ck_assert_int_eq(rv, APR_EAGAIN);
    ck_assert_int_eq(conn->want, APR_POLLOUT);
    ck_assert_uint_eq(len, 0);
}
END_TEST

START_TEST(more_vectors_than_the_system_takes)
{
    static struct iovec vec[3000];
    apr_size_t len;
    int other;
    up_conn_t *conn = pair(&other);
    int i;

    for (i = 0; i < COUNT(vec); i++) {
        vec[i].iov_base = "x";
        vec[i].iov_len = 1;
    }
    ck_assert_int_eq(up_conn_send(conn, vec, COUNT(vec), &len), APR_SUCCESS);
    ck_assert_uint_gt(len, 0);
}
END_TEST

static apr_file_t *file_of(const char *text)
{
    apr_file_t *file;
    char *name = apr_pstrdup(unit_pool, "/tmp/up-unit-XXXXXX");
    apr_size_t len = strlen(text);

    ck_assert_int_eq(apr_file_mktemp(&file, name, 0, unit_pool), APR_SUCCESS);
    ck_assert_int_eq(apr_file_write(file, text, &len), APR_SUCCESS);
    return file;
}

START_TEST(sends_files)
{
    apr_file_t *file = file_of("0123456789");
    apr_size_t len;
    char buf[16];
    int other;
    up_conn_t *conn = pair(&other);

    ck_assert_int_eq(up_conn_sendfile(conn, file, 3, 4, &len), APR_SUCCESS);
    ck_assert_uint_eq(len, 4);
    ck_assert_int_eq(read(other, buf, sizeof(buf)), 4);
    ck_assert_int_eq(memcmp(buf, "3456", 4), 0);

    ck_assert_int_eq(up_conn_sendfile(conn, file, 8, 100, &len), APR_SUCCESS);
    ck_assert_uint_eq(len, 2);
    ck_assert_int_eq(up_conn_sendfile(conn, file, 10, 1, &len), APR_EOF);
    ck_assert_uint_eq(len, 0);
}
END_TEST

START_TEST(sends_what_sendfile_cannot_read)
{
    apr_file_t *file;
    apr_size_t len = 0;
    char buf[16];
    int other;
    up_conn_t *conn = pair(&other);

    /* Linux's sendfile says EINVAL to this one */
    ck_assert_int_eq(apr_file_open(&file, "/proc/self/stat", APR_FOPEN_READ,
                                   0, unit_pool), APR_SUCCESS);
    ck_assert_int_eq(up_conn_sendfile(conn, file, 0, 5, &len), APR_SUCCESS);
    ck_assert_uint_eq(len, 5);
    ck_assert_int_eq(read(other, buf, sizeof(buf)), 5);
}
END_TEST

START_TEST(connects_again)
{
    apr_sockaddr_t *addr = unit_address("127.0.0.1", 0);
    int listener = unit_listen(addr, 8);
    up_conn_t *conn = make_conn();
    apr_socket_t *first = NULL;
    int before = unit_open_files();
    int i;

    for (i = 0; i < 100; i++) {
        ck_assert_int_eq(dial_through(conn, addr, NULL), APR_SUCCESS);
        first = first ? first : conn->sock;
        /* nothing is made anew in the pool */
        ck_assert_ptr_eq(conn->sock, first);
        close(unit_accept(listener));
        up_conn_close(conn);
        ck_assert_int_eq(conn->fd, -1);
        up_conn_close(conn);
    }
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

START_TEST(closes_with_its_pool)
{
    int before = unit_open_files();
    int other;
    up_conn_t *conn = pair(&other);

    apr_pool_destroy(conn->pool);
    ck_assert(unit_readable(other, 1000));
    close(other);
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

Suite *unit_conn(void)
{
    Suite *suite = suite_create("conn");
    TCase *tc = unit_case(suite, "connect");

    tcase_add_test(tc, connects);
    tcase_add_test(tc, socket_options);
    tcase_add_test(tc, refused);
    tcase_add_test(tc, woken_too_early);
    tcase_add_test(tc, unix_socket);
    tcase_add_test(tc, unix_socket_with_full_backlog);
    tcase_add_test(tc, binds);
    tcase_add_test(tc, binds_to_a_port);
    tcase_add_test(tc, binds_to_nonsense);
    tcase_add_test(tc, cannot_bind);

    tc = unit_case(suite, "io");
    tcase_add_test(tc, sends_and_receives);
    tcase_add_test(tc, other_end_is_gone);
    tcase_add_test(tc, send_until_full);
    tcase_add_test(tc, more_vectors_than_the_system_takes);
    tcase_add_test(tc, sends_files);
    tcase_add_test(tc, sends_what_sendfile_cannot_read);
    tcase_add_test(tc, connects_again);
    tcase_add_test(tc, closes_with_its_pool);
    return suite;
}
