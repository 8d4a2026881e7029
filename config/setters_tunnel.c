/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what happens between the words of UpstreamUpgrade and its field.
 */

#include "config/setters_tunnel.h"

#include <string.h>

#include "apr_strings.h"
#include "config/complaint.h"
#include "exchange/upgrade.h"

static const char *read_protocols(cmd_parms *cmd, int argc,
                                  char *const argv[],
                                  up_protocols_t *protocols)
{
    const char **names = apr_pcalloc(cmd->pool,
                                     (apr_size_t)(argc + 1) * sizeof(*names));
    int n = 0;
    int i;

    protocols->names = names;
    for (i = 0; i < argc; i++) {
        if (strcasecmp(argv[i], "any") == 0) {
            protocols->any = 1;
            continue;
        }
        if (strcasecmp(argv[i], "off") == 0
            || !up_upgrade_is_protocol(argv[i])) {
            return up_complaint_word(cmd, "wants off alone, or any and "
                                     "protocols of an Upgrade field such as "
                                     "websocket, h2c or tls/1.2", argv[i]);
        }
        names[n++] = apr_pstrdup(cmd->pool, argv[i]);
    }
    return NULL;
}

const char *up_setters_upgrade(cmd_parms *cmd, void *dconf, int argc,
                               char *const argv[])
{
    const up_protocols_t **pprotocols = up_setters_field(cmd, dconf);
    const char *error = up_setters_begin(cmd, dconf);
    up_protocols_t *protocols;

    if (error != NULL) {
        return error;
    }
    if (argc < 1) {
        return apr_psprintf(cmd->pool, "%s wants %s",
                            up_setters_row(cmd)->name, cmd->cmd->errmsg);
    }
    up_setters_mark(cmd, dconf);
    *pprotocols = NULL;
    if (argc == 1 && strcasecmp(argv[0], "off") == 0) {
        return NULL;
    }
    protocols = apr_pcalloc(cmd->pool, sizeof(*protocols));
    *pprotocols = protocols;
    return read_protocols(cmd, argc, argv, protocols);
}
