/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * SetHandler upstream-status: a page that shows groups and servers, and with
 * ?format=json what it shows. Also a section of mod_status.
 */

#ifndef UP_STATUS_H
#define UP_STATUS_H

#include "apr_pools.h"

void up_status_register(apr_pool_t *p);

#endif
