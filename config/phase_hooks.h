/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Runs the hooks of mod_upstream_proxy.h: what other modules want to be told.
 *
 * They are looked up once, when the configuration has been read; without a
 * module that has hooked, a call is one look at a pointer.
 */

#ifndef UP_PHASE_HOOKS_H
#define UP_PHASE_HOOKS_H

#include "httpd.h"
#include "mod_upstream_proxy.h"

/** post_config, behind everybody who adds a hook there. */
void up_hooks_find(void);

/** As mod_upstream_proxy.h has them. @return OK, or what ends the exchange */
int up_hooks_pre_connect(request_rec *r, up_request_t *u);
/** @return the server that a module wants, NULL: none */
const char *up_hooks_select_peer(request_rec *r, up_request_t *u, int nth);
void up_hooks_connected(request_rec *r, up_request_t *u);
/** Does anybody want to see the fields? */
int up_hooks_want_request(void);
int up_hooks_request_out(request_rec *r, up_request_t *u,
                         apr_table_t *fields);
int up_hooks_response_in(request_rec *r, up_request_t *u);
/** @return what *pretry has become of `retry` */
int up_hooks_connect_failed(request_rec *r, up_request_t *u, int retry);
int up_hooks_try_failed(request_rec *r, up_request_t *u, int retry);
/** @return the status, 400 to 599 */
int up_hooks_failed(request_rec *r, up_request_t *u, int status);
void up_hooks_log(request_rec *r, up_request_t *u);
void up_hooks_peer_state_changed(const char *group, const char *server,
                                 up_peer_news_e news);

#endif
