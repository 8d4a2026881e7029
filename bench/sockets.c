/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* sockets PORT NAME=VALUE...: WebSockets that are open all at once. When
 * they are, each sends a frame every `pause` ms, `frames` times, and knows
 * what must come back: the same bytes. Then all are closed. As JSON it says
 * how it went. Names:
 *
 *   path         what is asked for (a text; all others are numbers)
 *   connections  1
 *   frames       of each, 10
 *   pause        1000
 *   idle         ms between the last opening and the first frame, 500
 *   cut          ms after the start: the end of it all
 */
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

#define FRAME 22     /* a text of 16 bytes, masked */
#define CONNECTING 64 /* at most so many open at a time */

typedef enum { WAITING, OPENING, OPEN, DONE, GONE } state_e;

typedef struct {
    int fd;
    state_e state;
    uint64_t left;  /* frames to send */
    uint64_t sent;  /* when the last one was, us */
    size_t got;     /* bytes of its echo, or of the head */
    char bytes[512];
    kit_timer_t timer;
} socket_t;

static struct {
    const char *path;
    uint64_t port, connections, frames, pause, idle, cut;
} want = { .path = "/", .connections = 1, .frames = 10, .pause = 1000,
           .idle = 500, .cut = 60000 };

static int epoll;
static socket_t *sockets;
static uint64_t begun, opening, opened, refused, lost, wrong, over;
static uint64_t open_at; /* when all were, us after the start */
static uint64_t started;
static float *times; /* ms from a frame to the end of its echo */
static size_t echoes;
static char request[512];
static size_t request_length;

static void open_more(void);

static void gone(socket_t *s, uint64_t *why)
{
    if (s->state == OPENING) {
        opening--;
    }
    if (s->state == OPEN) {
        over++;
    }
    s->state = GONE;
    kit_timer_drop(&s->timer);
    close(s->fd);
    s->fd = -1;
    ++*why;
}

/* Another frame: FIN, text, its length, four bytes of mask, the rest. */
static void send_frame(void *baton)
{
    socket_t *s = baton;
    char frame[FRAME] = "\x81\x90MASK";

    if (s->got) { /* the echo of the last one has not come */
        kit_timer_set(&s->timer, 10);
        return;
    }
    kit_fill(frame + 6, 16, (uint64_t)(s - sockets) + s->left);
    s->sent = kit_now();
    s->got = FRAME;
    memcpy(s->bytes, frame, FRAME);
    if (send(s->fd, frame, FRAME, MSG_NOSIGNAL) != FRAME) {
        gone(s, &lost);
        return;
    }
    if (--s->left) {
        kit_timer_set(&s->timer, (unsigned)want.pause);
    }
}

/* All that will open have: frames begin, spread over the pause. */
static void begin_frames(void)
{
    uint64_t i;

    open_at = kit_now() - started;
    for (i = 0; i < want.connections; i++) {
        if (sockets[i].state == OPEN) {
            kit_timer_set(&sockets[i].timer,
                          (unsigned)(want.idle + 1
                                     + want.pause * i / want.connections));
        }
    }
}

static void is_open(socket_t *s)
{
    opening--;
    opened++;
    s->state = OPEN;
    s->got = 0;
    s->left = want.frames;
}

static void read_head(socket_t *s, ssize_t n)
{
    s->got += (size_t)n;
    s->bytes[s->got] = '\0';
    if (!strstr(s->bytes, "\r\n\r\n")) {
        return;
    }
    if (strncmp(s->bytes, "HTTP/1.1 101 ", 13)) {
        gone(s, &refused);
    }
    else {
        is_open(s);
    }
    open_more();
}

/* `got` counts down what is missing of the echo. */
static void read_echo(socket_t *s, const char *bytes, ssize_t n)
{
    size_t at = FRAME - s->got;

    if ((size_t)n > s->got || memcmp(bytes, s->bytes + at, (size_t)n)) {
        gone(s, &wrong);
        return;
    }
    s->got -= (size_t)n;
    if (!s->got) {
        times[echoes++] = (float)(kit_now() - s->sent) / 1000;
        if (!s->left) {
            over++;
            s->state = DONE;
        }
    }
}

