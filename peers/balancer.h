/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Choosing a server. A method is one file with one const vtable; this file
 * holds what they share: primaries, then backups; never the same peer twice
 * in one request.
 */

#ifndef UP_BALANCER_H
#define UP_BALANCER_H

#include "config/balancing.h"
#include "httpd.h"
#include "peers/peer.h"

typedef struct up_balancer_t up_balancer_t;

/** One request's search for a peer. In the request's pool, one thread. */
struct up_pick_t {
    request_rec *r;   /* NULL in unit tests */
    apr_pool_t *p;
    up_peers_t *peers;
    const up_balancer_t *method;
    const up_balancing_t *balancing; /* as configured, NULL: round robin */
    const char *stick;    /* id of the server that is asked for, NULL: none */
    void *method_data;    /* the method's, of this request; NULL: none */
    apr_time_t taken;     /* since when the present peer is, 0: none is */
    int learned;          /* of the present try's head, the method has */
    unsigned int *tried;  /* serials of the peers tried */
    int ntried;
    int room;             /* of `tried` */
    int on_backup;        /* moved to the backup list, for good */
    int tries;            /* left; counted down by up_balancer_done */
};

/** What a finished try tells a method that learns. Microseconds, -1: none. */
typedef struct up_timing_t {
    apr_interval_time_t header;   /* until the response head */
    apr_interval_time_t response; /* until the last byte */
} up_timing_t;

struct up_balancer_t {
    const char *name;
    /**
     * Before the first pick, without the lock: what it wants to know of the
     * request (a key) goes to pick->method_data. NULL: nothing.
     */
    void (*begin)(up_pick_t *pick);
    /**
     * Chooses among the usable, untried peers of `list` and counts what the
     * method counts. Called with peers->lock held; must not call out. What it
     * keeps of a list (a ring of points) it makes anew when list->version has
     * changed.
     * @return NULL: none can be chosen
     */
    up_peer_t *(*pick)(up_pick_t *pick, up_peerlist_t *list, apr_time_t now);
    /** The request sticks to `peer`: that pick() counts, as if it had chosen
     * it. Lock held. */
    void (*stuck)(up_pick_t *pick, up_peerlist_t *list, up_peer_t *peer,
                  apr_time_t now);
    /** A peer is taken, perhaps not by pick(). Lock held. NULL: not of
     * interest, as for the following ones. */
    void (*taken)(up_pick_t *pick, up_peer_t *peer, apr_time_t now);
    /** The try's response head has come, `after` it began. Lock held. */
    void (*head)(up_pick_t *pick, up_peer_t *peer, apr_interval_time_t after,
                 apr_time_t now);
    /** A try has ended. Lock held. */
    void (*done)(up_pick_t *pick, up_peer_t *peer, up_outcome_e outcome,
                 const up_timing_t *timing, apr_time_t now);
};

extern const up_balancer_t up_balancer_round_robin;
extern const up_balancer_t up_balancer_least_conn;
extern const up_balancer_t up_balancer_ip_hash;
extern const up_balancer_t up_balancer_hash;
extern const up_balancer_t up_balancer_ketama;
extern const up_balancer_t up_balancer_random;
extern const up_balancer_t up_balancer_least_time;
extern const up_balancer_t up_balancer_peak_ewma;

/* What methods are made of. Lock held. */

/** After so many peers that cannot be chosen a hash is given up. */
#define UP_BALANCER_MISSES 20

/**
 * Smooth weighted round robin among the usable peers that fit.
 * @param fits NULL: all do
 */
up_peer_t *up_balancer_smooth_locked(up_pick_t *pick, up_peerlist_t *list,
                                     apr_time_t now,
                                     int (*fits)(const up_peer_t *peer,
                                                 const void *baton),
                                     const void *baton);

/** The usable peer whose cost is least for its weight; smooth weighted round
 * robin among those that are alike. */
up_peer_t *up_balancer_least_locked(up_pick_t *pick, up_peerlist_t *list,
                                    apr_time_t now,
                                    apr_uint64_t (*cost)(const up_pick_t *pick,
                                                         const up_peer_t *peer,
                                                         apr_time_t now));

/**
 * A usable peer by lot, as likely as its weight says.
 * @param but not one of these `n`
 */
up_peer_t *up_balancer_draw_locked(up_pick_t *pick, up_peerlist_t *list,
                                   apr_time_t now, up_peer_t *const *but,
                                   int n);

/** May `peer` be chosen for this request now? Lock held. For methods. */
int up_balancer_usable_locked(const up_pick_t *pick, const up_peer_t *peer,
                              apr_time_t now);

/** The peer has been taken for this request: not again. */
void up_balancer_note(up_pick_t *pick, const up_peer_t *peer);

/** A peer of the group is taken: the method is told. Lock held. */
void up_balancer_taken_locked(up_pick_t *pick, up_peer_t *peer,
                              apr_time_t now);

/**
 * Starts a request's search. tries = the servers that are not down, backups
 * included, capped by `max_tries` (0: no cap), as in nginx.
 * @param r may be NULL where the method does not look at the request
 */
up_pick_t *up_balancer_begin(apr_pool_t *p, request_rec *r,
                             up_peers_t *peers, int max_tries);

/** Counts the tries anew, before the first: the group has got its peers. */
void up_balancer_recount(up_pick_t *pick, int max_tries);

/**
 * The next peer, counted and marked as tried. Takes the lock.
 * @return NULL: no live upstreams
 */
up_peer_t *up_balancer_pick(up_pick_t *pick, apr_time_t now);

/** The response head of the try on `peer` has come, so long after it began. */
void up_balancer_head(up_pick_t *pick, up_peer_t *peer,
                      apr_interval_time_t after, apr_time_t now);

/**
 * Ends the try on `peer` and uses up one of the tries; with UP_OUTCOME_OK
 * nothing more follows.
 * @param timing of the try, NULL: nothing is known of it
 * @return what it has come to
 */
up_change_e up_balancer_done(up_pick_t *pick, up_peer_t *peer,
                             up_outcome_e outcome, const up_timing_t *timing,
                             apr_time_t now);

/**
 * Is there another peer that could be tried now? Used to keep a real answer
 * instead of "no live upstreams", which nginx does not do. Takes the lock,
 * counts nothing.
 */
int up_balancer_another(const up_pick_t *pick, apr_time_t now);

/** Is there a peer that could be tried, were it not for max_conns? Takes the
 * lock. */
int up_balancer_full(const up_pick_t *pick, apr_time_t now);

/** Is there no peer at all, because no server's name resolved? */
int up_balancer_addressless(const up_pick_t *pick);

#endif
