/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Questions to name servers, many at a time and without waiting; over c-ares.
 * A name in the hosts file is answered from there.
 *
 * A client belongs to one thread. Callbacks come out of up_dns_work, or out
 * of the asking itself when the answer is at hand.
 */

#ifndef UP_DNS_H
#define UP_DNS_H

#include <poll.h>
#include <sys/socket.h>

#include "apr_network_io.h"
#include "apr_pools.h"
#include "apr_time.h"
#include "config/resolver.h"

typedef struct up_dns_t up_dns_t;

typedef enum up_dns_e {
    UP_DNS_FOUND,   /* at least one address or service */
    UP_DNS_NOTHING, /* there is none: no such name, or none of this kind */
    UP_DNS_FAILED   /* not known: no server answered, or none that can */
} up_dns_e;

/** A target of a service (RFC 2782). */
typedef struct up_dnsservice_t {
    const char *host;
    apr_port_t port;
    int priority;
    int weight;
} up_dnsservice_t;

/** Good until the callback returns. */
typedef struct up_dnsanswer_t {
    up_dns_e result;
    const char *error; /* in words, unless FOUND */
    int ttl;           /* seconds, the shortest */
    const struct sockaddr *const *addrs; /* IPv4 or IPv6, ports are 0 */
    int naddrs;
    const up_dnsservice_t *services;
    int nservices;
} up_dnsanswer_t;

typedef void up_dns_told_t(void *baton, const up_dnsanswer_t *answer);

/** @return NULL: no memory, or the system's settings cannot be read */
up_dns_t *up_dns_open(const up_resolver_t *resolver);

/** Is something asked and not answered? */
int up_dns_busy(const up_dns_t *dns);

/** Everything that is asked is answered with FAILED first. */
void up_dns_close(up_dns_t *dns);

/** The addresses of a name. @param family AF_INET or AF_INET6 */
void up_dns_addresses(up_dns_t *dns, const char *host, int family,
                      up_dns_told_t *told, void *baton);

/** Its services, SRV records of this very name. */
void up_dns_services(up_dns_t *dns, const char *name, up_dns_told_t *told,
                     void *baton);

/**
 * The descriptors to poll for, at most `room`.
 * @return how many
 */
int up_dns_fds(const up_dns_t *dns, struct pollfd *fds, int room);

/** The longest time to poll: `most` or less. */
apr_interval_time_t up_dns_patience(up_dns_t *dns, apr_interval_time_t most);

/** After polling: what the descriptors say, and what has taken too long. */
void up_dns_work(up_dns_t *dns, const struct pollfd *fds, int n);

/** The name of a service of a host: "_http._tcp.host" for "http"; a service
 * with a dot is "a.b.host" as it stands. */
const char *up_dns_service_name(apr_pool_t *p, const char *service,
                                const char *host);

#endif
