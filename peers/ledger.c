/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the layout of the ledger: a head, the rows' names, and then, a child
 * after the other, their counts. A part that no child has ever used costs no
 * memory.
 */

#include "peers/ledger.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "apr_md5.h"
#include "peers/shared_lock.h"

#define LINE 64
#define ROUND(n) (((n) + LINE - 1) / LINE * LINE)

/* From counts to counts: no two children write to the same line. */
#define STEP ROUND(sizeof(up_counts_t))

typedef struct head_t {
    pthread_mutex_t lock;
    apr_uint64_t clock; /* rows that were left so far */
} head_t;

typedef struct row_t {
    unsigned char key[APR_MD5_DIGESTSIZE];
    int taken;
    apr_uint64_t left;       /* the clock when nobody used it any more */
    unsigned short users[];  /* of each child */
} row_t;

struct up_ledger_t {
    head_t *head;
    atomic_int *pids; /* 0: the part is free; the last one is everybody's */
    char *rows;
    char *counts;
    int nrows;
    int places;
    int place; /* this child's */
};

#define OTHERS 0 /* the row of what has none */

static up_ledger_t *ours;
static up_counts_t nowhere;

static apr_size_t row_size(int places)
{
    return ROUND(sizeof(row_t) + sizeof(unsigned short) * (apr_size_t)places);
}

static apr_size_t pids_size(int places)
{
    return ROUND(sizeof(atomic_int) * (apr_size_t)places);
}

apr_size_t up_ledger_needs(int rows, int places)
{
    return ROUND(sizeof(head_t)) + pids_size(places)
           + row_size(places) * (apr_size_t)rows
           + STEP * (apr_size_t)rows * (apr_size_t)places;
}

up_ledger_t *up_ledger_make(apr_pool_t *p, void *base, int rows, int places,
                            int fresh)
{
    up_ledger_t *ledger = apr_pcalloc(p, sizeof(*ledger));
    char *at = base;

    ledger->head = base;
    at += ROUND(sizeof(head_t));
    ledger->pids = (atomic_int *)at;
    at += pids_size(places);
    ledger->rows = at;
    at += row_size(places) * (apr_size_t)rows;
    ledger->counts = at;
    ledger->nrows = rows;
    ledger->places = places;
    ledger->place = places - 1;
    if (fresh && !up_sharedlock_make(&ledger->head->lock)) {
        ours = NULL;
        return NULL;
    }
    ours = ledger;
    return ledger;
}

static row_t *row_at(const up_ledger_t *ledger, int n)
{
    return (row_t *)(ledger->rows
                     + row_size(ledger->places) * (apr_size_t)n);
}

static up_counts_t *counts_at(const up_ledger_t *ledger, int place, int row)
{
    apr_size_t n = (apr_size_t)place * (apr_size_t)ledger->nrows
                   + (apr_size_t)row;

    return (up_counts_t *)(ledger->counts + STEP * n);
}

/* -1: they are in no row. */
static int row_of(const up_counts_t *counts)
{
    const char *at = (const char *)counts;

    if (!ours || at < ours->counts
        || at >= (char *)counts_at(ours, ours->places, 0)) {
        return -1;
    }
    return (int)((apr_size_t)(at - ours->counts) / STEP
                 % (apr_size_t)ours->nrows);
}

/* --- children ------------------------------------------------------------ */

/* Of a child whose end nobody was told of. */
static int is_dead(int pid)
{
    return kill((pid_t)pid, 0) && errno == ESRCH;
}

static void note_left(up_ledger_t *ledger, row_t *row)
{
    int i;

    for (i = 0; i < ledger->places; i++) {
        if (row->users[i]) {
            return;
        }
    }
    row->left = ++ledger->head->clock;
}

static void empty_place(up_ledger_t *ledger, int place)
{
    int i;

    for (i = 0; i < ledger->nrows; i++) {
        row_t *row = row_at(ledger, i);

        if (row->taken && row->users[place]) {
            up_counts_bury(counts_at(ledger, place, i));
            row->users[place] = 0;
            note_left(ledger, row);
        }
    }
    up_counts_bury(counts_at(ledger, place, OTHERS));
    atomic_store(&ledger->pids[place], 0);
}

void up_ledger_enter(pid_t pid)
{
    int i;

    if (!ours) {
        return;
    }
    up_sharedlock_take(&ours->head->lock);
    for (i = 0; i < ours->places - 1; i++) {
        int owner = atomic_load(&ours->pids[i]);

        if (owner && is_dead(owner)) {
            empty_place(ours, i);
            owner = 0;
        }
        if (!owner) {
            atomic_store(&ours->pids[i], (int)pid);
            row_at(ours, OTHERS)->users[i] = 1; /* for good: see sum_row */
            ours->place = i;
            break;
        }
    }
    up_sharedlock_give(&ours->head->lock);
}

