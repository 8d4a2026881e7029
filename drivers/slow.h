/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What has blocked a loop of late: a small table of the first parts of paths,
 * each remembered for ten seconds. Of one kind are hooks in front of the
 * handler (a slow access check), of the other the steps of an exchange (an
 * output filter that sleeps).
 *
 * Any thread; entries that share a place push each other out.
 */

#ifndef UP_SLOW_H
#define UP_SLOW_H

#include <sys/types.h>

#include "apr.h"
#include "httpd.h"

typedef enum up_slow_e {
    UP_SLOW_HOOKS,
    UP_SLOW_STEPS
} up_slow_e;

/** The key of a request's virtual host and the first part of its path. */
apr_uint32_t up_slow_key(const request_rec *r, up_slow_e kind);

/** It has blocked just now. */
void up_slow_note(apr_uint32_t key);

/** Has it blocked in the last ten seconds? */
int up_slow_is(apr_uint32_t key);

/** The calling thread. */
pid_t up_slow_thread(void);

/** Does this thread wait for something? Otherwise it works, or wants to. */
int up_slow_sleeps(pid_t thread);

#endif
