/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the layout of a zone: a head, then a slot a server. A slot is a state
 * and, for each child and for those that found no place, a cell.
 */

#include "peers/zone.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apr_md5.h"
#include "peers/health.h"
#include "peers/shared_lock.h"

#define LINE 64 /* bytes that processors pass to each other */
#define LOOKS 3 /* of an audit, before it believes what it sees */

#define ROUND(n) (((n) + LINE - 1) / LINE * LINE)

typedef struct head_t {
    pthread_mutex_t lock; /* of all but states and cells */
    uint64_t clock;       /* states that were left so far */
    atomic_int pids[];    /* of the children, 0: the place is free */
} head_t;

typedef struct slot_t {
    unsigned char key[APR_MD5_DIGESTSIZE];
    int taken;
    int configured; /* in this generation */
    int marks;      /* the cells are no counts: up_zonemem_marks */
    uint64_t left;  /* the head's clock when nobody used it any more */
    int drift;      /* the least that in_use was too high by, */
    int looks;      /* in so many audits */
    up_peerstate_t state __attribute__((aligned(LINE)));
    atomic_int cells[] __attribute__((aligned(LINE)));
} slot_t;

/* The users of a slot stand behind its cells: how many peers of each child. */

struct up_zonemem_t {
    head_t *head;
    char *slots;
    apr_size_t step; /* from slot to slot */
    int room;        /* slots */
    int children;
    int place;       /* this child's cell; `children`: it has none */
};

/* What of a state outlives its generation. */
typedef struct saved_t {
    unsigned char key[APR_MD5_DIGESTSIZE];
    up_peerstate_t state;
} saved_t;

static apr_size_t head_size(int children)
{
    return ROUND(sizeof(head_t) + sizeof(atomic_int) * (apr_size_t)children);
}

static apr_size_t slot_size(int children)
{
    return ROUND(sizeof(slot_t) + (sizeof(atomic_int) + sizeof(unsigned short))
                                      * ((apr_size_t)children + 1));
}

apr_size_t up_zonemem_needs(int servers, int children)
{
    return LINE + head_size(children)
           + slot_size(children) * (apr_size_t)servers;
}

static slot_t *slot_at(const up_zonemem_t *zone, int n)
{
    return (slot_t *)(zone->slots + zone->step * (apr_size_t)n);
}

static slot_t *slot_of(const up_peerstate_t *state)
{
    return (slot_t *)((char *)state - offsetof(slot_t, state));
}

static unsigned short *users_of(const up_zonemem_t *zone, slot_t *slot)
{
    return (unsigned short *)(slot->cells + zone->children + 1);
}

/* Whoever died with it: what stands there is whole, `taken` comes last. */
static void lock(up_zonemem_t *zone)
{
    up_sharedlock_take(&zone->head->lock);
}

static void unlock(up_zonemem_t *zone)
{
    up_sharedlock_give(&zone->head->lock);
}

up_zonemem_t *up_zonemem_make(apr_pool_t *p, void *base, apr_size_t size,
                              int children)
{
    char *start = (char *)ROUND((uintptr_t)base);
    apr_size_t lost = (apr_size_t)(start - (char *)base);
    up_zonemem_t *zone = apr_pcalloc(p, sizeof(*zone));

    if (size < up_zonemem_needs(1, children)) {
        return NULL;
    }
    memset(base, 0, size);
    zone->head = (head_t *)start;
    zone->slots = start + head_size(children);
    zone->step = slot_size(children);
    zone->room = (int)((size - lost - head_size(children)) / zone->step);
    zone->children = children;
    zone->place = children;
    return up_sharedlock_make(&zone->head->lock) ? zone : NULL;
}

int up_zonemem_room(const up_zonemem_t *zone)
{
    return zone->room;
}

/* --- children ------------------------------------------------------------ */

void up_zonemem_enter(up_zonemem_t *zone, pid_t pid)
{
    int i;

    lock(zone);
    for (i = 0; i < zone->children && zone->place == zone->children; i++) {
        if (!atomic_load(&zone->head->pids[i])) {
            atomic_store(&zone->head->pids[i], (int)pid);
            zone->place = i;
        }
    }
    unlock(zone);
}

static int is_used(const up_zonemem_t *zone, slot_t *slot)
{
    const unsigned short *users = users_of(zone, slot);
    int i;

    for (i = 0; i <= zone->children; i++) {
        if (users[i]) {
            return 1;
        }
    }
    return 0;
}

/* Locked. */
static void note_left(up_zonemem_t *zone, slot_t *slot)
{
    if (!is_used(zone, slot)) {
        slot->left = ++zone->head->clock;
    }
}

static void empty_place(up_zonemem_t *zone, int place)
{
    int i;

    for (i = 0; i < zone->room; i++) {
        slot_t *slot = slot_at(zone, i);

        if (slot->taken) {
            int held = atomic_exchange(&slot->cells[place], 0);

            atomic_fetch_sub(&slot->state.in_use, slot->marks ? 0 : held);
            users_of(zone, slot)[place] = 0;
            note_left(zone, slot);
        }
    }
}

void up_zonemem_bury(up_zonemem_t *zone, pid_t pid)
{
    int i;

    lock(zone);
    for (i = 0; i < zone->children; i++) {
        if (atomic_load(&zone->head->pids[i]) == (int)pid) {
            empty_place(zone, i);
            atomic_store(&zone->head->pids[i], 0);
        }
    }
    unlock(zone);
}

/* --- states -------------------------------------------------------------- */

/* Two servers of a group that are written alike are two. */
static int ordinal(const up_group_t *group, const up_server_t *server)
{
    const up_server_t *other = (const up_server_t *)group->servers->elts;
    int n = 0;

    for (; server && other < server; other++) {
        n += other->text && server->text
             && strcmp(other->text, server->text) == 0;
    }
    return n;
}

