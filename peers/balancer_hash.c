/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * UpstreamIPHash and UpstreamHash without "consistent": a number in the sum of
 * all weights, of servers that are down, too. One that cannot be chosen makes
 * another number; who has met too many of these, or has no key, goes round.
 */

#include "peers/balancer.h"

#include <netinet/in.h>
#include <string.h>

#include "apr_strings.h"
#include "peers/hash_ring.h"

/* A request's: what of it is hashed, and how far that went. */
typedef struct hashing_t {
    const char *key;
    apr_size_t len;
    unsigned int round;
    apr_uint32_t hash;
    int misses;
} hashing_t;

/* At `place` in the sum of weights. */
static up_peer_t *peer_at(const up_peerlist_t *list, apr_uint32_t place)
{
    int i = 0;

    while (place >= (apr_uint32_t)up_peer_weight(list->peers[i])) {
        place -= (apr_uint32_t)up_peer_weight(list->peers[i]);
        i++;
    }
    return list->peers[i];
}

static apr_uint32_t sum_of_weights(const up_peerlist_t *list)
{
    apr_uint32_t sum = 0;
    int i;

    for (i = 0; i < list->count; i++) {
        sum += (apr_uint32_t)up_peer_weight(list->peers[i]);
    }
    return sum;
}

static up_peer_t *pick_by(up_pick_t *pick, up_peerlist_t *list, apr_time_t now,
                          apr_uint32_t (*next)(hashing_t *hashing))
{
    hashing_t *hashing = pick->method_data;
    up_peer_t *peer;

    if (!hashing || list->count < 2) {
        return up_balancer_smooth_locked(pick, list, now, NULL, NULL);
    }
    while (hashing->misses <= UP_BALANCER_MISSES) {
        peer = peer_at(list, next(hashing) % sum_of_weights(list));
        if (up_balancer_usable_locked(pick, peer, now)) {
            return peer;
        }
        hashing->misses++;
    }
    return up_balancer_smooth_locked(pick, list, now, NULL, NULL);
}

static void make_hashing(up_pick_t *pick, const void *key, apr_size_t len)
{
    hashing_t *hashing = apr_pcalloc(pick->p, sizeof(*hashing));

    hashing->key = apr_pmemdup(pick->p, key, len);
    hashing->len = len;
    pick->method_data = hashing;
}

/* --- UpstreamIPHash ------------------------------------------------------ */

/* The client's address as mod_remoteip leaves it: the network of an IPv4 one,
 * also where it comes in an IPv6 one, else all of it. */
static void begin_ip_hash(up_pick_t *pick)
{
    static const unsigned char none[3];
    const apr_sockaddr_t *addr = pick->r ? pick->r->useragent_addr : NULL;

    if (addr && addr->family == APR_INET) {
        make_hashing(pick, &addr->sa.sin.sin_addr, 3);
    }
#if APR_HAVE_IPV6
    else if (addr && addr->family == APR_INET6) {
        const struct in6_addr *in6 = &addr->sa.sin6.sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(in6)) {
            make_hashing(pick, in6->s6_addr + 12, 3);
        }
        else {
            make_hashing(pick, in6, 16);
        }
    }
#endif
    else {
        make_hashing(pick, none, sizeof(none));
    }
    ((hashing_t *)pick->method_data)->hash = 89;
}

static apr_uint32_t next_ip_hash(hashing_t *hashing)
{
    apr_size_t i;

    for (i = 0; i < hashing->len; i++) {
        hashing->hash = (hashing->hash * 113 + (unsigned char)hashing->key[i])
                        % 6271;
    }
    return hashing->hash;
}

static up_peer_t *pick_ip_hash(up_pick_t *pick, up_peerlist_t *list,
                               apr_time_t now)
{
    return pick_by(pick, list, now, next_ip_hash);
}

const up_balancer_t up_balancer_ip_hash = {
    .name = "ip_hash",
    .begin = begin_ip_hash,
    .pick = pick_ip_hash,
};

/* --- UpstreamHash -------------------------------------------------------- */

static void begin_hash(up_pick_t *pick)
{
    const char *key = up_text_raw(pick->r, pick->balancing->key);

    if (key && *key) {
        make_hashing(pick, key, strlen(key));
    }
}

static apr_uint32_t next_hash(hashing_t *hashing)
{
    hashing->hash += up_ring_key_hash(hashing->key, hashing->len,
                                      hashing->round++);
    return hashing->hash;
}

static up_peer_t *pick_hash(up_pick_t *pick, up_peerlist_t *list,
                            apr_time_t now)
{
    return pick_by(pick, list, now, next_hash);
}

const up_balancer_t up_balancer_hash = {
    .name = "hash",
    .begin = begin_hash,
    .pick = pick_hash,
};
