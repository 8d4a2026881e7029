/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The names and services that a child's groups use, what name servers have
 * said of each, and when they are to be asked again. Groups that use the same
 * name share it.
 *
 * The clerk's thread alone.
 */

#ifndef UP_NAME_TABLE_H
#define UP_NAME_TABLE_H

#include "config/dns.h"
#include "config/resolver.h"
#include "httpd.h"

typedef struct up_name_t up_name_t;
typedef struct up_service_t up_service_t;

void up_nametable_init(server_rec *s);

/** Ends all questions; users have left. */
void up_nametable_close(void);

/** A name, made if new, and one more user. NULL: no memory */
up_name_t *up_name_use(const up_resolver_t *resolver, const char *host);

/** One user less. NULL: nothing */
void up_name_leave(up_name_t *name);

/** An address that is known from elsewhere, before the first answer. */
void up_name_seed(up_name_t *name, const struct sockaddr *addr);

/** Has the first look-up ended, or is an address known? */
int up_name_answered(const up_name_t *name);

/** Have its addresses changed since up_nametable_settle? */
int up_name_changed(const up_name_t *name);

/** The addresses, sorted. The array is good until the next answer. */
int up_name_addresses(const up_name_t *name,
                      const struct sockaddr *const **paddrs);

/** A service of a host, used like a name. */
up_service_t *up_service_use(const up_resolver_t *resolver,
                             const char *service, const char *host);
void up_service_leave(up_service_t *service);

/**
 * A new answer, once.
 * @param plist in the service, until the next answer
 * @return how many targets, perhaps 0; -1: nothing new
 */
int up_service_take(up_service_t *service, const up_dnsservice_t **plist);

/** Asks what is due. */
void up_nametable_ask(apr_time_t now);

/** When something is due next. */
apr_time_t up_nametable_due(void);

/** The changes so far have been seen. */
void up_nametable_settle(void);

#endif
