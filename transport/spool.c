/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Temporary files: where they are made, and buckets over them.
 */

#include "transport/spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "apr_atomic.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include "config/log.h"

#define NAME_TRIES 100
#define BUCKET_MAX 0x40000000
#define DIGITS 10

/** The files of this process are numbered; the name lasts only a moment. */
static volatile apr_uint32_t counter;

/** "9/21/0000000219" of 219 with levels 1 2. */
static const char *directory_of(apr_pool_t *p, const char *number,
                                const int levels[3])
{
    const char *path = "";
    int left = DIGITS;
    int i;

    for (i = 0; i < 3 && levels[i] > 0 && levels[i] <= left; i++) {
        left -= levels[i];
        path = apr_pstrcat(p, path, "/",
                           apr_pstrndup(p, number + left,
                                        (apr_size_t)levels[i]), NULL);
    }
    return path;
}

/**
 * Makes what is missing of `path`: the directory `dir`, not its parents, and
 * all below it.
 */
static apr_status_t make_directories(apr_pool_t *p, const char *dir,
                                     const char *below)
{
    char *path = apr_pstrcat(p, dir, below, NULL);
    char *end = path + strlen(dir);
    apr_status_t rv;
    char kept;

    for (;;) {
        kept = *end;
        *end = '\0';
        rv = apr_dir_make(path, APR_FPROT_UREAD | APR_FPROT_UWRITE |
                          APR_FPROT_UEXECUTE, p);
        *end = kept;
        if (rv != APR_SUCCESS && !APR_STATUS_IS_EEXIST(rv)) {
            return rv;
        }
        if (!kept) {
            return APR_SUCCESS;
        }
        end += 1 + strcspn(end + 1, "/");
    }
}

static apr_status_t open_file(apr_pool_t *p, const char *name,
                              apr_file_t **pfile)
{
    return apr_file_open(pfile, name,
                         APR_FOPEN_READ | APR_FOPEN_WRITE |
                         APR_FOPEN_CREATE | APR_FOPEN_EXCL |
                         APR_FOPEN_BINARY | APR_FOPEN_SENDFILE_ENABLED,
                         APR_FPROT_UREAD | APR_FPROT_UWRITE, p);
}

/** One try with one name. APR_EEXIST: the name is taken. */
static apr_status_t open_named(apr_pool_t *p, const char *dir,
                               const int levels[3], apr_file_t **pfile)
{
    const char *number;
    const char *below;
    const char *name;
    apr_status_t rv;

    number = apr_psprintf(p, "%010u", apr_atomic_inc32(&counter));
    below = directory_of(p, number, levels);
    name = apr_psprintf(p, "%s%s/%ld-%s", dir, below, (long)getpid(), number);
    rv = open_file(p, name, pfile);
    if (APR_STATUS_IS_ENOENT(rv)) {
        rv = make_directories(p, dir, below);
        if (rv == APR_SUCCESS) {
            rv = open_file(p, name, pfile);
        }
    }
    if (rv == APR_SUCCESS) {
        unlink(name);
    }
    return rv;
}

apr_status_t up_spool_open(apr_pool_t *p, const char *dir, const int levels[3],
                           up_spool_t **pspool)
{
    apr_file_t *file = NULL;
    apr_status_t rv = APR_EEXIST;
    int i;

    /* a name can only be taken by what a crashed process has left */
    for (i = 0; APR_STATUS_IS_EEXIST(rv) && i < NAME_TRIES; i++) {
        rv = open_named(p, dir, levels, &file);
    }
    if (rv == APR_SUCCESS) {
        *pspool = up_spool_of(p, file);
    }
    return rv;
}

up_spool_t *up_spool_of(apr_pool_t *p, apr_file_t *file)
{
    up_spool_t *spool = apr_pcalloc(p, sizeof(*spool));

    spool->file = file;
    return spool;
}

apr_status_t up_spool_begin(request_rec *r, const up_settings_t *settings,
                            int level, const char *what,
                            up_spool_t **pspool)
{
    apr_status_t rv = up_spool_open(r->pool, settings->temp_path,
                                    settings->temp_levels, pspool);

    if (rv == APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, level, 0, r, UPLOGNO(0211)
                      "%s is buffered to a temporary file", what);
    }
    return rv;
}

apr_status_t up_spool_write(up_spool_t *spool, const char *buf,
                            apr_size_t len)
{
    ssize_t n;
    int fd;

    apr_os_file_get(&fd, spool->file);
    while (len > 0) {
        /* the file's position belongs to those who read buckets */
        n = pwrite(fd, buf, len, spool->written);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? errno : APR_ENOSPC;
        }
        buf += n;
        len -= (apr_size_t)n;
        spool->written += n;
    }
    return APR_SUCCESS;
}

/**
 * A handle for one bucket. Setting a FILE bucket aside moves its handle into
 * another pool and leaves -1 in the old one; so the handles share the
 * descriptor, and none of them closes it.
 */
static apr_file_t *handle_of(const up_spool_t *spool, apr_pool_t *p)
{
    apr_file_t *handle = NULL;
    apr_os_file_t fd;

    apr_os_file_get(&fd, spool->file);
    apr_os_file_put(&handle, &fd,
                    APR_FOPEN_READ | APR_FOPEN_BINARY | APR_FOPEN_NOCLEANUP |
                    APR_FOPEN_SENDFILE_ENABLED, p);
    return handle;
}

void up_spool_insert(up_spool_t *spool, apr_bucket_brigade *bb,
                     apr_off_t offset, apr_off_t len, apr_pool_t *p)
{
    apr_bucket *e;
    apr_off_t part;

    while (len > 0) {
        part = len > BUCKET_MAX ? BUCKET_MAX : len;
        e = apr_bucket_file_create(handle_of(spool, p), offset,
                                   (apr_size_t)part, p, bb->bucket_alloc);
        /* the file grows while it is read */
        apr_bucket_file_enable_mmap(e, 0);
        APR_BRIGADE_INSERT_TAIL(bb, e);
        offset += part;
        len -= part;
    }
}
