/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Where in the configuration a directive stands.
 *
 * httpd's own context checks know neither <If> apart from <Files> nor the
 * sections that this module refuses, so the tree of directives is asked.
 * Only while the configuration is read; messages are in cmd->pool.
 */

#ifndef UP_SECTION_H
#define UP_SECTION_H

#include "httpd.h"
#include "http_config.h"

typedef enum up_section_e {
    UP_SECTION_SERVER,  /* main server or <VirtualHost> */
    UP_SECTION_PREFIX,  /* <Location /path> */
    UP_SECTION_PATTERN, /* <LocationMatch>, <Location ~>, wildcards */
    UP_SECTION_IF       /* <If>, <ElseIf>, <Else> */
} up_section_e;

/** The innermost section around the directive of `cmd`. */
up_section_e up_section_of(cmd_parms *cmd);

/**
 * Is this no place for a location-level directive?
 * @return NULL: it may stand here; else the message
 */
const char *up_section_misplaced(cmd_parms *cmd);

/**
 * Reads what stands inside a section of this module. Its setters get `data`
 * from up_section_inside until this returns.
 */
const char *up_section_walk(cmd_parms *cmd, void *data);

/**
 * The data of the section `<name ...>` that the directive stands right in.
 * @return NULL, or the complaint that it stands elsewhere
 */
const char *up_section_inside(const cmd_parms *cmd, const char *name,
                              void **pdata);

/** Is a directive of that name, in any case, among these rows? */
int up_section_has_row(const command_rec *rows, const char *name);

/** "file:line" of the directive. */
const char *up_section_where(cmd_parms *cmd);

#endif
