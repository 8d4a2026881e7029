/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The life of the ledger (peers/ledger.h) in httpd.
 */

#ifndef UP_LEDGER_MEMORY_H
#define UP_LEDGER_MEMORY_H

#include "httpd.h"

/**
 * post_config, after up_group_post_config: the memory is made, or, after a
 * restart, that of before is used on. Without memory nothing is shared, which
 * is warned about.
 */
void up_ledger_post_config(apr_pool_t *pconf, server_rec *s);

/** child_init, before up_peers_child_init. */
void up_ledger_child_init(void);

/** The hooks that tell of the end of children. */
void up_ledger_register(void);

#endif
