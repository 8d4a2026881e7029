/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * How one try becomes bytes on a connection: the vtable that a protocol
 * towards backends fills in (HTTP/1 today), and the leg it works on.
 *
 * A leg lives in the request's pool and is used for all tries of a request,
 * one after the other; up_leg_begin makes it ready for the next. One thread.
 */

#ifndef UP_WIRE_H
#define UP_WIRE_H

#include "exchange/body_decoder.h"
#include "exchange/request_body.h"
#include "mod_upstream_proxy.h"
#include "status_parser.h"
#include "transport/backend_conn.h"

typedef struct up_wire_t up_wire_t;

struct up_leg_t {
    const up_wire_t *wire;
    up_conn_t *conn;
    up_reqbody_t *body;
    up_parser_t *parser;
    up_framing_t framing;
    up_decoder_t decoder;
    int head_request;    /* the method sent is HEAD */
    int lenient;         /* up_head_framing_lenient */
    const char *upgrade; /* protocols that a 101 may switch to, NULL: none,
                            and a 101 is a bad answer */
    void (*on_interim)(void *baton, const up_head_t *head); /* is told of
                            each 1xx, may be NULL */
    void *interim_baton;
    apr_size_t max_head; /* bytes that all heads of a try may have */
    apr_pool_t *trailer_pool; /* for those of a response, NULL: dropped */
    apr_size_t max_trailer;   /* bytes they may have */
    const up_head_t *trailers; /* after the body, NULL: there are none */
    apr_size_t rest_used; /* of the body bytes that came with the head */
    apr_size_t interim;  /* bytes of 1xx heads so far */
    apr_off_t sent;      /* bytes of this try */
    apr_off_t received;
    apr_off_t body_received; /* raw body bytes */
    int broken;          /* the connection cannot be written to any more */
    int surplus;         /* bytes came after the response */
    const char *error;   /* what was wrong with the response, for the log */
};

/**
 * None of these blocks: APR_EAGAIN means poll as leg->conn->want says.
 */
struct up_wire_t {
    const char *name;
    /**
     * Sends the request, or as much of it as is there.
     * @return as up_reqbody_send
     */
    apr_status_t (*write)(up_leg_t *leg);
    /**
     * Reads on until the final head is whole; interim heads are skipped.
     * Sets framing and the decoder. A 101 that may be is final; there is no
     * body then, what follows is read with read_raw.
     * @return APR_SUCCESS; APR_EAGAIN; APR_EOF closed too early; APR_EINVAL
     *         or APR_ENOSPC: the head is bad or too big, see leg->error;
     *         else the read failed
     */
    apr_status_t (*read_head)(up_leg_t *leg);
    /**
     * Body bytes into buf, without their framing.
     * @param plen in: room; out: bytes, may be > 0 with any result
     * @return APR_SUCCESS more to come; APR_EOF the body is finished;
     *         APR_EAGAIN; APR_INCOMPLETE the backend closed too early;
     *         APR_EINVAL bad framing, see leg->error; else the read failed
     */
    apr_status_t (*read_body)(up_leg_t *leg, char *buf, apr_size_t *plen);
    /**
     * Bytes behind a 101, as they come.
     * @return as up_conn_recv
     */
    apr_status_t (*read_raw)(up_leg_t *leg, char *buf, apr_size_t *plen);
    /** May the connection be used again? After the body is finished. */
    int (*reusable)(const up_leg_t *leg);
};

extern const up_wire_t up_wire_h1;

/** Ready for a try on `conn`: the counters, parser and body start anew. */
void up_leg_begin(up_leg_t *leg, up_conn_t *conn);

#endif
