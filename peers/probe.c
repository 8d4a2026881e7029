/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the sockets of health checks.
 */

#include "peers/probe.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apr_strings.h"
#include "exchange/body_decoder.h"
#include "status_parser.h"

#define HEAD_FIRST  1024
#define HEAD_MOST   (64 * 1024)
#define BODY_PIECE  4096
#define TRAILER_MOST 4096

typedef enum phase_e { IDLE, CONNECTING, SENDING, HEAD, BODY, OVER } phase_e;

struct up_probe_t {
    apr_pool_t *own;    /* of the probe */
    apr_pool_t *p;      /* of the present check, cleared at each start */
    const up_check_t *check;
    const apr_sockaddr_t *addr;
    const char *request;
    phase_e phase;
    int fd;             /* -1: none */
    int reused;         /* no byte has come on it in this check */
    apr_size_t sent;
    apr_time_t until;
    up_parser_t *parser;
    up_decoder_t decoder;
    int keeps;          /* the connection may be used again */
    char *body;         /* for the match, NULL: not looked at */
    apr_size_t body_len;
    up_checked_e result;
    const char *why;
};

static void hang_up(up_probe_t *probe)
{
    if (probe->fd >= 0) {
        close(probe->fd);
        probe->fd = -1;
    }
}

static apr_status_t hang_up_last(void *data)
{
    hang_up(data);
    return APR_SUCCESS;
}

static const char *request_of(apr_pool_t *p, const up_check_t *check)
{
    return apr_pstrcat(p, "GET ", check->uri, " HTTP/1.1\r\nHost: ",
                       check->host, "\r\nUser-Agent: mod_upstream_proxy "
                       "(health check)\r\nAccept: */*\r\nConnection: ",
                       check->reuse ? "keep-alive" : "close", "\r\n\r\n",
                       NULL);
}

/* The server's address, with the port of port=. */
static const apr_sockaddr_t *address_of(apr_pool_t *p,
                                        const up_check_t *check,
                                        const apr_sockaddr_t *addr)
{
    apr_sockaddr_t *other = apr_pmemdup(p, addr, sizeof(*addr));

    if (check->port && other->family == AF_INET) {
        other->sa.sin.sin_port = htons((apr_port_t)check->port);
    }
#if APR_HAVE_IPV6
    else if (check->port && other->family == AF_INET6) {
        other->sa.sin6.sin6_port = htons((apr_port_t)check->port);
    }
#endif
    return other;
}

up_probe_t *up_probe_make(apr_pool_t *p, const up_check_t *check,
                          const apr_sockaddr_t *addr)
{
    up_probe_t *probe;
    apr_pool_t *own;

    apr_pool_create(&own, p);
    probe = apr_pcalloc(own, sizeof(*probe));
    probe->own = own;
    apr_pool_create(&probe->p, own);
    probe->check = check;
    probe->addr = address_of(own, check, addr);
    probe->request = check->http ? request_of(own, check) : "";
    probe->fd = -1;
    apr_pool_cleanup_register(own, probe, hang_up_last,
                              apr_pool_cleanup_null);
    return probe;
}

void up_probe_free(up_probe_t *probe)
{
    apr_pool_destroy(probe->own);
}

static int over(up_probe_t *probe, up_checked_e result, const char *why)
{
    probe->result = result;
    probe->why = why;
    probe->phase = OVER;
    if (result == UP_CHECK_FAILED || !probe->keeps) {
        hang_up(probe);
    }
    return 1;
}

static int failed(up_probe_t *probe, const char *what, int err)
{
    return over(probe, UP_CHECK_FAILED,
                err ? apr_psprintf(probe->p, "%s: %s", what, strerror(err))
                    : what);
}

/* --- steps --------------------------------------------------------------- */

static void dial(up_probe_t *probe)
{
    probe->fd = socket(probe->addr->family,
                       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe->fd < 0) {
        failed(probe, "no socket", errno);
        return;
    }
    probe->phase = CONNECTING;
    if (connect(probe->fd, (const struct sockaddr *)&probe->addr->sa,
                probe->addr->salen) < 0 && errno != EINPROGRESS) {
        failed(probe, "cannot connect", errno);
    }
}

static int connected(up_probe_t *probe)
{
    socklen_t len = sizeof(int);
    int err = 0;

    if (getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0) {
        err = errno;
    }
    if (err) {
        return failed(probe, "cannot connect", err);
    }
    if (!probe->check->http) {
        return over(probe, UP_CHECK_PASSED, "");
    }
    probe->phase = SENDING;
    return 0;
}

void up_probe_start(up_probe_t *probe, apr_time_t now)
{
    apr_pool_clear(probe->p);
    probe->until = now + probe->check->timeout;
    probe->sent = 0;
    probe->keeps = 0;
    probe->body = NULL;
    probe->body_len = 0;
    probe->parser = NULL;
    probe->reused = probe->fd >= 0;
    probe->phase = SENDING;
    if (!probe->reused) {
        dial(probe);
    }
}

/* A kept connection that the server has closed meanwhile says nothing of the
 * server's health. */
static int lost(up_probe_t *probe, const char *what, int err)
{
    if (!probe->reused) {
        return failed(probe, what, err);
    }
    hang_up(probe);
    probe->reused = 0;
    probe->sent = 0;
    dial(probe);
    return probe->phase == OVER;
}

static int send_on(up_probe_t *probe)
{
    apr_size_t left = strlen(probe->request) - probe->sent;
    ssize_t n = send(probe->fd, probe->request + probe->sent, left,
                     MSG_NOSIGNAL);

    if (n < 0) {
        return errno == EAGAIN || errno == EINTR
                   ? 0 : lost(probe, "cannot send", errno);
    }
    probe->sent += (apr_size_t)n;
    if ((apr_size_t)n == left) {
        probe->parser = up_parser_make(probe->p, HEAD_FIRST, HEAD_MOST);
        probe->phase = HEAD;
    }
    return 0;
}

