/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A temporary file without a name: bytes that do not fit into memory.
 *
 * Mode 0600, unlinked as soon as it is open, closed with its pool: buckets
 * over it must not outlive that. One thread. Written from the front to the
 * end, never rewound.
 */

#ifndef UP_SPOOL_H
#define UP_SPOOL_H

#include "apr_buckets.h"
#include "apr_file_io.h"
#include "config/settings.h"
#include "httpd.h"
#include "mod_upstream_proxy.h"

struct up_spool_t {
    apr_file_t *file;  /* never in a bucket: see up_spool_insert */
    apr_off_t written; /* bytes so far */
};

/**
 * Opens a file below `dir`, in hashed sub-directories of `levels` digits
 * (nginx's temp_path levels), which are made when missing.
 * @return APR_SUCCESS or the failure of mkdir or open
 */
apr_status_t up_spool_open(apr_pool_t *p, const char *dir, const int levels[3],
                           up_spool_t **pspool);

/**
 * The same for a request, where its settings say; in r->pool. Logs at
 * `level` that `what` is buffered to a temporary file.
 */
apr_status_t up_spool_begin(request_rec *r, const up_settings_t *settings,
                            int level, const char *what,
                            up_spool_t **pspool);

/** Over a file that somebody else has opened, in p. */
up_spool_t *up_spool_of(apr_pool_t *p, apr_file_t *file);

/**
 * Appends `len` bytes. A short write is the failure it stands for (ENOSPC).
 */
apr_status_t up_spool_write(up_spool_t *spool, const char *buf,
                            apr_size_t len);

/**
 * A FILE bucket over `len` bytes from `offset`; several when it is huge. It
 * holds a file handle of its own (made in p): a filter that sets it aside
 * leaves the spool and all other buckets as they are.
 */
void up_spool_insert(up_spool_t *spool, apr_bucket_brigade *bb,
                     apr_off_t offset, apr_off_t len, apr_pool_t *p);

#endif