void up_ledger_bury(pid_t pid)
{
    int i;

    if (!ours) {
        return;
    }
    up_sharedlock_take(&ours->head->lock);
    for (i = 0; i < ours->places - 1; i++) {
        if (atomic_load(&ours->pids[i]) == (int)pid) {
            empty_place(ours, i);
        }
    }
    up_sharedlock_give(&ours->head->lock);
}

int up_ledger_children(void)
{
    int n = 0;
    int i;

    for (i = 0; ours && i < ours->places - 1; i++) {
        n += atomic_load(&ours->pids[i]) != 0;
    }
    return n;
}

/* --- rows ---------------------------------------------------------------- */

static void make_key(const char *group, const char *name, unsigned char *key)
{
    apr_md5_ctx_t md5;

    apr_md5_init(&md5);
    apr_md5_update(&md5, group, strlen(group) + 1);
    apr_md5_update(&md5, name, strlen(name) + 1);
    apr_md5_final(key, &md5);
}

/* The row with the key; else an empty one; else that which was left first. */
static int find_row(const up_ledger_t *ledger, const unsigned char *key)
{
    int best = -1;
    int i;

    for (i = OTHERS + 1; i < ledger->nrows; i++) {
        row_t *row = row_at(ledger, i);

        if (row->taken
            && memcmp(row->key, key, sizeof(row->key)) == 0) {
            return i;
        }
        if (!row->taken || row->left) {
            if (best < 0 || (row_at(ledger, best)->taken
                             && (!row->taken
                                 || row->left < row_at(ledger, best)->left))) {
                best = i;
            }
        }
    }
    return best;
}

static void take_row(up_ledger_t *ledger, int n, const unsigned char *key)
{
    row_t *row = row_at(ledger, n);
    int i;

    if (row->taken && memcmp(row->key, key, sizeof(row->key)) == 0) {
        return;
    }
    for (i = 0; i < ledger->places && row->taken; i++) {
        up_counts_reset(counts_at(ledger, i, n));
    }
    memcpy(row->key, key, sizeof(row->key));
    row->left = 0;
    row->taken = 1;
}

up_counts_t *up_ledger_find(const char *group, const char *name)
{
    unsigned char key[APR_MD5_DIGESTSIZE];
    int n;

    if (!ours) {
        return &nowhere;
    }
    make_key(group, name, key);
    up_sharedlock_take(&ours->head->lock);
    n = find_row(ours, key);
    if (n >= 0) {
        take_row(ours, n, key);
        row_at(ours, n)->users[ours->place]++;
        row_at(ours, n)->left = 0;
    }
    up_sharedlock_give(&ours->head->lock);
    return counts_at(ours, ours->place, n < 0 ? OTHERS : n);
}

up_counts_t *up_ledger_others(void)
{
    return ours ? counts_at(ours, ours->place, OTHERS) : &nowhere;
}

void up_ledger_leave(up_counts_t *counts)
{
    int n = row_of(counts);
    row_t *row;

    if (n <= OTHERS) {
        return;
    }
    up_sharedlock_take(&ours->head->lock);
    row = row_at(ours, n);
    if (row->users[ours->place]) {
        row->users[ours->place]--;
    }
    note_left(ours, row);
    up_sharedlock_give(&ours->head->lock);
}

static void sum_row(const up_ledger_t *ledger, int row, up_counts_t *sum)
{
    int i;

    for (i = 0; i < ledger->places; i++) {
        /* a part that was never used is not read: that would fill it */
        if (row_at(ledger, OTHERS)->users[i] || i == ledger->places - 1) {
            up_counts_sum(sum, counts_at(ledger, i, row));
        }
    }
}

void up_ledger_sum(const up_counts_t *counts, up_counts_t *sum)
{
    int n = row_of(counts);

    memset(sum, 0, sizeof(*sum));
    if (n < 0) {
        up_counts_sum(sum, counts);
        return;
    }
    sum_row(ours, n, sum);
}

void up_ledger_reset(const up_counts_t *counts)
{
    int n = row_of(counts);
    int i;

    for (i = 0; n >= 0 && i < ours->places; i++) {
        up_counts_reset(counts_at(ours, i, n));
    }
}

void up_ledger_inherit(up_ledger_t *ledger, const up_ledger_t *from)
{
    int n, i;

    for (i = 0; i < from->nrows; i++) {
        const row_t *row = row_at(from, i);

        n = OTHERS;
        if (i != OTHERS) {
            n = row->taken ? find_row(ledger, row->key) : -1;
        }
        if (n < 0) {
            continue;
        }
        if (i != OTHERS) {
            take_row(ledger, n, row->key);
            note_left(ledger, row_at(ledger, n));
        }
        sum_row(from, i, counts_at(ledger, ledger->places - 1, n));
        up_counts_bury(counts_at(ledger, ledger->places - 1, n));
    }
}
