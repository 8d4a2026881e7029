/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the tests of peers/ and transport/ share: groups that no configuration
 * file made, and small stand-ins for the calls into httpd.
 */

#ifndef UP_TRANSPORT_H
#define UP_TRANSPORT_H

#include "httpd.h"
#include "config/group.h"
#include "peers/balancer.h"
#include "t/unit/up_case.h"
#include "transport/backend_conn.h"

/** Of one server; the address is 127.0.0.1:<port>, a unit_group() row. */
typedef struct unit_server_t {
    int port;       /* 0 closes the list of rows */
    int weight;     /* 0: 1 */
    int max_conns;
    int no_max_fails;
    int max_fails;  /* 0: 1, see no_max_fails */
    int backup;
    int down;
    int drain;
    const char *route;
} unit_server_t;

/** A group of `rows` as post_config would leave it, found by up_group_each. */
up_group_t *unit_group(const unit_server_t *rows);

/** A group of n servers that listen, with the sockets in `listeners`. */
up_group_t *unit_listening_group(int n, int *listeners);

/** A child process's pool, with peers and pools made in it. */
apr_pool_t *unit_child(void);

/** Adds a server with these addresses; weight 1, max_fails 1. */
up_server_t *unit_add_server(up_group_t *group, apr_sockaddr_t *addrs);

/** An IP address literal as a socket address. */
apr_sockaddr_t *unit_address(const char *ip, int port);

/** The address of a unix socket. */
apr_sockaddr_t *unit_unix_address(const char *path);

/** The message that was logged last in this test, "" before. */
const char *unit_logged(void);

/** Waits up to `ms` until the descriptor can be read. @return 0: it cannot */
int unit_readable(int fd, int ms);

/** A socket listening at an address, its port set when it was 0. */
int unit_listen(apr_sockaddr_t *addr, int backlog);

/** Connects to the end, waiting where a driver would. */
apr_status_t unit_connect(up_conn_t *conn, apr_sockaddr_t *addr);

/** A connection accepted within a second. */
int unit_accept(int listener);

/** Open descriptors of this process. */
int unit_open_files(void);

Suite *unit_bell(void);
Suite *unit_health(void);
Suite *unit_roster(void);
Suite *unit_ledger(void);
Suite *unit_zone(void);
Suite *unit_peers(void);
Suite *unit_balancers(void);
Suite *unit_balancers_time(void);
Suite *unit_conn(void);
Suite *unit_pool_suite(void);
Suite *unit_pool_keys(void);
Suite *unit_pool_threads(void);
Suite *unit_spool(void);

#endif
