/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the use of c-ares.
 */

#include "config/dns.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "apr_strings.h"
#include "config/dns_ttl.h"

/* The first of a server's turns; it doubles. */
#define TURN_MS 1500
#define TURNS 3

#define MOST_FDS 64
#define MOST_ADDRS 256
#define MOST_SERVICES 256

struct up_dns_t {
    ares_channel channel;
    struct pollfd fds[MOST_FDS];
    int nfds;
    int open; /* questions */
};

/* One question. */
typedef struct question_t {
    up_dns_t *dns;
    up_dns_told_t *told;
    void *baton;
} question_t;

/* --- sockets ------------------------------------------------------------- */

static void socket_state(void *data, ares_socket_t fd, int readable,
                         int writable)
{
    up_dns_t *dns = data;
    int i = 0;

    while (i < dns->nfds && dns->fds[i].fd != fd) {
        i++;
    }
    if (!readable && !writable) {
        if (i < dns->nfds) {
            dns->fds[i] = dns->fds[--dns->nfds];
        }
        return;
    }
    if (i == dns->nfds) {
        if (i == MOST_FDS) {
            return; /* its question will time out */
        }
        dns->nfds++;
    }
    dns->fds[i].fd = fd;
    dns->fds[i].events = (short)((readable ? POLLIN : 0)
                                 | (writable ? POLLOUT : 0));
    dns->fds[i].revents = 0;
}

int up_dns_fds(const up_dns_t *dns, struct pollfd *fds, int room)
{
    int n = dns->nfds < room ? dns->nfds : room;

    memcpy(fds, dns->fds, sizeof(*fds) * (apr_size_t)n);
    return n;
}

apr_interval_time_t up_dns_patience(up_dns_t *dns, apr_interval_time_t most)
{
    struct timeval max, tv, *next;

    max.tv_sec = (time_t)(most / APR_USEC_PER_SEC);
    max.tv_usec = (suseconds_t)(most % APR_USEC_PER_SEC);
    next = ares_timeout(dns->channel, &max, &tv);
    return next->tv_sec * APR_USEC_PER_SEC + next->tv_usec;
}

