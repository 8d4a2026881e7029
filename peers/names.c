/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the names that are looked up, and the groups' use of them.
 */

#include "peers/names.h"

#include <stdlib.h>
#include <string.h>

#include "config/first_look.h"
#include "config/log.h"
#include "config/resolver.h"
#include "peers/name_table.h"
#include "peers/roster.h"

/* Where a server is: one host, or the hosts of a service. */
typedef struct target_t {
    up_name_t *name;
    apr_port_t port;
    int weight;
    int backup;
} target_t;

typedef struct targets_t {
    target_t *list;
    int count;
} targets_t;

/* A server of a group. */
typedef struct source_t {
    const up_server_t *server; /* with addresses of its own: no targets */
    targets_t targets;
    up_service_t *service; /* NULL: none */
    targets_t coming;      /* of a new answer, being looked up */
    int is_coming;
} source_t;

/* A group that uses names. */
typedef struct record_t {
    struct record_t *next;
    up_group_t *group;
    source_t *sources;
    int count;
    int changed;
} record_t;

struct up_waiter_t {
    struct up_waiter_t *next;
    up_bell_t *bell;
};

static record_t *records;
static server_rec *server; /* for the log */

/* --- waiting ------------------------------------------------------------- */

int up_names_pending(up_peers_t *peers)
{
    int pending;

    apr_thread_mutex_lock(peers->lock);
    pending = peers->pending;
    apr_thread_mutex_unlock(peers->lock);
    return pending;
}

int up_names_wait(up_peers_t *peers, up_bell_t *bell)
{
    struct up_waiter_t *waiter = malloc(sizeof(*waiter));
    int pending;

    if (!waiter) {
        return 0;
    }
    waiter->bell = up_bell_hold(bell);
    apr_thread_mutex_lock(peers->lock);
    pending = peers->pending;
    if (pending) {
        waiter->next = peers->waiters;
        peers->waiters = waiter;
    }
    apr_thread_mutex_unlock(peers->lock);
    if (!pending) {
        up_bell_drop(waiter->bell);
        free(waiter);
    }
    return pending;
}

static void end_waiting(up_peers_t *peers)
{
    struct up_waiter_t *waiter, *next;

    apr_thread_mutex_lock(peers->lock);
    peers->pending = 0;
    waiter = peers->waiters;
    peers->waiters = NULL;
    apr_thread_mutex_unlock(peers->lock);
    for (; waiter; waiter = next) {
        next = waiter->next;
        up_bell_ring(waiter->bell);
        up_bell_drop(waiter->bell);
        free(waiter);
    }
}

/* --- what a group is to have --------------------------------------------- */

/* The entries of a group as they are made up. */
typedef struct draft_t {
    apr_pool_t *p;
    up_entry_t *entries; /* NULL: only counted */
    int count;
} draft_t;

static void add_entry(draft_t *draft, const up_server_t *s,
                      apr_sockaddr_t *addr, int weight, int backup)
{
    up_entry_t *entry;

    if (draft->entries) {
        entry = &draft->entries[draft->count];
        entry->server = s;
        entry->addr = addr;
        entry->weight = weight;
        entry->backup = backup;
    }
    draft->count++;
}

static void add_target(draft_t *draft, const up_server_t *s,
                       const target_t *target)
{
    const struct sockaddr *const *addrs;
    apr_sockaddr_t *addr = NULL;
    int n = up_name_addresses(target->name, &addrs);
    int i;

    for (i = 0; i < n; i++) {
        if (draft->entries) {
            addr = up_firstlook_addr(draft->p, addrs[i], target->port);
            if (!addr) {
                continue;
            }
        }
        add_entry(draft, s, addr, target->weight,
                  s->backup || target->backup);
    }
}

static void add_source(draft_t *draft, const source_t *source)
{
    const up_server_t *s = source->server;
    apr_sockaddr_t *addr;
    int i;

    for (i = 0; i < source->targets.count; i++) {
        add_target(draft, s, &source->targets.list[i]);
    }
    if (!source->targets.count && !source->service) {
        for (addr = s->addrs; addr; addr = addr->next) {
            add_entry(draft, s, addr, s->weight, s->backup);
        }
    }
}

static void draft_all(draft_t *draft, const record_t *record)
{
    int i;

    draft->count = 0;
    for (i = 0; i < record->count; i++) {
        add_source(draft, &record->sources[i]);
    }
}

