/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * The inside of an adopted connection, for its own three files: adopted.c
 * (adoption, what the loop runs, between requests), adopted_serve.c (requests)
 * and adopted_end.c (closing).
 */

#ifndef UP_ADOPTED_STATE_H
#define UP_ADOPTED_STATE_H

#include "apr_atomic.h"
#include "drivers/adopted.h"
#include "drivers/loop.h"
#include "httpd.h"
#include "transport/ahead.h"
#include "transport/client.h"
#include "transport/source.h"

/* What comes next; see adopted.h. On the side: END of a parked exchange,
 * DIVERTED a handler of somebody else, WHOLE a request from its first hook. */
typedef enum up_phase_e {
    UP_PHASE_PARKED,
    UP_PHASE_END,
    UP_PHASE_DIVERTED,
    UP_PHASE_WHOLE,
    UP_PHASE_PROCESS,
    UP_PHASE_IDLE,
    UP_PHASE_WRITING,
    UP_PHASE_LINGERING,
    UP_PHASE_DOOMED
} up_phase_e;

/* Where a worker thread is: `at` grows when it turns to something else. */
typedef struct up_whereabouts_t {
    volatile apr_uint32_t at;
} up_whereabouts_t;

struct up_adopted_t {
    up_watch_t watch; /* first: the loop frees this object through it */
    conn_rec *c;
    apr_socket_t *sock;
    up_clientnet_t *net;
    up_source_t *source;
    up_ahead_t *ahead;
    up_phase_e phase;
    int entered;           /* a loop has it */
    int on_loop;           /* being processed on a loop's thread */
    int client_ended;      /* FIN seen */
    int client_hup;        /* reset seen */
    int stopping;
    int closing;           /* what is written now is the last */
    int head_begun;        /* a part of the next request's head is there */
    apr_time_t head_since; /* its first byte, or the wait for it */
    request_rec *r;        /* of the exchange, the diverted request */
    up_request_t *ur;      /* while PARKED */
    up_phase_e diverted;   /* what is to be done with r on the side */
    const char *handler;   /* of the diverted request */
    int status;            /* for the error page */
    server_rec *server;    /* of the last request, for its timeouts */
    apr_time_t adopted_at;
    volatile apr_uint32_t at_work; /* key of what a thread is at, 0: nothing
                                      (up_slow_key; for the watchdog) */
    apr_uint32_t steps_key; /* of the exchange */
    apr_time_t linger_by;
    apr_time_t stop_by;    /* UpstreamShutdownTimeout */
    up_whereabouts_t *worker; /* who suspended it */
    apr_uint32_t worker_at;
};

/** Reads the next request, which is whole, and runs it. */
up_turn_e up_adopted_serve(up_adopted_t *a, int side);
up_turn_e up_adopted_process(up_adopted_t *a, int side);

/* One a phase. */
up_turn_e up_adopted_run_parked(up_adopted_t *a, unsigned int events,
                                int side);
up_turn_e up_adopted_run_diverted(up_adopted_t *a);
up_turn_e up_adopted_run_end(up_adopted_t *a);

/** The watchdog: the thread that runs this connection is blocked. Any
 * thread. */
void up_adopted_stuck(up_watch_t *watch);

/** Writes what there is, as the MPM in CONN_STATE_WRITE_COMPLETION, and goes
 * on to what follows. */
up_turn_e up_adopted_write_on(up_adopted_t *a);

/** Says goodbye, writes the last bytes, shuts, lingers, closes. */
up_turn_e up_adopted_linger(up_adopted_t *a);

/** What follows when the last bytes are written. */
up_turn_e up_adopted_shut(up_adopted_t *a);

/** While LINGERING. */
up_turn_e up_adopted_linger_on(up_adopted_t *a);

/** Closes at once. */
up_turn_e up_adopted_close(up_adopted_t *a);

/** While DOOMED: destroys the pool when that is safe. */
up_turn_e up_adopted_destroy(up_adopted_t *a);

/** Destroys the connection, which tells the MPM. */
void up_adopted_forget(up_adopted_t *a);

/** One more for up_adopted_count. */
void up_adopted_count_in(void);

/** A worker may write to a connection it has suspended for this long after
 * our hook, unless it is seen elsewhere before. */
#define UP_ADOPTED_GRACE apr_time_from_sec(1)

#endif
