/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the module's slot in r->request_config.
 */

#include "exchange/note.h"

#include "config/log.h"

up_note_t *up_note_get(const request_rec *r)
{
    return ap_get_module_config(r->request_config, &upstream_proxy_module);
}

up_note_t *up_note_make(request_rec *r)
{
    up_note_t *note = up_note_get(r);

    if (note == NULL) {
        note = apr_pcalloc(r->pool, sizeof(*note));
        ap_set_module_config(r->request_config, &upstream_proxy_module, note);
    }
    return note;
}

up_trail_t *up_note_trail(const request_rec *r)
{
    for (; r; r = r->prev) {
        const up_note_t *note = up_note_get(r);

        if (note && note->trail) {
            return note->trail;
        }
    }
    return NULL;
}
