/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The runner of the suites of peers/ and transport/, and what they share.
 */

#include "t/unit/up_transport.h"

#include "apr_strings.h"
#include "config/expressions.h"
#include "config/log.h"
#include "http_main.h"
#include "transport/backend_pool.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static apr_array_header_t *groups;
static char logged[1024];

/* --- stand-ins for httpd and config/ ------------------------------------- */

server_rec *ap_server_conf;
module upstream_proxy_module = { .module_index = 0 };

int (ap_get_server_module_loglevel)(const server_rec *s, int index)
{
    (void)s;
    (void)index;
    return APLOG_TRACE8;
}

#define LOG(of, what)                                                         \
    void of(const char *file, int line, int module_index, int level,          \
            apr_status_t status, what, const char *fmt, ...)                  \
    {                                                                         \
        va_list args;                                                         \
                                                                              \
        (void)file;                                                           \
        (void)line;                                                           \
        (void)module_index;                                                   \
        (void)level;                                                          \
        (void)status;                                                         \
        (void)subject;                                                        \
        va_start(args, fmt);                                                  \
        apr_vsnprintf(logged, sizeof(logged), fmt, args);                     \
        va_end(args);                                                         \
    }

LOG(ap_log_error_, const server_rec *subject)
LOG(ap_log_rerror_, const request_rec *subject)

apr_status_t ap_thread_create(apr_thread_t **thread, apr_threadattr_t *attr,
                              apr_thread_start_t func, void *data,
                              apr_pool_t *pool)
{
    return apr_thread_create(thread, attr, func, data, pool);
}

void up_group_each(void (*visit)(up_group_t *group, void *baton), void *baton)
{
    int i;

    for (i = 0; i < groups->nelts; i++) {
        visit(APR_ARRAY_IDX(groups, i, up_group_t *), baton);
    }
}

const char *up_text_raw(request_rec *r, const up_text_t *text)
{
    (void)r;
    return text->literal;
}

/* --- groups -------------------------------------------------------------- */

apr_sockaddr_t *unit_address(const char *ip, int port)
{
    apr_sockaddr_t *addr;

    ck_assert_int_eq(apr_sockaddr_info_get(&addr, ip, APR_UNSPEC,
                                           (apr_port_t)port, 0, unit_pool),
                     APR_SUCCESS);
    return addr;
}

apr_sockaddr_t *unit_unix_address(const char *path)
{
    apr_sockaddr_t *addr;

    ck_assert_int_eq(apr_sockaddr_info_get(&addr, path, APR_UNIX, 0, 0,
                                           unit_pool), APR_SUCCESS);
    return addr;
}

up_server_t *unit_add_server(up_group_t *group, apr_sockaddr_t *addrs)
{
    up_server_t *server = apr_array_push(group->servers);

    server->weight = 1;
    server->max_fails = 1;
    server->fail_timeout = apr_time_from_sec(10);
    server->addrs = addrs;
    return server;
}

up_group_t *unit_group(const unit_server_t *rows)
{
    up_group_t *group = apr_pcalloc(unit_pool, sizeof(*group));
    up_server_t *server;

    group->name = "unit";
    group->servers = apr_array_make(unit_pool, 4, sizeof(up_server_t));
    group->keepalive = 32;
    group->keepalive_requests = 1000;
    group->keepalive_time = apr_time_from_sec(3600);
    group->keepalive_timeout = apr_time_from_sec(60);
    for (; rows->port; rows++) {
        server = unit_add_server(group, unit_address("127.0.0.1",
                                                     rows->port));
        server->weight = rows->weight ? rows->weight : 1;
        server->max_conns = rows->max_conns;
        server->max_fails = rows->max_fails ? rows->max_fails : 1;
        if (rows->no_max_fails) {
            server->max_fails = 0;
        }
        server->backup = rows->backup;
        server->down = rows->down;
        server->drain = rows->drain;
        server->route = rows->route;
    }
    APR_ARRAY_PUSH(groups, up_group_t *) = group;
    return group;
}

/* --- sockets ------------------------------------------------------------- */

const char *unit_logged(void)
{
    return logged;
}

int unit_readable(int fd, int ms)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    return poll(&pfd, 1, ms) > 0;
}

int unit_listen(apr_sockaddr_t *addr, int backlog)
{
    struct sockaddr *sa = (struct sockaddr *)&addr->sa;
    socklen_t len = addr->salen;
    int fd = socket(addr->family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, sa, len), 0);
    ck_assert_int_eq(listen(fd, backlog), 0);
    if (addr->family != AF_UNIX) {
        ck_assert_int_eq(getsockname(fd, sa, &len), 0);
        addr->port = ntohs(addr->sa.sin.sin_port);
    }
    return fd;
}

apr_status_t unit_connect(up_conn_t *conn, apr_sockaddr_t *addr)
{
    up_dial_t dial = { .addr = addr };
    struct pollfd pfd = { .events = POLLOUT };
    apr_status_t rv;
    int local;

    rv = up_conn_connect(conn, &dial, &local);
    pfd.fd = conn->fd;
    if (rv == APR_EAGAIN && poll(&pfd, 1, 5000) == 1) {
        rv = up_conn_connected(conn);
    }
    return rv;
}

int unit_accept(int listener)
{
    int fd;

    ck_assert_msg(unit_readable(listener, 1000), "nobody connects");
    fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    return fd;
}

int unit_open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count - 3; /* ".", ".." and the directory itself */
}

up_group_t *unit_listening_group(int n, int *listeners)
{
    up_group_t *group = unit_group((unit_server_t[]){ { 0 } });
    apr_sockaddr_t *addr;
    int i;

    for (i = 0; i < n; i++) {
        addr = unit_address("127.0.0.1", 0);
        listeners[i] = unit_listen(addr, 512);
        unit_add_server(group, addr);
    }
    return group;
}

apr_pool_t *unit_child(void)
{
    apr_pool_t *p;

    apr_pool_create(&p, unit_pool);
    ck_assert_int_eq(up_peers_child_init(p), APR_SUCCESS);
    ck_assert_int_eq(up_pool_child_init(p, NULL), APR_SUCCESS);
    return p;
}

/* --- the runner ---------------------------------------------------------- */

static void prepare(void)
{
    groups = apr_array_make(unit_pool, 4, sizeof(up_group_t *));
    logged[0] = '\0';
}

int main(void)
{
    static Suite *(*const suites[])(void) = {
        unit_bell, unit_health, unit_roster, unit_zone, unit_ledger,
        unit_peers, unit_conn,
        unit_balancers, unit_balancers_time,
        unit_pool_suite, unit_pool_keys, unit_pool_threads, unit_spool, NULL
    };

    signal(SIGPIPE, SIG_IGN); /* as httpd does */
    unit_prepare = prepare;
    return unit_run(suites);
}
