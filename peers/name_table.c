/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the table of names and services.
 */

#include "peers/name_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "apr_strings.h"
#include "config/clock.h"
#include "config/log.h"
#include "peers/dns_clients.h"
#include "peers/names.h"

#define FAMILIES 2

typedef union ip_t {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} ip_t;

/* What names and services have in common: a question that is put again and
 * again. */
typedef struct question_t {
    const up_resolver_t *resolver;
    char *text;     /* the name that is asked for */
    int users;
    int open;       /* parts under way */
    int found;      /* of this round: parts with an answer, */
    int failed;     /* without one; the rest said that there is nothing */
    int ttl;        /* the shortest, -1: none yet */
    int ever;       /* name servers have had an answer once */
    int misses;     /* rounds in a row that found nothing */
    int over;       /* a round is over */
    int complained; /* in the log, since it last went well */
    apr_time_t due;
} question_t;

typedef struct family_t {
    ip_t *list;
    int count;
    int nothing; /* said this round */
} family_t;

/* What a part of a question needs to find its way back. */
typedef struct part_t {
    up_name_t *name;
    family_t *family;
} part_t;

struct up_name_t {
    question_t question; /* first */
    up_name_t *next;
    family_t families[FAMILIES]; /* IPv4, IPv6 */
    part_t parts[FAMILIES];
    const struct sockaddr **all;
    int count;
    int changed;
};

struct up_service_t {
    question_t question; /* first */
    up_service_t *next;
    up_dnsservice_t *list;
    int count;
    int news;
};

static struct {
    up_name_t *names;
    up_service_t *services;
    server_rec *s;
} table;

void up_nametable_init(server_rec *s)
{
    memset(&table, 0, sizeof(table));
    table.s = s;
}

/* --- rounds -------------------------------------------------------------- */

static apr_interval_time_t retry_after(const up_resolver_t *resolver)
{
    return resolver->valid && resolver->valid < UP_RESOLVER_FLOOR
               ? resolver->valid : UP_RESOLVER_FLOOR;
}

static void begin_round(question_t *question, int parts)
{
    question->open = parts;
    question->found = 0;
    question->failed = 0;
    question->ttl = -1;
}

/* Once until it goes well again. */
static void complain(question_t *question, const char *what)
{
    if (!question->complained && table.s) {
        question->complained = 1;
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, table.s, UPLOGNO(0763)
                     "looking up %s: %s; what is known of it stays in use",
                     question->text, what);
    }
}

static void note_answer(question_t *question, const up_dnsanswer_t *answer)
{
    question->open--;
    if (answer->result == UP_DNS_FOUND) {
        question->found++;
        if (question->ttl < 0 || answer->ttl < question->ttl) {
            question->ttl = answer->ttl;
        }
    }
    else if (answer->result == UP_DNS_FAILED) {
        question->failed++;
        complain(question, answer->error);
    }
}

/* The last part is answered. @return 1: what was known is known no more */
static int end_round(question_t *question)
{
    apr_interval_time_t wait = retry_after(question->resolver);
    int lost = 0;

    question->over = 1;
    if (question->found) {
        question->ever = 1;
        question->misses = 0;
        wait = up_resolver_validity(question->resolver, question->ttl);
        if (!question->failed && question->complained) {
            question->complained = 0;
            ap_log_error(APLOG_MARK, APLOG_INFO, 0, table.s, UPLOGNO(0764)
                         "looking up %s: answered again", question->text);
        }
    }
    else if (!question->failed) {
        complain(question, "there is no such name");
        lost = ++question->misses >= UP_NAMES_MISSES && question->ever;
    }
    question->due = up_clock_now() + wait;
    return lost;
}

static int is_due(const question_t *question, apr_time_t now)
{
    return question->users && !question->open && question->due <= now;
}

static apr_time_t earlier(const question_t *question, apr_time_t when)
{
    return !question->open && question->due < when ? question->due : when;
}

static void init_question(question_t *question, const up_resolver_t *resolver,
                          const char *text)
{
    question->resolver = resolver;
    question->text = strdup(text);
    question->users = 1;
}

/* --- names --------------------------------------------------------------- */

/* Not the whole structure: a socket address may have more than an address. */
static void copy_ip(ip_t *ip, const struct sockaddr *addr)
{
    memset(ip, 0, sizeof(*ip));
    ip->any.sa_family = addr->sa_family;
    if (addr->sa_family == AF_INET) {
        ip->in.sin_addr = ((const struct sockaddr_in *)addr)->sin_addr;
    }
    else {
        ip->in6.sin6_addr = ((const struct sockaddr_in6 *)addr)->sin6_addr;
    }
}

