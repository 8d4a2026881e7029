/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The files that responses are kept in; see store.h. */

#include "exchange/store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apr_atomic.h"
#include "apr_date.h"
#include "apr_portable.h"
#include "apr_strings.h"
#include "config/log.h"
#include "config/units.h"
#include "exchange/framing.h"
#include "http_core.h"
#include "http_protocol.h"

struct up_store_t {
    request_rec *r;
    up_spool_t *spool;
    const char *path;  /* its place */
    const char *name;  /* what it is called until then; NULL: renamed */
    apr_time_t modified; /* Last-Modified, 0: none */
};

/* What is being stored by this process is numbered. */
static volatile apr_uint32_t counter;

/* ------------------------------------------------------------------------ */
/* where */

/* A segment that httpd itself would read: a stored .htaccess would let a
 * backend configure this server. */
static int has_ht_segment(const char *path)
{
    const char *at = path;

    while ((at = strstr(at, "/.")) != NULL) {
        if (strncasecmp(at, "/.ht", 4) == 0) {
            return 1;
        }
        at += 2;
    }
    return 0;
}

static const char *refused(request_rec *r, const char *path, const char *why)
{
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r, UPLOGNO(0642)
                  "UpstreamStore: \"%s\" %s: the response is not stored",
                  ap_escape_logitem(r->pool, path), why);
    return NULL;
}

/* The place of the file, absolute; NULL: there is none. */
static const char *place_of(request_rec *r, const up_settings_t *settings)
{
    const char *path;

    if (settings->store == UP_STORE_URI) {
        path = apr_pstrcat(r->pool, ap_document_root(r), r->uri, NULL);
    }
    else {
        path = up_text_value(r, settings->store_path);
    }
    if (!path || *path == '\0') {
        return NULL;
    }
    if (up_units_climbs(path)) {
        return refused(r, path, "has a \"..\" in it");
    }
    if (path[strlen(path) - 1] == '/') {
        return refused(r, path, "is a directory");
    }
    path = ap_server_root_relative(r->pool, path);
    if (!path || has_ht_segment(path)) {
        return refused(r, path ? path : "", "is no name for a stored file");
    }
    return path;
}

/* ------------------------------------------------------------------------ */
/* making */

static apr_status_t failed(const up_store_t *store, apr_status_t rv,
                           const char *what, const char *name)
{
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, store->r, UPLOGNO(0643)
                  "cannot %s %s to store a response (UpstreamStore)", what,
                  name);
    return rv;
}

/* Who may read a file may search its directory; we write into it. */
static mode_t directory_mode(int mode)
{
    return (mode_t)(mode | (mode & 0444) >> 2 | 0700);
}

/* The directories above store->name that are missing. The umask has no say in
 * what UpstreamStoreAccess says. */
static apr_status_t make_directories(const up_store_t *store, int mode)
{
    char *path = apr_pstrdup(store->r->pool, store->name);
    char *at = path;

    while ((at = strchr(at + 1, '/')) != NULL) {
        *at = '\0';
        if (mkdir(path, directory_mode(mode)) == 0) {
            if (chmod(path, directory_mode(mode)) != 0) {
                return failed(store, errno, "chmod", path);
            }
        }
        else if (errno != EEXIST && errno != EISDIR) {
            return failed(store, errno, "make directory", path);
        }
        *at = '/';
    }
    return APR_SUCCESS;
}

static apr_status_t open_name(const up_store_t *store, apr_file_t **pfile)
{
    return apr_file_open(pfile, store->name,
                         APR_FOPEN_READ | APR_FOPEN_WRITE | APR_FOPEN_CREATE
                             | APR_FOPEN_EXCL | APR_FOPEN_BINARY
                             | APR_FOPEN_SENDFILE_ENABLED,
                         APR_FPROT_UREAD | APR_FPROT_UWRITE, store->r->pool);
}

static apr_status_t drop(void *data)
{
    up_store_t *store = data;

    if (store->name) {
        unlink(store->name);
        store->name = NULL;
    }
    return APR_SUCCESS;
}

static apr_status_t open_file(up_store_t *store, int mode)
{
    apr_file_t *file = NULL;
    apr_os_file_t fd;
    apr_status_t rv = open_name(store, &file);

    if (APR_STATUS_IS_ENOENT(rv)) {
        rv = make_directories(store, mode);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        rv = open_name(store, &file);
    }
    if (rv != APR_SUCCESS) {
        return failed(store, rv, "open", store->name);
    }
    apr_pool_cleanup_register(store->r->pool, store, drop,
                              apr_pool_cleanup_null);
    apr_os_file_get(&fd, file);
    if (fchmod(fd, (mode_t)mode) != 0) {
        return failed(store, errno, "chmod", store->name);
    }
    store->spool = up_spool_of(store->r->pool, file);
    return APR_SUCCESS;
}

int up_store_asked(const request_rec *r, const up_settings_t *settings)
{
    return settings->store != UP_STORE_OFF && r->method_number == M_GET
           && !r->header_only;
}

up_store_t *up_store_begin(request_rec *r, const up_settings_t *settings,
                           const up_head_t *head)
{
    const char *modified = up_head_get(head, "Last-Modified");
    const char *path;
    up_store_t *store;

    if (!up_store_asked(r, settings) || head->status != HTTP_OK) {
        return NULL;
    }
    path = place_of(r, settings);
    if (!path) {
        return NULL;
    }
    store = apr_pcalloc(r->pool, sizeof(*store));
    store->r = r;
    store->path = path;
    store->modified = modified ? apr_date_parse_http(modified) : 0;
    store->name = apr_psprintf(r->pool, "%s.upstream-%ld-%u",
                               ap_make_dirstr_parent(r->pool, path),
                               (long)getpid(), apr_atomic_inc32(&counter));
    return open_file(store, settings->store_mode) == APR_SUCCESS ? store
                                                                 : NULL;
}

up_spool_t *up_store_spool(const up_store_t *store)
{
    return store->spool;
}

void up_store_abandon(up_store_t *store)
{
    drop(store);
}

void up_store_finish(up_store_t *store)
{
    apr_status_t rv = APR_SUCCESS;

    if (store->modified) {
        rv = apr_file_mtime_set(store->name, store->modified, store->r->pool);
    }
    if (rv == APR_SUCCESS && rename(store->name, store->path) != 0) {
        rv = errno;
    }
    if (rv != APR_SUCCESS) {
        failed(store, rv, "make", store->path);
        drop(store);
        return;
    }
    store->name = NULL;
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, store->r, UPLOGNO(0644)
                  "response stored as %s", store->path);
}
