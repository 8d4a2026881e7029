/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* app PORT SLOTS: the application behind the proxies. All bodies are of the
 * pattern of kit.h. It serves at most SLOTS requests of /bytes at a time;
 * the others wait for their turn. What it knows of itself is to be had from
 * the same port.
 *
 *   /probe, /wait/MS        64 bytes, after that time
 *   /bytes/N                N bytes; the slot is held until the last is sent
 *   /events/COUNT/MS        COUNT chunks of 16 bytes, one at a time
 *   /upload                 reads the body; 64 bytes, 400 if it is not right
 *   /stats, /reset          what happened since the last reset, as JSON
 *
 * Counted are /bytes and /upload. An exchange lasts from its request's head
 * to its response's last byte: so long it holds a connection. */
#define _GNU_SOURCE
#include "kit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SMALL 64
#define EVENT 16
#define SEND_BUFFER 65536
#define ETHERNET 1448

typedef enum {
    HEAD,   /* no request, or not all of it */
    UPLOAD, /* its body comes */
    QUEUED, /* waits for a slot */
    ASLEEP, /* until the timer fires */
    BODY    /* the response goes out */
} state_e;

typedef struct conn_t conn_t;
struct conn_t {
    int fd;
    state_e state;
    unsigned counted : 1; /* is in stats.now */
    unsigned slotted : 1; /* has one of the slots */
    unsigned closes : 1;  /* after this response */
    unsigned writing : 1; /* epoll tells of room */
    unsigned wrong : 1;   /* the upload is */
    unsigned events_left;
    unsigned event_ms;
    uint64_t body_left; /* of the request or of the response */
    uint64_t offset;    /* of the body that moves */
    kit_timer_t timer;
    conn_t *behind; /* in the queue, or dead */
    size_t in_used;
    size_t out_used, out_sent;
    char in[4096];
    char out[512];
};

static struct {
    unsigned now, peak, served, wrong, aborted;
    uint64_t held;    /* connection-microseconds */
    uint64_t began;   /* the time of the reset */
    uint64_t changed; /* when `now` was last another */
    uint64_t ended;   /* when an exchange last was served */
} stats;

static int epoll;
static unsigned slots;
static conn_t *first, *last; /* the queue */
static conn_t *dead;         /* freed when nothing can point to them */

static void go_on(conn_t *c);

/* --- what is counted ----------------------------------------------------- */

static void count(int change)
{
    uint64_t now = kit_now();

    stats.held += stats.now * (now - stats.changed);
    stats.changed = now;
    stats.now += (unsigned)change;
    if (stats.now > stats.peak) {
        stats.peak = stats.now;
    }
}

/* A slot has become free. */
static void next_in_queue(void)
{
    conn_t *c = first;

    slots++;
    if (c) {
        first = c->behind;
        last = first ? last : NULL;
        slots--;
        c->slotted = 1;
        c->state = BODY;
        go_on(c);
    }
}

static void leave_queue(conn_t *c)
{
    conn_t **at = &first;
    conn_t *before = NULL;

    while (*at != c) {
        before = *at;
        at = &before->behind;
    }
    *at = c->behind;
    if (last == c) {
        last = before;
    }
}

static void end_exchange(conn_t *c)
{
    if (c->counted) {
        c->counted = 0;
        count(-1);
    }
    if (c->slotted) {
        c->slotted = 0;
        next_in_queue();
    }
}

static void drop(conn_t *c)
{
    if (c->state == QUEUED) {
        leave_queue(c);
    }
    if (c->counted) {
        stats.aborted++;
    }
    kit_timer_drop(&c->timer);
    close(c->fd);
    c->fd = -1;
    c->behind = dead;
    dead = c;
    end_exchange(c);
}

/* --- responses ----------------------------------------------------------- */

