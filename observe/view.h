/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * All groups and servers as they are at a moment: what metrics, status page
 * and API show. A copy in a request's pool; nothing in it changes.
 *
 * Counts are those of all children. What is known of a server, and so its
 * condition, is shared by a group that has a zone; without one it is what the
 * child that is asked has found out.
 */

#ifndef UP_VIEW_H
#define UP_VIEW_H

#include "apr_tables.h"
#include "config/group.h"
#include "peers/peer.h"

typedef enum up_condition_e {
    UP_CONDITION_UP,
    UP_CONDITION_FAILED, /* max_fails: it rests */
    UP_CONDITION_DRAIN,
    UP_CONDITION_DOWN,
    UP_CONDITIONS_N
} up_condition_e;

typedef struct up_peerview_t {
    const char *name;   /* the address */
    const char *server; /* as configured */
    int backup;
    int weight;
    int max_conns;  /* 0: no limit */
    int ordered;    /* UP_ORDERED bits: what an operator has set */
    int full;       /* as many requests as max_conns */
    int fails;
    up_condition_e condition;
    const char *reason; /* in words */
    up_counts_t counts; /* all children's */
} up_peerview_t;

typedef struct up_groupview_t {
    const char *name;
    int implicit;
    const char *zone; /* NULL: none */
    int queue;        /* how many may wait, 0: none */
    apr_array_header_t *peers; /* of up_peerview_t */
    up_counts_t counts;        /* the group's own */
} up_groupview_t;

/** The groups whose name is in the comma separated `names`, which may have *
 * and ? in them; NULL: all. Of up_groupview_t, in pool p. */
apr_array_header_t *up_view_make(apr_pool_t *p, const char *names);

/** Does it match one in the comma separated list? NULL: yes */
int up_view_listed(apr_pool_t *p, const char *names, const char *name);

/** "up", "failed", "drain", "down" */
const char *up_view_condition(up_condition_e condition);

#endif
