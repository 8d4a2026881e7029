/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What setters say about a directive that they refuse. httpd puts the file
 * and the line in front.
 *
 * Only while the configuration is read; messages are in cmd->pool.
 */

#ifndef UP_COMPLAINT_H
#define UP_COMPLAINT_H

#include "httpd.h"
#include "http_config.h"

/**
 * The directive `why`, not "`word`".
 * @param why a sentence that begins with a verb, as config/units.h has them
 */
const char *up_complaint_word(const cmd_parms *cmd, const char *why,
                              const char *word);

/**
 * The parameter `name` of the directive `why`, not "`value`".
 * @param name with its =
 * @param why as up_complaint_word's
 */
const char *up_complaint_param(const cmd_parms *cmd, const char *name,
                               const char *why, const char *value);

/** The parameter that `word` is stands there twice. */
const char *up_complaint_param_twice(const cmd_parms *cmd, const char *word);

/**
 * What may explain that `word` is not wanted: it has come from nginx with its
 * semicolon. A part of a sentence, empty when there is nothing to tell.
 */
const char *up_complaint_hint(const char *word);

/**
 * The directive stands there twice.
 * @param where where one of them is to be kept, as in " in this section"
 */
const char *up_complaint_twice(const cmd_parms *cmd, const char *where);

#endif