void up_dns_work(up_dns_t *dns, const struct pollfd *fds, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        short got = fds[i].revents;

        if (got) {
            ares_process_fd(dns->channel,
                            got & (POLLIN | POLLERR | POLLHUP)
                                ? fds[i].fd : ARES_SOCKET_BAD,
                            got & POLLOUT ? fds[i].fd : ARES_SOCKET_BAD);
        }
    }
    ares_process_fd(dns->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

/* --- a client ------------------------------------------------------------ */

up_dns_t *up_dns_open(const up_resolver_t *resolver)
{
    up_dns_t *dns = calloc(1, sizeof(*dns));
    struct ares_options options;
    int rc;

    if (!dns) {
        return NULL;
    }
    memset(&options, 0, sizeof(options));
    options.timeout = TURN_MS;
    options.tries = TURNS;
    options.lookups = (char *)"fb"; /* the hosts file first */
    options.sock_state_cb = socket_state;
    options.sock_state_cb_data = dns;
    rc = ares_init_options(&dns->channel, &options,
                           ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES
                               | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);
    if (rc != ARES_SUCCESS) {
        free(dns);
        return NULL;
    }
    if (resolver->servers
        && ares_set_servers_ports_csv(dns->channel, resolver->servers)
               != ARES_SUCCESS) {
        up_dns_close(dns);
        return NULL;
    }
    return dns;
}

int up_dns_busy(const up_dns_t *dns)
{
    return dns->open > 0;
}

void up_dns_close(up_dns_t *dns)
{
    ares_destroy(dns->channel);
    free(dns);
}

/* --- answers ------------------------------------------------------------- */

static up_dns_e result_of(int status)
{
    switch (status) {
    case ARES_SUCCESS:
        return UP_DNS_FOUND;
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_ENONAME:
        return UP_DNS_NOTHING;
    default:
        return UP_DNS_FAILED;
    }
}

static void tell(question_t *question, up_dnsanswer_t *answer, int status)
{
    answer->result = result_of(status);
    answer->error = ares_strerror(status);
    if (answer->result == UP_DNS_FOUND && !answer->naddrs
        && !answer->nservices) {
        answer->result = UP_DNS_NOTHING;
        answer->error = ares_strerror(ARES_ENODATA);
    }
    question->dns->open--;
    question->told(question->baton, answer);
    free(question);
}

static question_t *ask(up_dns_t *dns, up_dns_told_t *told, void *baton)
{
    question_t *question = malloc(sizeof(*question));
    up_dnsanswer_t answer;

    if (question) {
        dns->open++;
        question->dns = dns;
        question->told = told;
        question->baton = baton;
        return question;
    }
    memset(&answer, 0, sizeof(answer));
    answer.result = UP_DNS_FAILED;
    answer.error = ares_strerror(ARES_ENOMEM);
    told(baton, &answer);
    return NULL;
}

static int shorter(int ttl, int other)
{
    return ttl < 0 || other < ttl ? other : ttl;
}

static void got_addresses(void *data, int status, int timeouts,
                          struct ares_addrinfo *info)
{
    const struct sockaddr *addrs[MOST_ADDRS];
    const struct ares_addrinfo_node *node;
    const struct ares_addrinfo_cname *alias;
    up_dnsanswer_t answer;
    int ttl = -1;

    (void)timeouts;
    memset(&answer, 0, sizeof(answer));
    for (node = info ? info->nodes : NULL; node; node = node->ai_next) {
        if (answer.naddrs < MOST_ADDRS) {
            addrs[answer.naddrs++] = node->ai_addr;
            ttl = shorter(ttl, node->ai_ttl);
        }
    }
    for (alias = info ? info->cnames : NULL; alias; alias = alias->next) {
        ttl = shorter(ttl, alias->ttl);
    }
    answer.addrs = addrs;
    answer.ttl = ttl < 0 ? 0 : ttl;
    tell(data, &answer, status);
    if (info) {
        ares_freeaddrinfo(info);
    }
}

void up_dns_addresses(up_dns_t *dns, const char *host, int family,
                      up_dns_told_t *told, void *baton)
{
    struct ares_addrinfo_hints hints;
    question_t *question = ask(dns, told, baton);

    if (question) {
        memset(&hints, 0, sizeof(hints));
        hints.ai_family = family;
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = ARES_AI_NOSORT;
        ares_getaddrinfo(dns->channel, host, NULL, &hints, got_addresses,
                         question);
    }
}

static void got_services(void *data, int status, int timeouts,
                         unsigned char *buf, int len)
{
    up_dnsservice_t services[MOST_SERVICES];
    struct ares_srv_reply *replies = NULL;
    const struct ares_srv_reply *one;
    up_dnsanswer_t answer;

    (void)timeouts;
    memset(&answer, 0, sizeof(answer));
    if (status == ARES_SUCCESS) {
        status = ares_parse_srv_reply(buf, len, &replies);
        answer.ttl = up_dnsttl_of(buf, (apr_size_t)len); /* not c-ares's */
    }
    for (one = replies; one; one = one->next) {
        up_dnsservice_t *service = &services[answer.nservices];

        /* RFC 2782: a target of "." says that there is no such service */
        if (one->host[0] == '\0' || !one->port
            || answer.nservices == MOST_SERVICES) {
            continue;
        }
        service->host = one->host;
        service->port = one->port;
        service->priority = one->priority;
        service->weight = one->weight;
        answer.nservices++;
    }
    answer.services = services;
    tell(data, &answer, status);
    if (replies) {
        ares_free_data(replies);
    }
}

void up_dns_services(up_dns_t *dns, const char *name, up_dns_told_t *told,
                     void *baton)
{
    question_t *question = ask(dns, told, baton);

    if (question) {
        ares_query(dns->channel, name, ns_c_in, ns_t_srv, got_services,
                   question);
    }
}

const char *up_dns_service_name(apr_pool_t *p, const char *service,
                                const char *host)
{
    return strchr(service, '.') ? apr_pstrcat(p, service, ".", host, NULL)
                                : apr_pstrcat(p, "_", service, "._tcp.", host,
                                              NULL);
}