static int answered(up_probe_t *probe)
{
    const char *why = NULL;

    if (probe->body) {
        why = up_match_body(probe->check->match, probe->body,
                            probe->body_len);
    }
    return why ? failed(probe, why, 0) : over(probe, UP_CHECK_PASSED, "");
}

/* Decodes what has come of the body. */
static int take_body(up_probe_t *probe, char *bytes, apr_size_t len)
{
    apr_size_t body = 0, used = 0;
    apr_status_t rv = up_decoder_feed(&probe->decoder, bytes, len, &body,
                                      &used);
    apr_size_t room = UP_MATCH_BODY - probe->body_len;

    if (probe->body && body) {
        body = body < room ? body : room;
        memcpy(probe->body + probe->body_len, bytes, body);
        probe->body_len += body;
    }
    if (rv == APR_EINVAL) {
        return failed(probe, probe->decoder.error, 0);
    }
    if (rv == APR_EOF) {
        probe->keeps = probe->keeps && used == len;
        return answered(probe);
    }
    if (probe->body && probe->body_len == UP_MATCH_BODY) {
        probe->keeps = 0; /* enough is seen */
        return answered(probe);
    }
    return 0;
}

static int head_whole(up_probe_t *probe)
{
    const up_head_t *head = up_parser_head(probe->parser);
    const up_match_t *match = probe->check->match;
    up_framing_t framing;
    const char *why = up_head_framing(head, 0, &framing);
    char *rest;
    apr_size_t len;

    if (why) {
        return failed(probe, why, 0);
    }
    if (probe->check->drain && head->status == probe->check->drain) {
        return over(probe, UP_CHECK_DRAINS, apr_psprintf(
            probe->p, "answered %d (drain=)", head->status));
    }
    why = up_match_head(probe->p, match, head);
    if (why) {
        return failed(probe, why, 0);
    }
    if (!(match && match->body) && !probe->check->reuse) {
        return over(probe, UP_CHECK_PASSED, "");
    }
    if (match && match->body) {
        probe->body = apr_palloc(probe->p, UP_MATCH_BODY);
    }
    probe->keeps = probe->check->reuse && !framing.close
                   && framing.kind != UP_FRAMING_CLOSE;
    up_decoder_init(&probe->decoder, &framing, TRAILER_MOST);
    probe->phase = BODY;
    if (up_decoder_finished(&probe->decoder)) {
        return answered(probe);
    }
    up_parser_rest(probe->parser, &rest, &len);
    return len ? take_body(probe, rest, len) : 0;
}

static int read_head(up_probe_t *probe)
{
    apr_status_t rv;
    apr_size_t len;
    ssize_t n;
    char *buf;

    up_parser_space(probe->parser, &buf, &len);
    n = recv(probe->fd, buf, len, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        return up_parser_started(probe->parser)
                   ? failed(probe, "closed in the middle of a head", 0)
                   : lost(probe, "closed without an answer", n ? errno : 0);
    }
    probe->reused = 0;
    rv = up_parser_added(probe->parser, (apr_size_t)n);
    while (rv == APR_SUCCESS && up_parser_head(probe->parser)->status < 200) {
        up_parser_next(probe->parser);
        rv = up_parser_added(probe->parser, 0);
    }
    if (rv == APR_INCOMPLETE) {
        return 0;
    }
    return rv == APR_SUCCESS ? head_whole(probe)
           : failed(probe, apr_pstrcat(probe->p, "sent ",
                                       up_parser_error(probe->parser), NULL),
                    0);
}

static int read_body(up_probe_t *probe)
{
    char bytes[BODY_PIECE];
    ssize_t n = recv(probe->fd, bytes, sizeof(bytes), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n < 0) {
        return failed(probe, "cannot read", errno);
    }
    if (n == 0) {
        return up_decoder_closed(&probe->decoder) == APR_EOF
                   ? answered(probe) : failed(probe, "cut its body", 0);
    }
    return take_body(probe, bytes, (apr_size_t)n);
}

static int is_ready(const up_probe_t *probe)
{
    struct pollfd fd = { .fd = probe->fd,
                         .events = up_probe_events(probe) };

    return poll(&fd, 1, 0) > 0;
}

int up_probe_step(up_probe_t *probe, apr_time_t now)
{
    phase_e before;

    do {
        before = probe->phase;
        if (before == OVER) {
            return 1;
        }
        if (now >= probe->until) {
            return failed(probe, "timed out", 0);
        }
        if (!is_ready(probe)) {
            return 0;
        }
        if (before == CONNECTING ? connected(probe)
            : before == SENDING ? send_on(probe)
            : before == HEAD ? read_head(probe) : read_body(probe)) {
            return 1;
        }
    } while (probe->phase != before);
    return 0;
}

/* --- for who owns it ------------------------------------------------------ */

int up_probe_fd(const up_probe_t *probe)
{
    return probe->phase == IDLE || probe->phase == OVER ? -1 : probe->fd;
}

short up_probe_events(const up_probe_t *probe)
{
    return probe->phase == CONNECTING || probe->phase == SENDING ? POLLOUT
                                                                 : POLLIN;
}

apr_time_t up_probe_until(const up_probe_t *probe)
{
    return probe->until;
}

up_checked_e up_probe_result(const up_probe_t *probe, const char **pwhy)
{
    *pwhy = probe->why;
    return probe->result;
}