/* Gives the group its peers. */
static void publish(record_t *record)
{
    draft_t draft = { .p = NULL };
    int changes;

    if (apr_pool_create(&draft.p, NULL) != APR_SUCCESS) {
        return;
    }
    draft_all(&draft, record);
    draft.entries = apr_pcalloc(draft.p, sizeof(*draft.entries)
                                             * (apr_size_t)(draft.count + 1));
    draft_all(&draft, record);
    changes = up_roster_set(record->group->peers, draft.entries,
                            draft.count);
    if (changes && server) {
        ap_log_error(APLOG_MARK, draft.count ? APLOG_INFO : APLOG_WARNING, 0,
                     server, UPLOGNO(0762) "group \"%s\": its names have "
                     "changed, %d addresses came or went, now it has %d",
                     record->group->name, changes, draft.count);
    }
    apr_pool_destroy(draft.p);
}

/* --- services ------------------------------------------------------------ */

static void free_targets(targets_t *targets)
{
    int i;

    for (i = 0; i < targets->count; i++) {
        up_name_leave(targets->list[i].name);
    }
    free(targets->list);
    targets->list = NULL;
    targets->count = 0;
}

static int weight_of(const up_server_t *s, int weight)
{
    if (s->weight != 1) {
        return s->weight;
    }
    return weight > 0 ? weight : 1;
}

static void add_service(const record_t *record, const up_server_t *s,
                        const up_dnsservice_t *one, int lowest,
                        targets_t *targets)
{
    target_t *target = &targets->list[targets->count];

    target->name = up_name_use(record->group->resolver, one->host);
    if (!target->name) {
        return;
    }
    target->port = one->port;
    target->weight = weight_of(s, one->weight);
    target->backup = one->priority != lowest;
    targets->count++;
}

/* A service has an answer: its targets are looked up before they count. */
static void take_answer(record_t *record, source_t *source)
{
    const up_dnsservice_t *list;
    int n = up_service_take(source->service, &list);
    int lowest;
    int i;

    if (n < 0) {
        return;
    }
    lowest = n ? up_firstlook_priority(list, n) : 0;
    free_targets(&source->coming);
    source->coming.list = calloc((apr_size_t)n + 1, sizeof(target_t));
    for (i = 0; i < n && source->coming.list; i++) {
        add_service(record, source->server, &list[i], lowest,
                    &source->coming);
    }
    source->is_coming = 1;
}

static int all_answered(const targets_t *targets)
{
    int i;

    for (i = 0; i < targets->count; i++) {
        if (!up_name_answered(targets->list[i].name)) {
            return 0;
        }
    }
    return 1;
}

static void follow_service(record_t *record, source_t *source)
{
    take_answer(record, source);
    if (source->is_coming && all_answered(&source->coming)) {
        free_targets(&source->targets);
        source->targets = source->coming;
        memset(&source->coming, 0, sizeof(source->coming));
        source->is_coming = 0;
        record->changed = 1;
    }
}

/* --- groups -------------------------------------------------------------- */

/* A host that name servers, or the start, tell the addresses of. */
static void seed(up_name_t *name, const apr_sockaddr_t *addr)
{
    for (; addr; addr = addr->next) {
        up_name_seed(name, (const struct sockaddr *)&addr->sa);
    }
}

static void follow_host(const record_t *record, source_t *source)
{
    const up_server_t *s = source->server;
    target_t *target = calloc(1, sizeof(*target));

    if (!target) {
        return;
    }
    target->name = up_name_use(record->group->resolver, s->host);
    if (!target->name) {
        free(target);
        return;
    }
    target->port = s->port;
    target->weight = s->weight;
    seed(target->name, s->addrs);
    source->targets.list = target;
    source->targets.count = 1;
}

/* What the start has found of a service. */
static void begin_service(record_t *record, source_t *source)
{
    const up_server_t *s = source->server;
    const up_target_t *one;
    int n = 0;

    source->service = up_service_use(record->group->resolver, s->service,
                                     s->host);
    if (!source->service) {
        return;
    }
    for (one = s->targets; one; one = one->next) {
        n++;
    }
    source->targets.list = calloc((apr_size_t)n + 1, sizeof(target_t));
    for (one = s->targets; one && source->targets.list; one = one->next) {
        up_dnsservice_t service = { one->host, one->port, one->backup,
                                    one->weight };

        n = source->targets.count;
        add_service(record, s, &service, 0, &source->targets);
        if (source->targets.count > n) {
            seed(source->targets.list[n].name, one->addrs);
        }
    }
}

