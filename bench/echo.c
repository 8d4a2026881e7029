/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* echo PORT: switches whoever asks for an upgrade and gives back every byte
 * that follows; 64 bytes for any other request. Frames are smaller than a
 * socket's buffer: who does not take them is dropped. */
#define _GNU_SOURCE
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

#define SWITCH "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n" \
               "Connection: Upgrade\r\n\r\n"

typedef struct {
    int fd;
    int switched;
    size_t used;
    char head[2048];
} conn_t;

static int epoll;

static void drop(conn_t *c)
{
    close(c->fd);
    free(c);
}

static int give(const conn_t *c, const char *bytes, size_t length)
{
    return !length
           || send(c->fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static int answer(conn_t *c)
{
    char text[256];
    char *end = strstr(c->head, "\r\n\r\n");
    int n;

    if (!end) {
        return c->used < sizeof(c->head) - 1;
    }
    end += 4;
    if (strcasestr(c->head, "\r\nUpgrade:")) {
        c->switched = 1;
        return give(c, SWITCH, sizeof(SWITCH) - 1)
               && give(c, end, c->used - (size_t)(end - c->head));
    }
    n = snprintf(text, sizeof(text),
                 "HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n");
    kit_fill(text + n, 64, 0);
    c->used = 0;
    return give(c, text, (size_t)n + 64);
}

static int handle(conn_t *c)
{
    char bytes[4096];
    ssize_t n;

    if (c->switched) {
        n = recv(c->fd, bytes, sizeof(bytes), 0);
        return n > 0 ? give(c, bytes, (size_t)n) : n < 0 && errno == EAGAIN;
    }
    n = recv(c->fd, c->head + c->used, sizeof(c->head) - 1 - c->used, 0);
    if (n <= 0) {
        return n < 0 && errno == EAGAIN;
    }
    c->used += (size_t)n;
    c->head[c->used] = '\0';
    return answer(c);
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
            kit_die("echo");
        }
        c->fd = fd;
        event.data.ptr = c;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
            kit_die("epoll_ctl");
        }
    }
}

int main(int argc, char **argv)
{
    struct epoll_event events[512], event = { .events = EPOLLIN };
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int on = 1, n, i;

    if (argc != 2) {
        fprintf(stderr, "usage: echo PORT\n");
        return 2;
    }
    address.sin_port = htons((uint16_t)kit_number(argv[1]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (struct sockaddr *)&address, sizeof(address))
        || listen(listener, 4096)) {
        kit_die("bind");
    }
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        n = epoll_wait(epoll, events, 512, -1);
        for (i = 0; i < n; i++) {
            if (!events[i].data.ptr) {
                accept_all(listener);
            }
            else if (!handle(events[i].data.ptr)) {
                drop(events[i].data.ptr);
            }
        }
    }
}