static void say(conn_t *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(conn_t *c, const char *format, ...)
{
    size_t room = sizeof(c->out) - c->out_used;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(c->out + c->out_used, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room) {
        errno = ENOBUFS;
        kit_die("app");
    }
    c->out_used += (size_t)n;
}

/* The head, and what of the body fits beside it. */
static void begin(conn_t *c, const char *status, uint64_t length)
{
    say(c, "HTTP/1.1 %s\r\nContent-Length: %llu\r\n%s\r\n", status,
        (unsigned long long)length, c->closes ? "Connection: close\r\n" : "");
    c->state = BODY;
    c->body_left = length;
    if (length <= SMALL) {
        kit_fill(c->out + c->out_used, length, 0);
        c->out_used += length;
        c->body_left = 0;
    }
}

static void begin_wait(conn_t *c, unsigned ms)
{
    begin(c, c->wrong ? "400 Bad Request" : "200 OK", SMALL);
    if (ms) {
        c->state = ASLEEP;
        kit_timer_set(&c->timer, ms);
    }
}

static void begin_bytes(conn_t *c, uint64_t length)
{
    begin(c, "200 OK", length);
    if (slots) {
        slots--;
        c->slotted = 1;
        return;
    }
    c->state = QUEUED;
    c->behind = NULL;
    if (last) {
        last->behind = c;
    }
    else {
        first = c;
    }
    last = c;
}

static void begin_events(conn_t *c, unsigned number, unsigned ms)
{
    say(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
           "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n");
    c->events_left = number;
    c->event_ms = ms;
    c->state = ASLEEP;
    kit_timer_set(&c->timer, ms);
}

/* The next event, and the end with the last one. */
static void add_event(conn_t *c)
{
    say(c, "%x\r\n", EVENT);
    kit_fill(c->out + c->out_used, EVENT, c->offset);
    c->out_used += EVENT;
    c->offset += EVENT;
    say(c, "\r\n%s", --c->events_left ? "" : "0\r\n\r\n");
    c->state = BODY;
    if (c->events_left) {
        c->state = ASLEEP;
        kit_timer_set(&c->timer, c->event_ms);
    }
}

static void wake(void *baton)
{
    conn_t *c = baton;

    if (!c->events_left) {
        c->state = BODY;
    }
    else if (c->out_used == c->out_sent) {
        add_event(c);
    }
    else { /* nobody reads */
        kit_timer_set(&c->timer, c->event_ms);
    }
    go_on(c);
}

static void begin_stats(conn_t *c)
{
    char text[256];
    uint64_t ended = stats.ended ? stats.ended - stats.began : 0;
    int n;

    count(0);
    n = snprintf(text, sizeof(text),
                 "{\"now\": %u, \"peak\": %u, \"served\": %u, \"wrong\": %u, "
                 "\"aborted\": %u, \"held\": %.3f, \"ended\": %.3f}\n",
                 stats.now, stats.peak, stats.served, stats.wrong,
                 stats.aborted, (double)stats.held / 1e6,
                 (double)ended / 1e6);
    begin(c, "200 OK", (uint64_t)n);
    say(c, "%s", text);
    c->body_left = 0;
}

static void begin_reset(conn_t *c)
{
    unsigned now = stats.now;

    memset(&stats, 0, sizeof(stats));
    stats.now = stats.peak = now;
    stats.began = stats.changed = kit_now();
    begin(c, "200 OK", 0);
}

/* --- requests ------------------------------------------------------------ */

/* The head's last field of that name, lower case with a colon, or NULL. */
static const char *field(const char *head, const char *name)
{
    const char *line = strchr(head, '\n');
    const char *found = NULL;

    while (line) {
        line++;
        if (!strncasecmp(line, name, strlen(name))) {
            found = line + strlen(name);
            found += strspn(found, " \t");
        }
        line = strchr(line, '\n');
    }
    return found;
}

/* The request is there, body and all. */
static void answer(conn_t *c)
{
    const char *path = strchr(c->in, ' ');
    unsigned long long length = 0;
    unsigned number = 0, ms = 0;

    path = path ? path + 1 : "";
    c->out_used = c->out_sent = 0;
    c->offset = 0;
    if (sscanf(path, "/wait/%u ", &ms) == 1
        || !strncmp(path, "/probe ", 7) || !strncmp(path, "/upload ", 8)) {
        begin_wait(c, ms);
    }
    else if (sscanf(path, "/bytes/%llu ", &length) == 1) {
        begin_bytes(c, length);
    }
    else if (sscanf(path, "/events/%u/%u ", &number, &ms) == 2 && number
             && ms) {
        begin_events(c, number, ms);
    }
    else if (!strncmp(path, "/stats ", 7)) {
        begin_stats(c);
    }
    else if (!strncmp(path, "/reset ", 7)) {
        begin_reset(c);
    }
    else {
        begin(c, "404 Not Found", 0);
    }
    c->in[0] = '\0';
    go_on(c);
}

/* What has come of the request's body. */
static void upload(conn_t *c, const char *bytes, size_t length)
{
    if (length > c->body_left || !kit_right(bytes, length, c->offset)) {
        c->wrong = 1;
    }
    length = length < c->body_left ? length : (size_t)c->body_left;
    c->offset += length;
    c->body_left -= length;
    if (!c->body_left) {
        stats.wrong += c->wrong;
        answer(c);
    }
}

static void begin_exchange(conn_t *c, char *end)
{
    size_t rest = c->in_used - (size_t)(end - c->in);
    const char *value;

    end[-1] = '\0';
    c->in_used = 0;
    value = field(c->in, "connection:");
    c->closes = value ? !strncasecmp(value, "close", 5)
                      : !!strstr(c->in, " HTTP/1.0\r");
    value = field(c->in, "content-length:");
    c->body_left = value ? strtoull(value, NULL, 10) : 0;
    c->offset = 0;
    c->wrong = !!field(c->in, "transfer-encoding:"); /* it has no chunks */
    c->state = UPLOAD;
    if (strstr(c->in, " /bytes/") || strstr(c->in, " /upload ")) {
        c->counted = 1;
        count(1);
    }
    upload(c, end, rest);
}

static void finish(conn_t *c)
{
    if (c->counted) {
        stats.served++;
        stats.ended = kit_now();
    }
    end_exchange(c);
    c->state = HEAD;
    if (c->closes) {
        drop(c);
    }
}

/* --- connections --------------------------------------------------------- */

static void watch(conn_t *c, int writing)
{
    struct epoll_event event = {
        .events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.ptr = c
    };

    if ((unsigned)writing != c->writing) {
        c->writing = writing ? 1 : 0;
        epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event);
    }
}