static int is_named(const up_group_t *group, const up_server_t *s)
{
    return up_server_is_named(s) || (group->adhoc && s->host && !s->addrs);
}

static int has_names(const up_group_t *group)
{
    int i;

    for (i = 0; i < group->servers->nelts; i++) {
        if (is_named(group, &APR_ARRAY_IDX(group->servers, i,
                                           up_server_t))) {
            return 1;
        }
    }
    return 0;
}

static record_t *make_record(up_group_t *group)
{
    record_t *record = calloc(1, sizeof(*record));
    int i;

    if (!record) {
        return NULL;
    }
    record->group = group;
    record->sources = calloc((apr_size_t)group->servers->nelts,
                             sizeof(source_t));
    if (!record->sources) {
        free(record);
        return NULL;
    }
    record->count = group->servers->nelts;
    for (i = 0; i < record->count; i++) {
        source_t *source = &record->sources[i];

        source->server = &APR_ARRAY_IDX(group->servers, i, up_server_t);
        if (!is_named(group, source->server)) {
            continue;
        }
        if (source->server->service) {
            begin_service(record, source);
        }
        else {
            follow_host(record, source);
        }
    }
    record->next = records;
    records = record;
    return record;
}

void up_names_add(up_group_t *group)
{
    record_t *record = NULL;

    if (has_names(group) && !group->resolver->off) {
        record = make_record(group);
    }
    if (!record) {
        end_waiting(group->peers);
    }
}

void up_names_remove(up_group_t *group)
{
    record_t **where = &records;
    record_t *record;
    int i;

    while (*where && (*where)->group != group) {
        where = &(*where)->next;
    }
    record = *where;
    if (!record) {
        return;
    }
    *where = record->next;
    for (i = 0; i < record->count; i++) {
        free_targets(&record->sources[i].targets);
        free_targets(&record->sources[i].coming);
        up_service_leave(record->sources[i].service);
    }
    free(record->sources);
    free(record);
}

/* Services have no addresses of their own: what the start has found of them
 * becomes their peers here. */
static void take_up(up_group_t *group, void *baton)
{
    record_t *record;
    int *pfound = baton;
    int i;

    if (!has_names(group)) {
        return;
    }
    record = make_record(group);
    if (!record) {
        return;
    }
    for (i = 0; i < record->count; i++) {
        if (record->sources[i].service) {
            publish(record);
            break;
        }
    }
    if (group->resolver->off) {
        up_names_remove(group);
        return;
    }
    *pfound = 1;
}

int up_names_child_init(server_rec *s)
{
    int found = 0;

    server = NULL; /* no word about what the start has found */
    records = NULL;
    up_nametable_init(s);
    up_group_each(take_up, &found);
    server = s;
    return found;
}

/* --- a turn -------------------------------------------------------------- */

static int name_changed(const record_t *record)
{
    int i, j;

    for (i = 0; i < record->count; i++) {
        const targets_t *targets = &record->sources[i].targets;

        for (j = 0; j < targets->count; j++) {
            if (up_name_changed(targets->list[j].name)) {
                return 1;
            }
        }
    }
    return 0;
}

static int is_answered(const record_t *record)
{
    int i;

    for (i = 0; i < record->count; i++) {
        if (!all_answered(&record->sources[i].targets)) {
            return 0;
        }
    }
    return 1;
}

static void follow(record_t *record)
{
    int i;

    for (i = 0; i < record->count; i++) {
        if (record->sources[i].service) {
            follow_service(record, &record->sources[i]);
        }
    }
    if (record->changed || name_changed(record)) {
        record->changed = 0;
        publish(record);
    }
    if (record->group->adhoc && is_answered(record)) {
        end_waiting(record->group->peers);
    }
    up_roster_reap(record->group->peers);
}

apr_time_t up_names_turn(apr_time_t now)
{
    record_t *record;

    up_nametable_ask(now);
    for (record = records; record; record = record->next) {
        follow(record);
    }
    up_nametable_settle();
    return up_nametable_due();
}

void up_names_close(void)
{
    while (records) {
        end_waiting(records->group->peers);
        up_names_remove(records->group);
    }
    up_nametable_close();
}
