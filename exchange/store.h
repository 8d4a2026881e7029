/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * UpstreamStore: a response becomes a file, whole or not at all.
 *
 * It is written under a name of its own beside its place, and renamed when it
 * is complete: whoever looks finds the old file, none, or the whole new one.
 * The name goes with the request's pool when it was not renamed. These are
 * short operations on a local directory, which like the writing of temporary
 * files are done where the exchange runs.
 */

#ifndef UP_STORE_H
#define UP_STORE_H

#include "config/settings.h"
#include "httpd.h"
#include "status_parser.h"
#include "transport/spool.h"

typedef struct up_store_t up_store_t;

/** May the answer to this request be stored: is it a GET, and wanted? */
int up_store_asked(const request_rec *r, const up_settings_t *settings);

/**
 * Begins to store a response with this head, when it is a 200 and has a place
 * that is allowed; makes the directories.
 * @return in r->pool; NULL: it is not stored, for a reason that is logged if
 *         it is not an ordinary one
 */
up_store_t *up_store_begin(request_rec *r, const up_settings_t *settings,
                           const up_head_t *head);

/** Where the body is written to. */
up_spool_t *up_store_spool(const up_store_t *store);

/** It will never be complete: deletes the file. Harmless when repeated. */
void up_store_abandon(up_store_t *store);

/** The body is complete: puts the file into its place. */
void up_store_finish(up_store_t *store);

#endif
