/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the clients: one for each resolver, made when it is first asked.
 */

#include "peers/dns_clients.h"

#include <stdlib.h>
#include <sys/stat.h>

typedef struct client_t {
    struct client_t *next;
    const up_resolver_t *resolver;
    up_dns_t *dns;
    int nfds; /* given to poll */
    struct timespec read; /* resolv.conf as it was then */
} client_t;

static client_t *clients;

/* Of a network that has changed: c-ares reads the file only once. */
static int is_outdated(client_t *client)
{
    struct timespec before = client->read;
    struct stat info;

    if (client->resolver->servers || up_dns_busy(client->dns)
        || stat("/etc/resolv.conf", &info) < 0) {
        return 0;
    }
    client->read = info.st_mtim;
    return before.tv_sec != info.st_mtim.tv_sec
           || before.tv_nsec != info.st_mtim.tv_nsec;
}

static void renew(client_t *client)
{
    up_dns_t *dns = up_dns_open(client->resolver);

    if (dns) {
        up_dns_close(client->dns);
        client->dns = dns;
        client->nfds = 0;
    }
}

up_dns_t *up_dnsclients_get(const up_resolver_t *resolver)
{
    client_t *client = clients;

    while (client && client->resolver != resolver) {
        client = client->next;
    }
    if (client && is_outdated(client)) {
        renew(client);
    }
    if (client) {
        return client->dns;
    }
    client = calloc(1, sizeof(*client));
    if (client) {
        client->resolver = resolver;
        client->dns = up_dns_open(resolver);
    }
    if (!client || !client->dns) {
        free(client);
        return NULL;
    }
    is_outdated(client); /* notes the time */
    client->next = clients;
    clients = client;
    return client->dns;
}

int up_dnsclients_fds(struct pollfd *fds, int room)
{
    client_t *client;
    int n = 0;

    for (client = clients; client; client = client->next) {
        client->nfds = up_dns_fds(client->dns, fds + n, room - n);
        n += client->nfds;
    }
    return n;
}

apr_interval_time_t up_dnsclients_patience(apr_interval_time_t most)
{
    client_t *client;

    for (client = clients; client; client = client->next) {
        most = up_dns_patience(client->dns, most);
    }
    return most;
}

void up_dnsclients_work(const struct pollfd *fds)
{
    client_t *client;

    for (client = clients; client; client = client->next) {
        up_dns_work(client->dns, fds, client->nfds);
        fds += client->nfds;
    }
}

void up_dnsclients_close(void)
{
    client_t *client;

    while ((client = clients)) {
        clients = client->next;
        up_dns_close(client->dns);
        free(client);
    }
}
