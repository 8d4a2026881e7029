/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the module remembers of one request_rec, kept in its request_config.
 *
 * In the request's pool; one thread. An internal redirect starts a
 * request_rec without one.
 */

#ifndef UP_NOTE_H
#define UP_NOTE_H

#include "httpd.h"
#include "mod_upstream_proxy.h"

typedef struct up_note_t {
    up_trail_t *trail;        /* set by the machine when it starts, NULL: this
                                 request was not proxied */
    const void *target_baton; /* up_target_remember's, or NULL */
    up_reqbody_t *body;       /* as trail */
    const up_jump_t *jump;    /* where the answer sends the request, NULL:
                                 nowhere (exchange/jump.h) */
    const up_pass_t *pass;    /* set before the request head is built */
} up_note_t;

/** The note of this request, or NULL. */
up_note_t *up_note_get(const request_rec *r);

/** The note of this request, made when there is none. */
up_note_t *up_note_make(request_rec *r);

/**
 * The trail of this request or, when it has none, of the nearest one that was
 * redirected to it.
 * @param r may be NULL
 * @return NULL: nothing was proxied
 */
up_trail_t *up_note_trail(const request_rec *r);

#endif
