/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the handlers of this folder share: their query, and answers that no
 * cache keeps.
 */

#ifndef UP_QUERY_H
#define UP_QUERY_H

#include "httpd.h"

/** The decoded value of a parameter of the query, the last one of that name;
 * NULL: there is none. */
const char *up_query_get(request_rec *r, const char *name);

/** Is the request for this handler? */
int up_query_is_for(const request_rec *r, const char *handler);

/** Head of an answer that is made of what is known now. */
void up_query_answer(request_rec *r, const char *type);

/** Is it for this handler, which takes GET and HEAD only? @return OK, or the
 * handler's result */
int up_query_reads(request_rec *r, const char *handler);

#endif
