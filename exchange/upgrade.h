/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The protocols of an Upgrade field (RFC 9110 7.8): which of a client's a
 * backend is offered, and whether what the backend switches to is one of
 * them.
 *
 * Pure: APR only. Protocols are compared in any case; one without a version
 * stands for all of its name.
 */

#ifndef UP_UPGRADE_H
#define UP_UPGRADE_H

#include "apr_pools.h"

/** UpstreamUpgrade. */
typedef struct up_protocols_t {
    int any;                  /* all but h2c, which must be listed */
    const char *const *names; /* ends with NULL */
} up_protocols_t;

/** `websocket` alone. */
extern const up_protocols_t up_upgrade_usual;

/** Is it a protocol: name, or name/version, of tokens? */
int up_upgrade_is_protocol(const char *word);

/** Does a comma list such as Connection's have this token, in any case? */
int up_upgrade_lists(const char *list, const char *token);

/**
 * Those of the protocols in `list`, a client's, that are allowed.
 * @param list NULL: none
 * @return a comma list in p; NULL: there is none
 */
const char *up_upgrade_allowed(apr_pool_t *p, const up_protocols_t *allowed,
                               const char *list);

/**
 * Were all protocols of `answer` offered?
 * @param answer the Upgrade field of a 101; NULL: it has none, and nobody
 *               knows which is meant: yes
 */
int up_upgrade_offered(const char *offer, const char *answer);

#endif
