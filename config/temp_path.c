/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the check whether the children can write to UpstreamTempPath. Modes
 * alone do not tell (groups, ACLs, directories above), so a process that
 * becomes the configured User tries.
 */

#include "config/temp_path.h"

#include <errno.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apr_tables.h"
#include "config/log.h"
#include "http_core.h"
#include "unixd.h"

static apr_array_header_t *paths; /* of const char * */

static apr_status_t forget_paths(void *unused)
{
    (void)unused;
    paths = NULL;
    return APR_SUCCESS;
}

void up_temppath_note(apr_pool_t *pconf, const char *path)
{
    int i;

    if (paths == NULL) {
        paths = apr_array_make(pconf, 2, sizeof(const char *));
        apr_pool_cleanup_register(pconf, NULL, forget_paths,
                                  apr_pool_cleanup_null);
    }
    for (i = 0; i < paths->nelts; i++) {
        if (strcmp(APR_ARRAY_IDX(paths, i, const char *), path) == 0) {
            return;
        }
    }
    APR_ARRAY_PUSH(paths, const char *) = path;
}

/* In a process of its own: what writing there would come to. */
static int try_as_user(const char *path)
{
    if (geteuid() == 0
        && (ap_unixd_config.user_name == NULL
            || setgid(ap_unixd_config.group_id) != 0
            || initgroups(ap_unixd_config.user_name,
                          ap_unixd_config.group_id) != 0
            || setuid(ap_unixd_config.user_id) != 0)) {
        return 0; /* httpd itself says so when it cannot */
    }
    return access(path, W_OK | X_OK) == 0 ? 0 : errno;
}

/* An errno, 0: all is well or could not be found out. */
static int ask(const char *path)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(try_as_user(path));
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void check(server_rec *s, const char *path)
{
    int error = ask(path);

    if (error != 0) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, s, UPLOGNO(0107)
                     "UpstreamTempPath %s: user %s cannot make files there; "
                     "requests and responses that do not fit into memory will "
                     "fail with 500 or be cut", path,
                     ap_unixd_config.user_name ? ap_unixd_config.user_name
                                               : "of the server");
    }
}

void up_temppath_post_config(server_rec *s, const char *usual)
{
    int i;

    /* At start the configuration is read twice. After a chroot the paths are
     * others. */
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG
        || ap_unixd_config.chroot_dir != NULL) {
        return;
    }
    for (i = 0; paths != NULL && i < paths->nelts; i++) {
        check(s, APR_ARRAY_IDX(paths, i, const char *));
    }
    if (paths == NULL && usual != NULL) {
        check(s, usual);
    }
}
