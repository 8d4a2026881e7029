/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A Set-Cookie field taken apart, changed and put together again.
 *
 * Pure: APR only, no httpd.h; fuzzed. What is not changed keeps its bytes. A
 * semicolon inside of a quoted value ends nothing; quotes around the value of
 * an attribute are looked through and stay.
 */

#ifndef UP_COOKIES_H
#define UP_COOKIES_H

#include "apr_pools.h"
#include "apr_tables.h"

/** Name and value of the cookie itself, or one of its attributes. */
typedef struct up_cookie_part_t {
    const char *name;
    const char *value; /* NULL: no = follows the name */
} up_cookie_part_t;

typedef struct up_cookie_t {
    apr_pool_t *p;
    apr_array_header_t *parts; /* of up_cookie_part_t; the first is the
                                  cookie's name and value */
    int changed;
} up_cookie_t;

/** What UpstreamCookieFlags may say, as a mask. */
#define UP_COOKIE_SECURE      (1u << 0)
#define UP_COOKIE_NOSECURE    (1u << 1)
#define UP_COOKIE_HTTPONLY    (1u << 2)
#define UP_COOKIE_NOHTTPONLY  (1u << 3)
#define UP_COOKIE_STRICT      (1u << 4) /* samesite=strict, and so on */
#define UP_COOKIE_LAX         (1u << 5)
#define UP_COOKIE_NONE        (1u << 6)
#define UP_COOKIE_NOSAMESITE  (1u << 7)

/**
 * @param line the value of a Set-Cookie field; everything is copied to p
 * @return 0: the first part is no name=value, the field is to be left alone
 */
int up_cookie_parse(apr_pool_t *p, const char *line, up_cookie_t *cookie);

/** Is part `index` an attribute of this name, with a value? */
int up_cookie_is(const up_cookie_t *cookie, int index, const char *name);

/** The value of part `index` without quotes, in the cookie's pool. */
const char *up_cookie_value(const up_cookie_t *cookie, int index);

/**
 * Replaces the value of part `index`, within its quotes if it has some. An
 * empty value takes the attribute away: browsers ignore such a one.
 */
void up_cookie_replace(up_cookie_t *cookie, int index, const char *value);

/** Two domains: in any case, and with or without a dot in front. */
int up_cookie_same_domain(const char *domain, const char *other);

/** The flag that a word such as "samesite=lax" stands for, 0: none. */
unsigned int up_cookie_flag(const char *word);

/**
 * Adds, changes and removes Secure, HttpOnly and SameSite. Of contradicting
 * flags for SameSite the first counts of strict, lax, none, nosamesite; of
 * others the one that adds.
 */
void up_cookie_apply(up_cookie_t *cookie, unsigned int flags);

/** May an evaluated value stand in a cookie? No control, no semicolon. */
int up_cookie_fits(const char *value);

/** The field's value, parts joined with "; ", in the cookie's pool. */
const char *up_cookie_print(const up_cookie_t *cookie);

#endif
