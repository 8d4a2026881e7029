/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* clients PORT NAME=VALUE...: clients that all do the same, each on a
 * connection of its own, and that know what the answers must be: bodies of
 * the pattern of kit.h. They say as JSON how it went. Names:
 *
 *   path         what is asked for (a text; all others are numbers)
 *   connections  1
 *   rounds       requests of each, 1; 0: until `until`
 *   until, cut   ms after the start: no more requests; the end of it all
 *   pause        ms between the requests of a client
 *   close        1: a connection a request
 *   expect       bytes of an answer, 64
 *   upload       bytes of a request's body
 *   rate         bytes a second that a client takes, or gives if it uploads
 *   mss, rcvbuf  of the sockets
 */
#include "answer.h"
#include "kit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK 50   /* ms: how often a client with a rate moves bytes */
#define AGAIN 20  /* ms: before a client that met a failure tries again */
#define BURST 500000 /* us: what a client with a rate may be behind */
#define NOTES 10  /* failures that are told one by one */

typedef enum { PAUSE, CONNECTING, SENDING, RECEIVING } state_e;

/* How a request may end. */
typedef enum {
    ANSWERED, REFUSED, RESET, DROPPED, CUT, STATUS, WRONG, OUTCOMES
} outcome_e;

static const char *const outcomes[OUTCOMES] = {
    "answered",
    "refused", /* no connection */
    "reset",
    "dropped", /* an orderly end, and no byte of an answer */
    "cut",     /* the same within an answer */
    "status",  /* another one than 200 */
    "wrong"    /* other bytes, or another number of them */
};

typedef struct {
    int fd; /* -1: no connection */
    state_e state;
    uint32_t watched; /* epoll events */
    uint64_t rounds_left;
    uint64_t asked; /* requests on this connection */
    uint64_t began; /* this request, us */
    uint64_t paid;  /* us: its bytes are due up to then */
    uint64_t sent;  /* bytes of it */
    answer_t answer;
    kit_timer_t timer;
} client_t;

static struct {
    const char *path;
    uint64_t port, connections, rounds, until, cut, pause, close, expect,
        upload, rate, mss, rcvbuf;
} want = { .path = "/", .connections = 1, .rounds = 1, .cut = 60000,
           .expect = 64 };

static int epoll;
static uint64_t started, last_end;
static uint64_t counts[OUTCOMES];
static uint64_t at_work; /* clients that are not done */
static client_t *clients;
static char request[512];
static size_t request_length;
static char notes[NOTES][120];
static size_t notes_used;

static float *times; /* ms of the requests that were answered */
static size_t times_room;

static void connect_to(client_t *c);
static void receive(client_t *c);
static void tick(void *baton);

/* --- results ------------------------------------------------------------- */

static uint64_t elapsed(void)
{
    return kit_now() - started;
}

static void remember(client_t *c)
{
    if (counts[ANSWERED] > times_room) {
        times_room = times_room ? 2 * times_room : 4096;
        times = realloc(times, times_room * sizeof(*times));
        if (!times) {
            kit_die("clients");
        }
    }
    times[counts[ANSWERED] - 1] = (float)(kit_now() - c->began) / 1000;
}

static void note(client_t *c, outcome_e how)
{
    if (notes_used < NOTES) {
        snprintf(notes[notes_used++], sizeof(notes[0]),
                 "after %.3f s %s: client %d, request %llu of its "
                 "connection, %.3f s old, status %d, %llu bytes of a body",
                 (double)elapsed() / 1e6, outcomes[how], (int)(c - clients),
                 (unsigned long long)c->asked,
                 (double)(kit_now() - c->began) / 1e6, c->answer.status,
                 (unsigned long long)c->answer.got);
    }
}

static int by_size(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;

    return (left > right) - (left < right);
}

/* Of the sorted times. */
static double quantile(double q)
{
    size_t n = counts[ANSWERED];

    return n ? times[(size_t)(q * (double)(n - 1) + 0.5)] : 0;
}

static void report(void)
{
    size_t i;

    if (times) {
        qsort(times, counts[ANSWERED], sizeof(*times), by_size);
    }
    printf("{");
    for (i = 0; i < OUTCOMES; i++) {
        printf("\"%s\": %llu, ", outcomes[i], (unsigned long long)counts[i]);
    }
    printf("\"late\": %llu, \"seconds\": %.3f, \"p50\": %.3f, "
           "\"p99\": %.3f, \"max\": %.3f, \"notes\": [",
           (unsigned long long)at_work, (double)last_end / 1e6,
           quantile(0.5), quantile(0.99), quantile(1));
    for (i = 0; i < notes_used; i++) {
        printf("%s\"%s\"", i ? ", " : "", notes[i]);
    }
    printf("]}\n");
}

