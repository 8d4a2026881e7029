/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the waiting for name servers while the server starts.
 */

#include "config/first_look.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "apr_strings.h"
#include "config/clock.h"

#define MOST_FDS 64

/* Addresses that are asked for, of one port. */
typedef struct look_t {
    apr_pool_t *p;
    up_dns_t *dns;
    const up_resolver_t *resolver;
    apr_time_t until;
    int open;   /* questions */
    int failed; /* of them, without an answer */
    const up_server_t *server;
    up_target_t *targets;
    up_target_t **last;
} look_t;

typedef struct ask_t {
    look_t *look;
    apr_port_t port;
    apr_sockaddr_t *addrs;
} ask_t;

apr_sockaddr_t *up_firstlook_addr(apr_pool_t *p, const struct sockaddr *addr,
                                  apr_port_t port)
{
    char ip[INET6_ADDRSTRLEN];
    apr_sockaddr_t *made = NULL;
    const void *bytes =
        addr->sa_family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)addr)->sin_addr
            : (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr;

    if (!inet_ntop(addr->sa_family, bytes, ip, sizeof(ip))
        || apr_sockaddr_info_get(&made, ip, addr->sa_family, port, 0, p)
               != APR_SUCCESS) {
        return NULL;
    }
    return made;
}

int up_firstlook_priority(const up_dnsservice_t *services, int n)
{
    int lowest = services[0].priority;
    int i;

    for (i = 1; i < n; i++) {
        if (services[i].priority < lowest) {
            lowest = services[i].priority;
        }
    }
    return lowest;
}

static void got_addresses(void *baton, const up_dnsanswer_t *answer)
{
    ask_t *ask = baton;
    apr_sockaddr_t **last = &ask->addrs;
    int i;

    ask->look->open--;
    ask->look->failed += answer->result == UP_DNS_FAILED;
    while (*last) {
        last = &(*last)->next;
    }
    for (i = 0; i < answer->naddrs; i++) {
        apr_sockaddr_t *made = up_firstlook_addr(ask->look->p,
                                                 answer->addrs[i], ask->port);

        if (made) {
            *last = made;
            last = &made->next;
        }
    }
}

static void wait_for_answers(look_t *look)
{
    struct pollfd fds[MOST_FDS];

    while (look->open > 0) {
        apr_interval_time_t left = look->until - up_clock_now();
        int n = up_dns_fds(look->dns, fds, MOST_FDS);

        if (left <= 0) {
            return;
        }
        left = up_dns_patience(look->dns, left);
        poll(fds, (nfds_t)n, (int)((left + 999) / 1000));
        up_dns_work(look->dns, fds, n);
    }
}

static apr_sockaddr_t *addresses_of(look_t *look, const char *host,
                                    apr_port_t port)
{
    /* in the pool: an answer may come when nobody waits any more */
    ask_t *ask = apr_pcalloc(look->p, sizeof(*ask));

    ask->look = look;
    ask->port = port;
    if (!look->resolver->no_ipv6) {
        look->open++;
        up_dns_addresses(look->dns, host, AF_INET6, got_addresses, ask);
    }
    if (!look->resolver->no_ipv4) {
        look->open++;
        up_dns_addresses(look->dns, host, AF_INET, got_addresses, ask);
    }
    wait_for_answers(look);
    return ask->addrs;
}

static void got_services(void *baton, const up_dnsanswer_t *answer)
{
    look_t *look = baton;
    int lowest = 0;
    int i;

    look->open--;
    look->failed += answer->result == UP_DNS_FAILED;
    if (answer->nservices) {
        lowest = up_firstlook_priority(answer->services, answer->nservices);
    }
    for (i = 0; i < answer->nservices; i++) {
        const up_dnsservice_t *service = &answer->services[i];
        up_target_t *target = apr_pcalloc(look->p, sizeof(*target));

        target->host = apr_pstrdup(look->p, service->host);
        target->port = service->port;
        target->weight = service->weight;
        target->backup = service->priority != lowest;
        *look->last = target;
        look->last = &target->next;
    }
}

static void look_for_service(look_t *look, up_server_t *server)
{
    const char *name = up_dns_service_name(look->p, server->service,
                                           server->host);
    up_target_t *target;

    look->last = &look->targets;
    look->open++;
    up_dns_services(look->dns, name, got_services, look);
    wait_for_answers(look);
    for (target = look->targets; target; target = target->next) {
        target->addrs = addresses_of(look, target->host, target->port);
    }
    server->targets = look->targets;
}

apr_status_t up_firstlook(apr_pool_t *p, const up_group_t *group,
                          up_server_t *server)
{
    look_t *look = apr_pcalloc(p, sizeof(*look));
    int complete;

    look->p = p;
    look->resolver = group->resolver;
    look->until = up_clock_now() + group->resolver_timeout;
    look->dns = up_dns_open(group->resolver);
    if (!look->dns) {
        return APR_ENOMEM;
    }
    if (server->service) {
        look_for_service(look, server);
    }
    else {
        server->addrs = addresses_of(look, server->host, server->port);
    }
    complete = look->open == 0 && look->failed == 0;
    up_dns_close(look->dns);
    return complete ? APR_SUCCESS : APR_TIMEUP;
}
