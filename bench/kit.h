/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* What the two programs of this directory share: the time, timers, the
 * bytes that all bodies consist of. One thread. */
#ifndef UP_BENCH_KIT_H
#define UP_BENCH_KIT_H

#include <stddef.h>
#include <stdint.h>

/* Ends the program with a message and the text of errno. */
void kit_die(const char *what) __attribute__((noreturn));

/* The number that is all of `text`, or the end of the program. */
uint64_t kit_number(const char *text);

/* Microseconds of the monotonic clock. */
uint64_t kit_now(void);

/* Bodies: the byte at an offset is known to everybody. */
#define KIT_PATTERN 251
void kit_fill(char *to, size_t length, uint64_t offset);
/* Are these the bytes that belong at the offset? At most KIT_ROOM. */
#define KIT_ROOM 65536
int kit_right(const char *bytes, size_t length, uint64_t offset);

/* A timer is part of what it is for; zero is one that is not set. */
typedef struct kit_timer_t kit_timer_t;
struct kit_timer_t {
    kit_timer_t *next, *prev; /* NULL: not set */
    uint64_t due;             /* ms */
    void (*fire)(void *baton);
    void *baton;
};

/* Sets or moves a timer, `fire` and `baton` being there. */
void kit_timer_set(kit_timer_t *timer, unsigned ms);
void kit_timer_drop(kit_timer_t *timer);

/* Fires what is due. Call it at least every second.
 * @return  how long epoll_wait may wait, ms */
int kit_timers_run(void);

#endif
