/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the rules that tie settings together. The relay always needs one
 * buffer to hand to the client while another is read into, hence the lower
 * and the upper bound of the busy size.
 */

#include "config/derived.h"

#include "apr_strings.h"

#define DEFAULT_BUFFER_SIZE     (16 * 1024)
#define DEFAULT_MAX_HEADER_SIZE (64 * 1024)
#define DEFAULT_BUFFERS_NUM     8
#define DEFAULT_BUFFERS_SIZE    (16 * 1024)
#define DEFAULT_MAX_TEMP_FILE   ((apr_off_t)1024 * 1024 * 1024)

static apr_off_t larger(apr_off_t a, apr_off_t b)
{
    return a > b ? a : b;
}

static apr_off_t smaller(apr_off_t a, apr_off_t b)
{
    return a < b ? a : b;
}

static apr_off_t given_or(apr_off_t written, apr_off_t otherwise)
{
    return written != 0 ? written : otherwise;
}

void up_derived_begin(up_sizes_t *written)
{
    memset(written, 0, sizeof(*written));
    written->max_temp_file_size = -1;
}

static void derive_head(up_settings_t *settings)
{
    const up_sizes_t *written = &settings->written;

    settings->buffer_size = given_or(written->buffer_size,
                                     DEFAULT_BUFFER_SIZE);
    if (written->max_header_size != 0) {
        settings->max_header_size = written->max_header_size;
        settings->buffer_size = smaller(settings->buffer_size,
                                        settings->max_header_size);
    }
    else {
        settings->max_header_size = larger(DEFAULT_MAX_HEADER_SIZE,
                                           settings->buffer_size);
    }
}

void up_derived_sizes(up_settings_t *settings)
{
    const up_sizes_t *written = &settings->written;
    apr_off_t least, most;

    derive_head(settings);
    settings->buffers_num = written->buffers_num != 0 ? written->buffers_num
                                                      : DEFAULT_BUFFERS_NUM;
    settings->buffers_size = given_or(written->buffers_size,
                                      DEFAULT_BUFFERS_SIZE);

    least = larger(settings->buffer_size, settings->buffers_size);
    most = (settings->buffers_num - 1) * settings->buffers_size;

    /* A head buffer larger than all the others leaves no room between the
     * bounds; then the lower one counts, or nothing could ever be sent. */
    settings->busy_buffers_size =
        larger(smaller(given_or(written->busy_buffers_size, 2 * least), most),
               least);
    settings->temp_file_write_size =
        larger(given_or(written->temp_file_write_size, 2 * least), least);
    settings->max_temp_file_size = written->max_temp_file_size;
    if (settings->max_temp_file_size < 0) {
        settings->max_temp_file_size = DEFAULT_MAX_TEMP_FILE;
    }
    if (settings->max_temp_file_size != 0) {
        settings->max_temp_file_size = larger(settings->max_temp_file_size,
                                              least);
    }
}

static const char *too_small(apr_pool_t *p, const char *name, apr_off_t size,
                             const up_sizes_t *written)
{
    apr_off_t least = larger(written->buffer_size, written->buffers_size);

    if (size >= least) {
        return NULL;
    }
    return apr_psprintf(p, "%s %" APR_OFF_T_FMT " is too small: write at "
                        "least %" APR_OFF_T_FMT ", the size of %s in this "
                        "section", name, size, least,
                        least == written->buffer_size
                            ? "UpstreamBufferSize"
                            : "one of the UpstreamBuffers");
}

static const char *too_busy(apr_pool_t *p, const up_sizes_t *written)
{
    apr_off_t most = (written->buffers_num - 1) * written->buffers_size;

    if (written->buffers_num == 0 || written->busy_buffers_size <= most) {
        return NULL;
    }
    return apr_psprintf(p, "UpstreamBusyBuffersSize %" APR_OFF_T_FMT " is too "
                        "large: write at most %" APR_OFF_T_FMT ", all "
                        "UpstreamBuffers of this section but one",
                        written->busy_buffers_size, most);
}

const char *up_derived_conflict(apr_pool_t *p, const up_sizes_t *written)
{
    const char *error = NULL;

    if (written->max_header_size != 0
        && written->max_header_size < written->buffer_size) {
        return apr_psprintf(p, "UpstreamMaxHeaderSize %" APR_OFF_T_FMT " is "
                            "too small: write at least %" APR_OFF_T_FMT ", "
                            "the UpstreamBufferSize of this section",
                            written->max_header_size, written->buffer_size);
    }
    if (written->busy_buffers_size != 0) {
        error = too_small(p, "UpstreamBusyBuffersSize",
                          written->busy_buffers_size, written);
        error = error != NULL ? error : too_busy(p, written);
    }
    if (error == NULL && written->max_temp_file_size > 0) {
        error = too_small(p, "UpstreamMaxTempFileSize",
                          written->max_temp_file_size, written);
    }
    if (error == NULL && written->temp_file_write_size != 0) {
        error = too_small(p, "UpstreamTempFileWriteSize",
                          written->temp_file_write_size, written);
    }
    return error;
}

/* nginx hides these: they speak to the proxy, or the server has its own. */
apr_hash_t *up_derived_builtin_hidden(apr_pool_t *p)
{
    static const char *const names[] = {
        "date", "server", "x-pad", "x-accel-expires", "x-accel-redirect",
        "x-accel-limit-rate", "x-accel-buffering", "x-accel-charset", NULL
    };
    apr_hash_t *hidden = apr_hash_make(p);
    const char *const *name;

    for (name = names; *name != NULL; name++) {
        apr_hash_set(hidden, *name, APR_HASH_KEY_STRING, *name);
    }
    return hidden;
}

/* Enters every name of a list, or takes it out. */
static void apply(apr_pool_t *p, apr_hash_t *hidden,
                  const apr_array_header_t *names, int hide)
{
    int i;

    for (i = 0; names != NULL && i < names->nelts; i++) {
        char *name = apr_pstrdup(p, APR_ARRAY_IDX(names, i, const char *));

        ap_str_tolower(name);
        apr_hash_set(hidden, name, APR_HASH_KEY_STRING, hide ? name : NULL);
    }
}

void up_derived_hidden(apr_pool_t *p, up_settings_t *settings,
                       apr_hash_t *builtin)
{
    if (settings->hide_headers == NULL && settings->pass_headers == NULL) {
        settings->hidden = builtin;
        return;
    }
    settings->hidden = apr_hash_copy(p, builtin);
    apply(p, settings->hidden, settings->hide_headers, 1);
    apply(p, settings->hidden, settings->pass_headers, 0);
}
