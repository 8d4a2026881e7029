/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Owns the wheel of timers: a slot is a list of what is due in its
 * millisecond, or a turn or more later. */
#include "kit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 16384 /* a power of two */

static kit_timer_t wheel[SLOTS];
static uint64_t turned; /* the last millisecond that was run */

void kit_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

uint64_t kit_number(const char *text)
{
    char *end;
    uint64_t number;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno || end == text || *end) {
        errno = EINVAL;
        kit_die(text);
    }
    return number;
}

uint64_t kit_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* --- bodies -------------------------------------------------------------- */

/* The pattern from any of its bytes on, KIT_ROOM long. */
static const char *pattern_from(uint64_t offset)
{
    static char bytes[KIT_ROOM + KIT_PATTERN];
    size_t i;

    if (!bytes[1]) {
        for (i = 0; i < sizeof(bytes); i++) {
            bytes[i] = (char)(i % KIT_PATTERN);
        }
    }
    return bytes + offset % KIT_PATTERN;
}

void kit_fill(char *to, size_t length, uint64_t offset)
{
    memcpy(to, pattern_from(offset), length);
}

int kit_right(const char *bytes, size_t length, uint64_t offset)
{
    return !memcmp(bytes, pattern_from(offset), length);
}

/* --- timers -------------------------------------------------------------- */

static kit_timer_t *slot_of(uint64_t ms)
{
    kit_timer_t *head = &wheel[ms % SLOTS];

    if (!head->next) {
        head->next = head->prev = head;
    }
    return head;
}

void kit_timer_drop(kit_timer_t *timer)
{
    if (timer->next) {
        timer->next->prev = timer->prev;
        timer->prev->next = timer->next;
        timer->next = timer->prev = NULL;
    }
}

void kit_timer_set(kit_timer_t *timer, unsigned ms)
{
    kit_timer_t *head;

    kit_timer_drop(timer);
    /* Never into the millisecond that is being run, nor early. */
    timer->due = kit_now() / 1000 + ms + 1;
    head = slot_of(timer->due);
    timer->next = head;
    timer->prev = head->prev;
    head->prev->next = timer;
    head->prev = timer;
}

/* A timer that fires may drop any other one, so the list is begun anew
 * after each. */
static void run_slot(uint64_t ms)
{
    kit_timer_t *head = slot_of(ms);
    kit_timer_t *timer = head->next;

    while (timer != head) {
        if (timer->due > ms) {
            timer = timer->next;
            continue;
        }
        kit_timer_drop(timer);
        timer->fire(timer->baton);
        timer = head->next;
    }
}

int kit_timers_run(void)
{
    uint64_t now = kit_now() / 1000;
    uint64_t ms;

    if (!turned || now - turned > SLOTS) {
        turned = now - 1;
    }
    while (turned < now) {
        run_slot(++turned);
    }
    for (ms = now + 1; ms < now + 100; ms++) {
        if (slot_of(ms)->next != slot_of(ms)) {
            break;
        }
    }
    return (int)(ms - now);
}