static void make_key(const up_group_t *group, const up_server_t *server,
                     const char *name, unsigned char *key)
{
    int n = ordinal(group, server);
    apr_md5_ctx_t md5;

    apr_md5_init(&md5);
    apr_md5_update(&md5, group->name, strlen(group->name) + 1);
    apr_md5_update(&md5, name, strlen(name) + 1);
    apr_md5_update(&md5, &n, sizeof(n));
    apr_md5_final(key, &md5);
}

static slot_t *find_key(const up_zonemem_t *zone, const unsigned char *key)
{
    int i;

    for (i = 0; i < zone->room; i++) {
        slot_t *slot = slot_at(zone, i);

        if (slot->taken && memcmp(slot->key, key, sizeof(slot->key)) == 0) {
            return slot;
        }
    }
    return NULL;
}

/* An empty slot, else that of the server that is gone for longest. */
static slot_t *find_place(const up_zonemem_t *zone)
{
    slot_t *best = NULL;
    int i;

    for (i = 0; i < zone->room; i++) {
        slot_t *slot = slot_at(zone, i);

        if (!slot->taken) {
            return slot;
        }
        if (!is_used(zone, slot) && (!best || slot->left < best->left)) {
            best = slot;
        }
    }
    return best;
}

static slot_t *take_slot(up_zonemem_t *zone, const unsigned char *key)
{
    slot_t *slot = find_place(zone);

    if (slot) {
        memset(slot, 0, zone->step);
        memcpy(slot->key, key, sizeof(slot->key));
        slot->taken = 1;
    }
    return slot;
}

up_peerstate_t *up_zonemem_find(up_zonemem_t *zone, const up_group_t *group,
                                const up_server_t *server, const char *name)
{
    unsigned char key[APR_MD5_DIGESTSIZE];
    slot_t *slot;

    make_key(group, server, name, key);
    lock(zone);
    slot = find_key(zone, key);
    if (!slot) {
        slot = take_slot(zone, key);
    }
    if (slot) {
        users_of(zone, slot)[zone->place]++;
        if (server && !slot->configured) {
            up_peerstate_configure(&slot->state, server);
            up_health_restored(&slot->state, group->check);
            slot->configured = 1;
        }
    }
    unlock(zone);
    return slot ? &slot->state : NULL;
}

void up_zonemem_marks(up_zonemem_t *zone, const up_group_t *group,
                      const char *name, up_zonemarks_t *marks)
{
    up_peerstate_t *state = up_zonemem_find(zone, group, NULL, name);

    marks->all = state ? slot_of(state)->cells : NULL;
    marks->n = zone->children + 1;
    marks->own = zone->place;
    if (state) {
        slot_of(state)->marks = 1;
    }
}

atomic_int *up_zonemem_cell(const up_zonemem_t *zone, up_peerstate_t *state)
{
    return &slot_of(state)->cells[zone->place];
}

void up_zonemem_leave(up_zonemem_t *zone, up_peerstate_t *state)
{
    slot_t *slot = slot_of(state);
    unsigned short *users = users_of(zone, slot);

    lock(zone);
    if (users[zone->place]) {
        users[zone->place]--;
    }
    note_left(zone, slot);
    unlock(zone);
}

/* --- the parent ---------------------------------------------------------- */

/* By how much in_use is too high, as it seems. */
static int drift_of(const up_zonemem_t *zone, slot_t *slot)
{
    int drift = atomic_load(&slot->state.in_use);
    int i;

    for (i = 0; i <= zone->children; i++) {
        drift -= atomic_load(&slot->cells[i]);
    }
    return drift;
}

int up_zonemem_audit(up_zonemem_t *zone)
{
    int mended = 0;
    int i;

    lock(zone);
    for (i = 0; i < zone->room; i++) {
        slot_t *slot = slot_at(zone, i);
        int drift = slot->taken && !slot->marks ? drift_of(zone, slot) : 0;

        slot->drift = slot->looks && slot->drift < drift ? slot->drift : drift;
        slot->looks = drift > 0 ? slot->looks + 1 : 0;
        if (slot->looks == LOOKS) {
            atomic_fetch_sub(&slot->state.in_use, slot->drift);
            mended += slot->drift;
            slot->looks = 0;
        }
    }
    unlock(zone);
    return mended;
}

void *up_zonemem_save(up_zonemem_t *zone, apr_size_t *psize)
{
    saved_t *saved = malloc(sizeof(*saved) * (apr_size_t)zone->room);
    int n = 0;
    int i;

    lock(zone);
    for (i = 0; saved && i < zone->room; i++) {
        slot_t *slot = slot_at(zone, i);

        if (slot->taken) {
            memcpy(saved[n].key, slot->key, sizeof(slot->key));
            memcpy(&saved[n].state, &slot->state, sizeof(slot->state));
            n++;
        }
    }
    unlock(zone);
    *psize = sizeof(*saved) * (apr_size_t)n;
    return saved;
}

void up_zonemem_restore(up_zonemem_t *zone, const void *saved,
                        apr_size_t size)
{
    const saved_t *one = saved;

    if (size % sizeof(*one)) {
        return;
    }
    lock(zone);
    for (; size; size -= sizeof(*one), one++) {
        slot_t *slot = find_key(zone, one->key) ? NULL
                                                : take_slot(zone, one->key);

        if (slot) {
            memcpy(&slot->state, &one->state, sizeof(slot->state));
            atomic_init(&slot->state.in_use, 0);
            note_left(zone, slot);
        }
    }
    unlock(zone);
}
