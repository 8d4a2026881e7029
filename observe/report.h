/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A view as JSON: what the status page polls and the API answers. docs/api.md
 * describes it.
 */

#ifndef UP_REPORT_H
#define UP_REPORT_H

#include "httpd.h"
#include <jansson.h>

#include "observe/view.h"

/** All of it: a new reference, NULL: no memory. */
json_t *up_report_make(const apr_array_header_t *groups);

/** Answers with it, a reference that is given up. NULL: 500 */
int up_report_send(request_rec *r, int status, json_t *json);

/** Answers {"error": text} with this status. */
int up_report_error(request_rec *r, int status, const char *text);

#endif
