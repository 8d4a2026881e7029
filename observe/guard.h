/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Who may change things at run time: nobody where everybody could, and no
 * page of another origin in the name of somebody who may.
 */

#ifndef UP_GUARD_H
#define UP_GUARD_H

#include "httpd.h"

/**
 * Is the location guarded? Yes when it wants to know who asks (Require user,
 * valid-user, ...), or when a stranger would be refused: the access rules are
 * run once more for one who comes from an address that nobody has, with no
 * fields but Host. A client's certificate alone does not count.
 */
int up_guard_closed(request_rec *r);

/**
 * May this request, which is not a GET, change something? It wants a guarded
 * location, the field X-Upstream-API, which no page of another origin can
 * send without being asked about, and, where a browser says where it comes
 * from, this origin.
 * @return NULL: yes; else why not, and it is logged what to do
 */
const char *up_guard_refuses(request_rec *r);

#endif
