/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The clients of a child's name servers, one for each UpstreamResolver, and
 * what the clerk's thread polls for them.
 *
 * The clerk's thread alone.
 */

#ifndef UP_DNS_CLIENTS_H
#define UP_DNS_CLIENTS_H

#include <poll.h>

#include "config/dns.h"

/** The client of a resolver, made if new. NULL: it cannot be made */
up_dns_t *up_dnsclients_get(const up_resolver_t *resolver);

/** What to poll for. up_dnsclients_work takes the array afterwards. */
int up_dnsclients_fds(struct pollfd *fds, int room);
apr_interval_time_t up_dnsclients_patience(apr_interval_time_t most);
void up_dnsclients_work(const struct pollfd *fds);

/** Ends them: all that is asked is answered with a failure. */
void up_dnsclients_close(void);

#endif