/* --- the life of a client ------------------------------------------------ */

static void hang_up(client_t *c)
{
    if (c->fd >= 0) {
        close(c->fd);
        c->fd = -1;
    }
}

static void watch(client_t *c, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = c };

    if (events != c->watched) {
        c->watched = events;
        epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event);
    }
}

static void end(client_t *c, outcome_e how)
{
    unsigned ms = (unsigned)want.pause;

    counts[how]++;
    last_end = elapsed();
    kit_timer_drop(&c->timer);
    if (how == ANSWERED) {
        remember(c);
    }
    else {
        note(c, how);
        ms += AGAIN;
    }
    if (how != ANSWERED || c->answer.closes || want.close) {
        hang_up(c);
    }
    c->state = PAUSE;
    if (want.rounds ? --c->rounds_left == 0
                    : last_end >= want.until * 1000) {
        hang_up(c);
        at_work--;
        return;
    }
    if (c->fd >= 0) {
        watch(c, EPOLLIN); /* the end, while nothing is asked */
    }
    if (ms) {
        kit_timer_set(&c->timer, ms);
    }
    else {
        tick(c);
    }
}

/* How many bytes may be moved now. Who had to wait does not catch up with
 * more than BURST. */
static uint64_t allowed(client_t *c)
{
    uint64_t now = kit_now();

    if (!want.rate) {
        return KIT_ROOM;
    }
    if (c->paid + BURST < now) {
        c->paid = now - BURST;
    }
    return c->paid < now ? want.rate * (now - c->paid) / 1000000 : 0;
}

static void pay(client_t *c, uint64_t bytes)
{
    if (want.rate) {
        c->paid += bytes * 1000000 / want.rate;
    }
}

static void send_more(client_t *c)
{
    uint64_t all = request_length + want.upload;
    char bytes[KIT_ROOM];
    const char *from = bytes;
    uint64_t n = 0, may;
    ssize_t sent;

    while (c->sent < all) {
        if (c->sent < request_length) {
            from = request + c->sent;
            n = request_length - c->sent;
        }
        else {
            from = bytes;
            may = allowed(c);
            n = all - c->sent < may ? all - c->sent : may;
            n = n < KIT_ROOM ? n : KIT_ROOM;
            kit_fill(bytes, n, c->sent - request_length);
        }
        sent = n ? send(c->fd, from, n, MSG_NOSIGNAL) : 0;
        if (sent < 0 && errno != EAGAIN) {
            end(c, RESET);
            return;
        }
        if (sent <= 0) {
            break;
        }
        if (c->sent >= request_length) {
            pay(c, (uint64_t)sent);
        }
        c->sent += (uint64_t)sent;
    }
    if (c->sent < all && !n) {
        watch(c, EPOLLIN);
        kit_timer_set(&c->timer, TICK);
    }
    else if (c->sent < all) {
        watch(c, EPOLLIN | EPOLLOUT);
    }
    else {
        c->state = RECEIVING;
        kit_timer_drop(&c->timer);
        watch(c, EPOLLIN);
    }
}

static void ask(client_t *c)
{
    c->asked++;
    c->paid = kit_now();
    c->sent = 0;
    answer_begin(&c->answer);
    c->state = SENDING;
    send_more(c);
}

static void tick(void *baton)
{
    client_t *c = baton;

    if (c->state == PAUSE) {
        if (!want.rounds && elapsed() >= want.until * 1000) {
            hang_up(c);
            at_work--;
            return;
        }
        c->began = kit_now();
        if (c->fd < 0) {
            connect_to(c);
        }
        else {
            ask(c);
        }
    }
    else if (c->state == SENDING) {
        send_more(c);
    }
    else {
        receive(c);
    }
}

