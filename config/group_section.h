/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * <Upstream name> ... </Upstream> while the configuration is read: for the
 * setters of what may stand inside. A new directive is a setter in the file
 * of its theme and a row of up_group_commands in group_section.c.
 */

#ifndef UP_GROUP_SECTION_H
#define UP_GROUP_SECTION_H

#include "config/group.h"

/**
 * The group whose section this directive stands in.
 * @return NULL, or the complaint that it stands elsewhere
 */
const char *up_group_section(cmd_parms *cmd, up_group_t **pgroup);

/** The same, for a directive that stands in a group once. */
const char *up_group_section_once(cmd_parms *cmd, up_group_t **pgroup);

#endif
