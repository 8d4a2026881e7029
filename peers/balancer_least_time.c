/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * UpstreamLeastTime: the server that is likely to be through first with what
 * it has to do and one request more, as far as its mean times tell. Times are
 * in milliseconds, in steps of 20, so that servers that are nearly as fast
 * take turns.
 */

#include "peers/balancer.h"

#include "config/group.h"

#define STEP  20
#define WORST 5000 /* slower ones are all alike */

#define GET(field) atomic_load_explicit(field, memory_order_relaxed)
#define SET(field, value) \
    atomic_store_explicit(field, value, memory_order_relaxed)

static int is_inflight(const up_pick_t *pick)
{
    return pick->balancing->inflight;
}

/* How long the requests of this child that run have been running, on the
 * average: a server that hangs is known before it answers. */
static apr_int64_t mean_age(const up_peer_t *peer, apr_time_t now)
{
    if (peer->running == 0) {
        return 0;
    }
    return (now - peer->begun / peer->running) / 1000;
}

/* A slow server that nobody has asked for a while is believed to be twice as
 * fast with every fail_timeout. */
static apr_int64_t forgive(const up_peer_t *peer, apr_int64_t time,
                           apr_time_t now)
{
    apr_int64_t since = apr_time_sec(now) - GET(&peer->state->checked);
    apr_int64_t timeout = apr_time_sec(peer->server->fail_timeout);

    if (since <= timeout) {
        return time;
    }
    return since / (timeout + 1) > 30 ? 0 : time >> (since / (timeout + 1));
}

static apr_uint64_t cost(const up_pick_t *pick, const up_peer_t *peer,
                         apr_time_t now)
{
    apr_int64_t time = GET(pick->balancing->last_byte
                               ? &peer->state->response_ms
                               : &peer->state->header_ms);
    int in_use = up_peer_in_use(peer);

    time = forgive(peer, time, now);
    if (is_inflight(pick) && mean_age(peer, now) > time) {
        time = mean_age(peer, now);
    }
    time = time > WORST ? WORST : time + STEP - time % STEP;
    return (apr_uint64_t)time * (apr_uint64_t)(1 + (in_use > 0 ? in_use : 0));
}

static up_peer_t *pick_least_time(up_pick_t *pick, up_peerlist_t *list,
                                  apr_time_t now)
{
    return up_balancer_least_locked(pick, list, now, cost);
}

static void note_begin(up_pick_t *pick, up_peer_t *peer, apr_time_t now)
{
    if (is_inflight(pick)) {
        peer->running++;
        peer->begun += now;
    }
}

static void note_end(up_pick_t *pick, up_peer_t *peer)
{
    if (is_inflight(pick) && !pick->learned) {
        peer->running--;
        peer->begun -= pick->taken;
    }
}

/* A new value counts for a twentieth. */
static void add_to_mean(atomic_int *mean, apr_interval_time_t time)
{
    apr_int64_t value = apr_time_as_msec(time);
    apr_int64_t before = GET(mean);

    SET(mean, (int)(before ? (value + 19 * before + 10) / 20 : value));
}

/* Where only the head counts, the request is over with it. */
static void learn_head(up_pick_t *pick, up_peer_t *peer,
                       apr_interval_time_t after, apr_time_t now)
{
    (void)now;
    if (is_inflight(pick) && !pick->balancing->last_byte && !pick->learned) {
        note_end(pick, peer);
        pick->learned = 1;
        add_to_mean(&peer->state->header_ms, after);
    }
}

static void learn(up_pick_t *pick, up_peer_t *peer, up_outcome_e outcome,
                  const up_timing_t *timing, apr_time_t now)
{
    (void)now;
    note_end(pick, peer);
    /* that failing is fast makes nobody attractive */
    if (outcome != UP_OUTCOME_OK || timing->header < 0) {
        return;
    }
    if (timing->response >= 0) {
        add_to_mean(&peer->state->response_ms, timing->response);
    }
    if (!pick->learned) {
        add_to_mean(&peer->state->header_ms, timing->header);
    }
}

const up_balancer_t up_balancer_least_time = {
    .name = "least_time",
    .pick = pick_least_time,
    .taken = note_begin,
    .head = learn_head,
    .done = learn,
};