static void connect_to(client_t *c)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)want.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    struct epoll_event event = { .events = EPOLLOUT, .data.ptr = c };
    int mss = (int)want.mss, rcvbuf = (int)want.rcvbuf, on = 1;

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (c->fd < 0) {
        kit_die("socket");
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (mss) {
        setsockopt(c->fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
    }
    if (rcvbuf) {
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
    }
    c->asked = 0;
    answer_begin(&c->answer);
    c->state = CONNECTING;
    c->watched = EPOLLOUT;
    if (connect(c->fd, (struct sockaddr *)&address, sizeof(address))
        && errno != EINPROGRESS) {
        end(c, REFUSED);
        return;
    }
    epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
}

/* --- answers ------------------------------------------------------------- */

static void judge(client_t *c)
{
    if (c->answer.status != 200) {
        end(c, STATUS);
    }
    else if (c->answer.wrong || c->answer.got != want.expect) {
        end(c, WRONG);
    }
    else {
        end(c, ANSWERED);
    }
}

/* What the end of the connection, or an error, means. */
static void lost(client_t *c, int error)
{
    if (error) {
        end(c, RESET);
    }
    else if (answer_end(&c->answer)) {
        judge(c);
    }
    else {
        end(c, c->answer.begun ? CUT : DROPPED);
    }
}

static void receive(client_t *c)
{
    static char bytes[KIT_ROOM];
    int limited = want.rate && !want.upload;
    uint64_t may;
    ssize_t n;

    while (c->state == RECEIVING) {
        may = limited ? allowed(c) : KIT_ROOM;
        if (!may) {
            watch(c, 0);
            kit_timer_set(&c->timer, TICK);
            return;
        }
        n = recv(c->fd, bytes, may < KIT_ROOM ? may : KIT_ROOM, 0);
        if (n < 0 && errno == EAGAIN) {
            watch(c, EPOLLIN);
            return;
        }
        if (n <= 0) {
            lost(c, n < 0);
            return;
        }
        if (limited) {
            pay(c, (uint64_t)n);
        }
        answer_take(&c->answer, bytes, (size_t)n);
        if (c->answer.over) {
            judge(c);
        }
    }
}

static void handle(client_t *c)
{
    int error = 0;
    socklen_t size = sizeof(error);

    if (c->fd < 0) {
        return;
    }
    switch (c->state) {
    case CONNECTING:
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error) {
            end(c, REFUSED);
        }
        else {
            ask(c);
        }
        break;
    case PAUSE:
        hang_up(c); /* the server may end a connection that rests */
        break;
    case SENDING:
        send_more(c);
        break;
    default:
        receive(c);
        break;
    }
}

/* --- the whole ----------------------------------------------------------- */

static void set(const char *option)
{
    struct { const char *name; uint64_t *to; } numbers[] = {
        { "connections", &want.connections }, { "rounds", &want.rounds },
        { "until", &want.until }, { "cut", &want.cut },
        { "pause", &want.pause }, { "close", &want.close },
        { "expect", &want.expect }, { "upload", &want.upload },
        { "rate", &want.rate }, { "mss", &want.mss },
        { "rcvbuf", &want.rcvbuf }
    };
    const char *value = strchr(option, '=');
    size_t length = value ? (size_t)(value - option) : 0;
    size_t i;

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (length == strlen(numbers[i].name)
            && !strncmp(option, numbers[i].name, length)) {
            *numbers[i].to = kit_number(value + 1);
            return;
        }
    }
    if (length != 4 || strncmp(option, "path", 4)) {
        errno = EINVAL;
        kit_die(option);
    }
    want.path = value + 1;
}

static void prepare(void)
{
    char length[64] = "";
    int n;

    if (want.upload) {
        snprintf(length, sizeof(length), "Content-Length: %llu\r\n",
                 (unsigned long long)want.upload);
    }
    n = snprintf(request, sizeof(request),
                 "%s %s HTTP/1.1\r\nHost: bench\r\n%s%s\r\n",
                 want.upload ? "POST" : "GET", want.path, length,
                 want.close ? "Connection: close\r\n" : "");
    if (n < 0 || (size_t)n >= sizeof(request)) {
        errno = ENAMETOOLONG;
        kit_die("path");
    }
    request_length = (size_t)n;
    clients = calloc(want.connections, sizeof(*clients));
    epoll = epoll_create1(0);
    if (!clients || epoll < 0) {
        kit_die("clients");
    }
}

static void begin_all(void)
{
    size_t i;

    started = kit_now();
    at_work = want.connections;
    for (i = 0; i < want.connections; i++) {
        clients[i].timer.fire = tick;
        clients[i].timer.baton = &clients[i];
        clients[i].rounds_left = want.rounds;
        clients[i].began = kit_now();
        clients[i].fd = -1;
        connect_to(&clients[i]);
    }
}

int main(int argc, char **argv)
{
    struct epoll_event events[512];
    int n, i, wait;

    if (argc < 2) {
        fprintf(stderr, "usage: clients PORT NAME=VALUE...\n");
        return 2;
    }
    want.port = kit_number(argv[1]);
    for (i = 2; i < argc; i++) {
        set(argv[i]);
    }
    prepare();
    begin_all();
    while (at_work && elapsed() < want.cut * 1000) {
        wait = kit_timers_run();
        n = epoll_wait(epoll, events, 512, wait);
        for (i = 0; i < n; i++) {
            handle(events[i].data.ptr);
        }
    }
    report();
    return 0;
}
