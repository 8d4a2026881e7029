/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives under nginx's names: refused, and told what to write.
 *
 * httpd would call "proxy_pass" an unknown command, perhaps of a module that
 * is not loaded, which sends its user looking for a module.
 */

#ifndef UP_NGINX_NAMES_H
#define UP_NGINX_NAMES_H

#include "httpd.h"
#include "http_config.h"

/**
 * Makes a row that refuses nginx's name for each of `from`, and those that
 * stand around them. Once, when the module is loaded.
 * @param from rows named Upstream...; they and the result live for good
 * @return rows, ended by one without a name
 */
const command_rec *up_nginxnames_make(const command_rec *from);

#endif
