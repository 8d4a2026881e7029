/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Setters of the UpstreamSSL directives. Files are read, and lists tried,
 * where they are written: what is wrong with them is an error of that line.
 */

#ifndef UP_SETTERS_TLS_H
#define UP_SETTERS_TLS_H

#include "config/setters.h"

const char *up_setters_cert(cmd_parms *cmd, void *dconf, const char *args);
const char *up_setters_certkey(cmd_parms *cmd, void *dconf, const char *args);
const char *up_setters_certcache(cmd_parms *cmd, void *dconf, const char *one,
                                 const char *two, const char *three);
const char *up_setters_ciphers(cmd_parms *cmd, void *dconf, const char *list);
const char *up_setters_command(cmd_parms *cmd, void *dconf, const char *name,
                               const char *value);
const char *up_setters_crl(cmd_parms *cmd, void *dconf, const char *path);
const char *up_setters_trusted(cmd_parms *cmd, void *dconf, const char *path);
const char *up_setters_names(cmd_parms *cmd, void *dconf, const char *args);
const char *up_setters_passwords(cmd_parms *cmd, void *dconf,
                                 const char *path);
const char *up_setters_protocols(cmd_parms *cmd, void *dconf,
                                 const char *word);
const char *up_setters_verify(cmd_parms *cmd, void *dconf, const char *word);
const char *up_setters_keylog(cmd_parms *cmd, void *dconf, const char *path);
const char *up_setters_proxy(cmd_parms *cmd, void *dconf, const char *word);

#endif
