/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The first answer of name servers, which the start waits for: for groups
 * with an UpstreamResolver, and for services.
 */

#ifndef UP_FIRST_LOOK_H
#define UP_FIRST_LOOK_H

#include "config/dns.h"
#include "config/group.h"

/**
 * Fills in server->addrs or, of a service, server->targets, in pool p. Waits
 * for the group's UpstreamResolverTimeout at most.
 * @return APR_SUCCESS when name servers have answered, whatever they said
 */
apr_status_t up_firstlook(apr_pool_t *p, const up_group_t *group,
                          up_server_t *server);

/** A socket address of APR's for one of the system's, with a port. */
apr_sockaddr_t *up_firstlook_addr(apr_pool_t *p, const struct sockaddr *addr,
                                  apr_port_t port);

/** The most preferred priority of services: the lowest number. */
int up_firstlook_priority(const up_dnsservice_t *services, int n);

#endif