static int compare(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(ip_t));
}

/* All children are to have the same order, whatever the answer's was. */
static int tidy_up(ip_t *list, int count)
{
    int kept = 0;
    int i;

    qsort(list, (size_t)count, sizeof(*list), compare);
    for (i = 0; i < count; i++) {
        if (!kept || compare(&list[kept - 1], &list[i])) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

static void collect(up_name_t *name)
{
    int total = name->families[0].count + name->families[1].count;
    int i, j;

    free(name->all);
    name->count = 0;
    name->all = calloc((size_t)total + 1, sizeof(*name->all));
    for (i = 0; i < FAMILIES && name->all; i++) {
        for (j = 0; j < name->families[i].count; j++) {
            name->all[name->count++] = &name->families[i].list[j].any;
        }
    }
}

/* Takes over `list`. */
static void replace(up_name_t *name, family_t *family, ip_t *list, int count)
{
    if (count == family->count
        && (!count || !memcmp(list, family->list,
                              sizeof(*list) * (size_t)count))) {
        free(list);
        return;
    }
    free(family->list);
    family->list = list;
    family->count = count;
    name->changed = 1;
    collect(name);
}

static void take_addresses(up_name_t *name, family_t *family,
                           const up_dnsanswer_t *answer)
{
    ip_t *list = calloc((size_t)answer->naddrs + 1, sizeof(*list));
    int i;

    if (!list) {
        return;
    }
    for (i = 0; i < answer->naddrs; i++) {
        copy_ip(&list[i], answer->addrs[i]);
    }
    replace(name, family, list, tidy_up(list, answer->naddrs));
}

static void free_name(up_name_t *name)
{
    up_name_t **where = &table.names;

    while (*where != name) {
        where = &(*where)->next;
    }
    *where = name->next;
    free(name->families[0].list);
    free(name->families[1].list);
    free(name->all);
    free(name->question.text);
    free(name);
}

/* A family of which there is nothing: at once when the other has something,
 * late when the whole name is missing. */
static void end_name_round(up_name_t *name)
{
    int lost = end_round(&name->question);
    int i;

    for (i = 0; i < FAMILIES; i++) {
        if (name->families[i].nothing && (lost || name->question.found)) {
            replace(name, &name->families[i], NULL, 0);
        }
        name->families[i].nothing = 0;
    }
    if (!name->question.users) {
        free_name(name);
    }
}

static void got_addresses(void *baton, const up_dnsanswer_t *answer)
{
    part_t *part = baton;
    up_name_t *name = part->name;

    note_answer(&name->question, answer);
    if (answer->result == UP_DNS_FOUND) {
        take_addresses(name, part->family, answer);
    }
    part->family->nothing = answer->result == UP_DNS_NOTHING;
    if (!name->question.open) {
        end_name_round(name);
    }
}

static void ask_name(up_name_t *name)
{
    const up_resolver_t *resolver = name->question.resolver;
    up_dns_t *dns = up_dnsclients_get(resolver);
    int wanted[FAMILIES] = { !resolver->no_ipv4, !resolver->no_ipv6 };
    int i;

    if (!dns) {
        name->question.due = up_clock_now() + retry_after(resolver);
        name->question.over = 1;
        return;
    }
    /* one more, so that the round cannot end before all is asked */
    begin_round(&name->question, wanted[0] + wanted[1] + 1);
    for (i = 0; i < FAMILIES; i++) {
        if (wanted[i]) {
            up_dns_addresses(dns, name->question.text,
                             i ? AF_INET6 : AF_INET, got_addresses,
                             &name->parts[i]);
        }
    }
    if (--name->question.open == 0) {
        end_name_round(name);
    }
}

up_name_t *up_name_use(const up_resolver_t *resolver, const char *host)
{
    up_name_t *name = table.names;
    int i;

    while (name && (name->question.resolver != resolver
                    || strcasecmp(name->question.text, host) != 0)) {
        name = name->next;
    }
    if (name) {
        name->question.users++;
        return name;
    }
    name = calloc(1, sizeof(*name));
    if (!name) {
        return NULL;
    }
    init_question(&name->question, resolver, host);
    for (i = 0; i < FAMILIES; i++) {
        name->parts[i].name = name;
        name->parts[i].family = &name->families[i];
    }
    name->next = table.names;
    table.names = name;
    return name;
}

void up_name_leave(up_name_t *name)
{
    if (name && --name->question.users == 0 && !name->question.open) {
        free_name(name);
    }
}

void up_name_seed(up_name_t *name, const struct sockaddr *addr)
{
    family_t *family = &name->families[addr->sa_family == AF_INET6];
    ip_t *list = realloc(family->list,
                         sizeof(*list) * (size_t)(family->count + 1));

    if (list) {
        copy_ip(&list[family->count], addr);
        family->list = list;
        family->count = tidy_up(list, family->count + 1);
        collect(name);
    }
}

int up_name_answered(const up_name_t *name)
{
    return name->question.over || name->count;
}

int up_name_changed(const up_name_t *name)
{
    return name->changed;
}

int up_name_addresses(const up_name_t *name,
                      const struct sockaddr *const **paddrs)
{
    *paddrs = name->all;
    return name->count;
}

/* --- services ------------------------------------------------------------ */

static void free_list(up_service_t *service)
{
    int i;

    for (i = 0; i < service->count; i++) {
        free((char *)service->list[i].host);
    }
    free(service->list);
    service->list = NULL;
    service->count = 0;
}

static void free_service(up_service_t *service)
{
    up_service_t **where = &table.services;

    while (*where != service) {
        where = &(*where)->next;
    }
    *where = service->next;
    free_list(service);
    free(service->question.text);
    free(service);
}

static void take_services(up_service_t *service,
                          const up_dnsanswer_t *answer)
{
    int i;

    free_list(service);
    service->list = calloc((size_t)answer->nservices + 1,
                           sizeof(*service->list));
    for (i = 0; i < answer->nservices && service->list; i++) {
        service->list[i] = answer->services[i];
        service->list[i].host = strdup(answer->services[i].host);
        service->count++;
    }
    service->news = 1;
}

static void got_services(void *baton, const up_dnsanswer_t *answer)
{
    up_service_t *service = baton;

    note_answer(&service->question, answer);
    if (answer->result == UP_DNS_FOUND) {
        take_services(service, answer);
    }
    if (end_round(&service->question)) {
        take_services(service, answer); /* there is none */
    }
    if (!service->question.users) {
        free_service(service);
    }
}

static void ask_service(up_service_t *service)
{
    up_dns_t *dns = up_dnsclients_get(service->question.resolver);

    if (!dns) {
        service->question.due = up_clock_now()
                                + retry_after(service->question.resolver);
        return;
    }
    begin_round(&service->question, 1);
    up_dns_services(dns, service->question.text, got_services, service);
}

up_service_t *up_service_use(const up_resolver_t *resolver,
                             const char *service, const char *host)
{
    up_service_t *made = calloc(1, sizeof(*made));
    apr_pool_t *p;

    if (!made) {
        return NULL;
    }
    apr_pool_create(&p, NULL);
    init_question(&made->question, resolver,
                  up_dns_service_name(p, service, host));
    apr_pool_destroy(p);
    made->next = table.services;
    table.services = made;
    return made;
}

void up_service_leave(up_service_t *service)
{
    if (service && --service->question.users == 0
        && !service->question.open) {
        free_service(service);
    }
}

int up_service_take(up_service_t *service, const up_dnsservice_t **plist)
{
    if (!service->news) {
        return -1;
    }
    service->news = 0;
    *plist = service->list;
    return service->count;
}

/* --- all of them --------------------------------------------------------- */

/* Asking may answer at once, and an answer frees what nobody uses: but what
 * is due has a user. */
void up_nametable_ask(apr_time_t now)
{
    up_service_t *service;
    up_name_t *name;

    for (service = table.services; service; service = service->next) {
        if (is_due(&service->question, now)) {
            ask_service(service);
        }
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): see above */
    for (name = table.names; name; name = name->next) {
        if (is_due(&name->question, now)) {
            ask_name(name);
        }
    }
}

apr_time_t up_nametable_due(void)
{
    apr_time_t when = up_clock_now() + apr_time_from_sec(3600);
    const up_service_t *service;
    const up_name_t *name;

    for (service = table.services; service; service = service->next) {
        when = earlier(&service->question, when);
    }
    for (name = table.names; name; name = name->next) {
        when = earlier(&name->question, when);
    }
    return when;
}

void up_nametable_settle(void)
{
    up_name_t *name;

    for (name = table.names; name; name = name->next) {
        name->changed = 0;
    }
}

void up_nametable_close(void)
{
    table.s = NULL; /* that all questions fail now is no news */
    /* its last answers free what nobody uses any more */
    up_dnsclients_close();
}
