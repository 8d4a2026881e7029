/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Log tags. Every message from debug upwards carries one; a number is used
 * at one place in the source and never again.
 */

#ifndef UP_LOG_H
#define UP_LOG_H

#include "httpd.h"
#include "http_config.h"
#include "http_log.h"

/** UPLOGNO(0001) "text" -> "UP0001: text". */
#define UPLOGNO(n) "UP" #n ": "

extern module AP_MODULE_DECLARE_DATA upstream_proxy_module;

APLOG_USE_MODULE(upstream_proxy);

#endif
