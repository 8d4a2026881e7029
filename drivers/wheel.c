/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The timer wheel; see wheel.h. */

#include "drivers/wheel.h"

#include "drivers/loop.h"

#define SLOTS 1024
#define TICK apr_time_from_msec(10)

/* A thread sleeps at most this many ticks with a timer set. */
#define SLEEP_TICKS 50

APR_RING_HEAD(up_slotring_t, up_watch_t);

struct up_wheel_t {
    struct up_slotring_t slots[SLOTS];
    apr_int64_t tick; /* up to here everything has been looked at */
    int count;
};

up_wheel_t *up_wheel_make(apr_pool_t *p, apr_time_t now)
{
    up_wheel_t *wheel = apr_pcalloc(p, sizeof(*wheel));
    int i;

    for (i = 0; i < SLOTS; i++) {
        APR_RING_INIT(&wheel->slots[i], up_watch_t, slot);
    }
    wheel->tick = now / TICK;
    return wheel;
}

void up_wheel_remove(up_wheel_t *wheel, up_watch_t *watch)
{
    if (watch->tick >= 0) {
        APR_RING_REMOVE(watch, slot);
        watch->tick = -1;
        wheel->count--;
    }
}

void up_wheel_set(up_wheel_t *wheel, up_watch_t *watch)
{
    apr_int64_t tick;

    if (!watch->due) {
        return; /* dropped when its old moment comes */
    }
    tick = watch->due / TICK + 1;
    if (watch->tick >= 0 && watch->tick <= tick) {
        return;
    }
    up_wheel_remove(wheel, watch);
    watch->tick = tick <= wheel->tick ? wheel->tick + 1 : tick;
    APR_RING_INSERT_TAIL(&wheel->slots[watch->tick % SLOTS], watch,
                         up_watch_t, slot);
    wheel->count++;
}

int up_wheel_timeout(const up_wheel_t *wheel, apr_time_t now)
{
    apr_int64_t tick;
    apr_time_t left;

    if (!wheel->count) {
        return -1;
    }
    for (tick = wheel->tick + 1; tick < wheel->tick + SLEEP_TICKS; tick++) {
        if (!APR_RING_EMPTY(&wheel->slots[tick % SLOTS], up_watch_t, slot)) {
            break;
        }
    }
    left = tick * TICK - now;
    return left <= 0 ? 0 : (int)apr_time_as_msec(left) + 1;
}

/* Looks at one slot; watches of a later round stay. */
static void turn_slot(up_wheel_t *wheel, apr_int64_t tick, apr_time_t now,
                      void (*expired)(up_watch_t *watch))
{
    struct up_slotring_t *slot = &wheel->slots[tick % SLOTS];
    up_watch_t *watch = APR_RING_FIRST(slot);

    while (watch != APR_RING_SENTINEL(slot, up_watch_t, slot)) {
        up_watch_t *next = APR_RING_NEXT(watch, slot);

        if (watch->tick <= tick) {
            up_wheel_remove(wheel, watch);
            if (watch->due && watch->due <= now) {
                expired(watch);
            }
            else {
                up_wheel_set(wheel, watch);
            }
        }
        watch = next;
    }
}

void up_wheel_turn(up_wheel_t *wheel, apr_time_t now,
                   void (*expired)(up_watch_t *watch))
{
    apr_int64_t to = now / TICK;
    apr_int64_t from = wheel->tick + 1;

    if (to - wheel->tick > SLOTS) {
        from = to - SLOTS + 1; /* a whole turn: every slot once */
    }
    for (; from <= to; from++) {
        turn_slot(wheel, from, now, expired);
        wheel->tick = from;
    }
}