/* Sends bytes. Returns how many, 0: no room, or the connection is no more. */
static size_t send_some(conn_t *c, const char *bytes, size_t length)
{
    ssize_t n = send(c->fd, bytes, length, MSG_NOSIGNAL);

    if (n >= 0) {
        return (size_t)n;
    }
    if (errno == EAGAIN) {
        watch(c, 1);
    }
    else {
        drop(c);
    }
    return 0;
}

/* Sends what can be sent. */
static void go_on(conn_t *c)
{
    char bytes[KIT_ROOM];
    size_t n;

    while (c->out_sent < c->out_used && c->state != QUEUED) {
        if (c->state == ASLEEP && !c->events_left) {
            return;
        }
        n = send_some(c, c->out + c->out_sent, c->out_used - c->out_sent);
        if (!n) {
            return;
        }
        c->out_sent += n;
    }
    if (c->state == ASLEEP) {
        c->out_used = c->out_sent = 0;
    }
    while (c->state == BODY && c->body_left) {
        n = c->body_left < KIT_ROOM ? (size_t)c->body_left : KIT_ROOM;
        kit_fill(bytes, n, c->offset);
        n = send_some(c, bytes, n);
        if (!n) {
            return;
        }
        c->offset += n;
        c->body_left -= n;
    }
    watch(c, 0);
    if (c->state == BODY) {
        finish(c);
    }
}

static void read_head(conn_t *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_used,
                     sizeof(c->in) - 1 - c->in_used, 0);
    char *end;

    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) {
            drop(c);
        }
        return;
    }
    c->in_used += (size_t)n;
    c->in[c->in_used] = '\0';
    end = strstr(c->in, "\r\n\r\n");
    if (end) {
        begin_exchange(c, end + 4);
    }
}

static void read_upload(conn_t *c)
{
    char bytes[KIT_ROOM];
    ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

    if (n > 0) {
        upload(c, bytes, (size_t)n);
    }
    else if (n == 0 || errno != EAGAIN) {
        drop(c);
    }
}

static void handle(conn_t *c, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        if (c->state == UPLOAD) {
            read_upload(c);
        }
        else if (c->state == HEAD) {
            read_head(c);
        }
        else { /* the end: nobody asks before the answer */
            drop(c);
        }
    }
    else if (events & EPOLLOUT) {
        go_on(c);
    }
}

static void accept_all(int listener)
{
    struct epoll_event event = { .events = EPOLLIN };
    int on = 1;
    conn_t *c;
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        c = calloc(1, sizeof(*c));
        if (!c) {
            kit_die("app");
        }
        c->fd = fd;
        c->timer.fire = wake;
        c->timer.baton = c;
        event.data.ptr = c;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
            kit_die("epoll_ctl");
        }
    }
}

/* Loopback's huge segments and buffers would hide who waits for whom. */
static int listen_on(uint16_t port)
{
    int size = SEND_BUFFER, mss = ETHERNET, on = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address))
        || listen(fd, 4096)) {
        kit_die("bind");
    }
    return fd;
}

static void bury(void)
{
    conn_t *c;

    while (dead) {
        c = dead;
        dead = c->behind;
        free(c);
    }
}

int main(int argc, char **argv)
{
    struct epoll_event events[512], event = { .events = EPOLLIN };
    int listener, wait, n, i;

    if (argc != 3) {
        fprintf(stderr, "usage: app PORT SLOTS\n");
        return 2;
    }
    listener = listen_on((uint16_t)kit_number(argv[1]));
    slots = (unsigned)kit_number(argv[2]);
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        wait = kit_timers_run();
        bury();
        n = epoll_wait(epoll, events, 512, wait);
        for (i = 0; i < n; i++) {
            if (!events[i].data.ptr) {
                accept_all(listener);
            }
            else if (((conn_t *)events[i].data.ptr)->fd >= 0) {
                handle(events[i].data.ptr, events[i].events);
            }
        }
    }
}
