/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Which session is at which server: the tables of UpstreamSticky learn, which
 * are httpd's (ap_socache). Memory that the children share is asked at once;
 * what asks another machine or a disk is asked by threads of this file, so
 * that no exchange waits on a thread.
 *
 * A session is known by the MD5 sum of its group's name and its own.
 */

#ifndef UP_SESSIONS_H
#define UP_SESSIONS_H

#include "config/sticky.h"
#include "httpd.h"
#include "peers/bell.h"

/** The search for a session. From malloc; two may hold it. */
typedef struct up_search_t up_search_t;

/** What became of it. */
typedef struct up_found_t {
    char id[33];        /* of the server, "": no such session */
    apr_time_t expires;
} up_found_t;

/** pre_config. */
apr_status_t up_sessions_pre_config(apr_pool_t *pconf);

/**
 * post_config: opens the tables. What is in shared memory outlives a restart.
 * @return OK or HTTP_INTERNAL_SERVER_ERROR, logged
 */
int up_sessions_post_config(apr_pool_t *pconf, server_rec *s);

void up_sessions_child_init(apr_pool_t *p);

/**
 * Begins to look for a session.
 * @param p for what is temporary
 * @return NULL: no memory, or too many wait
 */
up_search_t *up_sessions_seek(apr_pool_t *p, const up_sticky_t *sticky,
                              const char *name);

/**
 * Has it ended? Otherwise `bell`, if it is not NULL, is rung when it does.
 * Only once with a bell.
 */
int up_search_ended(up_search_t *search, up_bell_t *bell, up_found_t *found);

/** The exchange does not want to know any more. */
void up_search_drop(up_search_t *search);

/** The session is at the server `id`, from now on for `timeout`. */
void up_sessions_learn(apr_pool_t *p, const up_sticky_t *sticky,
                       const char *name, const char *id, apr_time_t now);

#endif
