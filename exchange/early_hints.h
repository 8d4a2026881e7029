/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * 103 Early Hints (RFC 8297) on their way to the client, for those requests
 * that UpstreamEarlyHints wants them for.
 *
 * In the request's pool; one thread. Does not block, but towards an HTTP/2
 * stream.
 */

#ifndef UP_EARLY_HINTS_H
#define UP_EARLY_HINTS_H

#include "config/settings.h"
#include "httpd.h"
#include "status_parser.h"
#include "transport/client.h"

typedef struct up_hints_t up_hints_t;

/** @return NULL: none can be wanted (no directive, HTTP/1.0, a subrequest) */
up_hints_t *up_hints_make(request_rec *r, const up_settings_t *settings,
                          up_client_t *client);

/**
 * A leg's on_interim: sends a 103 on at once, with nothing but its end-to-end
 * fields that are not hidden; not one without any, nor one that makes all of
 * a request's larger than UpstreamBufferSize. The final response's fields are
 * not touched.
 * @param baton the up_hints_t
 */
void up_hints_relay(void *baton, const up_head_t *head);

#endif
