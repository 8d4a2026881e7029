/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What has blocked of late; see slow.h. */

#include "drivers/slow.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apr_atomic.h"
#include "apr_strings.h"
#include "apr_time.h"
#include "config/clock.h"

#define PLACES 64
#define SECONDS 10

static struct {
    volatile apr_uint32_t key;
    volatile apr_uint32_t until; /* second */
} places[PLACES];

static volatile apr_uint32_t any_until; /* of the last one noted */

static apr_uint32_t second(void)
{
    return (apr_uint32_t)apr_time_sec(up_clock_now());
}

apr_uint32_t up_slow_key(const request_rec *r, up_slow_e kind)
{
    const unsigned char *at = (const unsigned char *)r->uri;
    apr_uint32_t hash = 2166136261u; /* FNV-1a */
    apr_uintptr_t server = (apr_uintptr_t)r->server;

    hash = (hash ^ (apr_uint32_t)(server >> 4)) * 16777619u;
    if (at && *at == '/') {
        at++;
    }
    for (; at && *at && *at != '/'; at++) {
        hash = (hash ^ *at) * 16777619u;
    }
    hash = (hash << 1) | (kind == UP_SLOW_STEPS);
    return hash ? hash : 2;
}

void up_slow_note(apr_uint32_t key)
{
    apr_uint32_t until = second() + SECONDS;

    apr_atomic_set32(&places[key % PLACES].key, key);
    apr_atomic_set32(&places[key % PLACES].until, until);
    apr_atomic_set32(&any_until, until);
}

int up_slow_is(apr_uint32_t key)
{
    return apr_atomic_read32(&any_until) != 0
           && apr_atomic_read32(&places[key % PLACES].key) == key
           && apr_atomic_read32(&places[key % PLACES].until) > second();
}

pid_t up_slow_thread(void)
{
    static __thread pid_t id;

    if (!id) {
        id = (pid_t)syscall(SYS_gettid);
    }
    return id;
}

int up_slow_sleeps(pid_t thread)
{
    char name[64];
    char text[512];
    const char *state = NULL;
    FILE *file;

    apr_snprintf(name, sizeof(name), "/proc/self/task/%d/stat", (int)thread);
    file = fopen(name, "re");
    if (file) {
        if (fgets(text, sizeof(text), file)) {
            state = strrchr(text, ')'); /* "id (name) state ..." */
        }
        (void)fclose(file);
    }
    return state && (state[2] == 'S' || state[2] == 'D');
}
