/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Client certificates that requests name (UpstreamSSLCertificate with an
 * expression): read for each connection, or kept for a while.
 */

#ifndef UP_TLS_CERTS_H
#define UP_TLS_CERTS_H

#include "config/tls.h"

/** child_init. */
apr_status_t up_tlscerts_child_init(apr_pool_t *p);

/** A path below ServerRoot, unless it is absolute or data. */
const char *up_tlscerts_rooted(apr_pool_t *p, const char *source);

/** What changes when the files do. In pool p. */
const char *up_tlscerts_stamp(apr_pool_t *p, const char *certificate,
                              const char *key);

/**
 * A certificate and its key out of the cache, read if need be. Whether the
 * files have changed is looked at when cache->valid has passed. Any thread.
 * @param pstamp as above, of what is given
 * @return good as long as pool p; NULL: *perror says why
 */
const up_tlspair_t *up_tlscerts_cached(apr_pool_t *p,
                                       const up_certcache_t *cache,
                                       const char *certificate,
                                       const char *key,
                                       const apr_array_header_t *passwords,
                                       const char **pstamp,
                                       const char **perror);

#endif