static void handle(socket_t *s)
{
    char bytes[512];
    ssize_t n;

    if (s->state == OPENING) {
        n = recv(s->fd, s->bytes + s->got, sizeof(s->bytes) - 1 - s->got, 0);
        if (n > 0) {
            read_head(s, n);
        }
        else if (n == 0 || errno != EAGAIN) {
            gone(s, &refused);
            open_more();
        }
    }
    else if (s->state != GONE) {
        n = recv(s->fd, bytes, sizeof(bytes), 0);
        if (n > 0) {
            read_echo(s, bytes, n);
        }
        else if (n == 0 || errno != EAGAIN) {
            gone(s, &lost);
        }
    }
}

static void open_one(socket_t *s)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = s };
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)want.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int on = 1;

    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    s->state = OPENING;
    opening++;
    s->timer.fire = send_frame;
    s->timer.baton = s;
    if (connect(s->fd, (struct sockaddr *)&address, sizeof(address))
        || setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on))
        || send(s->fd, request, request_length, MSG_NOSIGNAL)
               != (ssize_t)request_length
        || epoll_ctl(epoll, EPOLL_CTL_ADD, s->fd, &event)) {
        gone(s, &refused);
    }
}

static void open_more(void)
{
    while (begun < want.connections && opening < CONNECTING) {
        open_one(&sockets[begun++]);
    }
    if (begun == want.connections && !opening && !open_at) {
        begin_frames();
    }
}

/* --- the whole ----------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;

    return (left > right) - (left < right);
}

static double quantile(double q)
{
    return echoes ? times[(size_t)(q * (double)(echoes - 1) + 0.5)] : 0;
}

static void report(void)
{
    qsort(times, echoes, sizeof(*times), by_size);
    printf("{\"opened\": %llu, \"refused\": %llu, \"lost\": %llu, "
           "\"wrong\": %llu, \"echoes\": %llu, \"opening\": %.3f, "
           "\"p50\": %.3f, \"p99\": %.3f, \"max\": %.3f}\n",
           (unsigned long long)opened, (unsigned long long)refused,
           (unsigned long long)lost, (unsigned long long)wrong,
           (unsigned long long)echoes, (double)open_at / 1e6, quantile(0.5),
           quantile(0.99), quantile(1));
}

static void set(const char *option)
{
    struct { const char *name; uint64_t *to; } numbers[] = {
        { "connections=", &want.connections }, { "frames=", &want.frames },
        { "pause=", &want.pause }, { "idle=", &want.idle },
        { "cut=", &want.cut }
    };
    size_t i;

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        size_t length = strlen(numbers[i].name);

        if (!strncmp(option, numbers[i].name, length)) {
            *numbers[i].to = kit_number(option + length);
            return;
        }
    }
    if (strncmp(option, "path=", 5)) {
        errno = EINVAL;
        kit_die(option);
    }
    want.path = option + 5;
}

static void prepare(void)
{
    int n = snprintf(request, sizeof(request),
                     "GET %s HTTP/1.1\r\nHost: bench\r\n"
                     "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                     want.path);

    if (n < 0 || (size_t)n >= sizeof(request)) {
        errno = ENAMETOOLONG;
        kit_die("path");
    }
    request_length = (size_t)n;
    sockets = calloc(want.connections, sizeof(*sockets));
    times = calloc(want.connections * (want.frames + 1), sizeof(*times));
    epoll = epoll_create1(0);
    if (!sockets || !times || epoll < 0) {
        kit_die("sockets");
    }
}

int main(int argc, char **argv)
{
    struct epoll_event events[512];
    int n, i, wait;

    if (argc < 2) {
        fprintf(stderr, "usage: sockets PORT NAME=VALUE...\n");
        return 2;
    }
    want.port = kit_number(argv[1]);
    for (i = 2; i < argc; i++) {
        set(argv[i]);
    }
    prepare();
    started = kit_now();
    open_more();
    while ((!open_at || over < opened)
           && kit_now() - started < want.cut * 1000) {
        wait = kit_timers_run();
        n = epoll_wait(epoll, events, 512, wait);
        for (i = 0; i < n; i++) {
            handle(events[i].data.ptr);
        }
    }
    report();
    return 0;
}
