/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns the grammar of a backend's address.
 */

#include "config/address.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "apr_lib.h"
#include "apr_strings.h"

/* A leading zero is not octal here, and 65535 is the end. */
static const char *parse_port(const char *text, apr_port_t *pport)
{
    const char *at;
    int port = 0;

    for (at = text; apr_isdigit(*at) && port <= 65535; at++) {
        port = port * 10 + (*at - '0');
    }
    if (at == text || *at != '\0' || port < 1 || port > 65535) {
        return "wants a port from 1 to 65535 after the colon";
    }
    *pport = (apr_port_t)port;
    return NULL;
}

static const char *parse_unix(const char *path, up_address_t *address)
{
    struct sockaddr_un unused;

    if (path[0] != '/') {
        return "wants an absolute path after unix:, such as unix:/run/a.sock";
    }
    if (strlen(path) >= sizeof(unused.sun_path)) {
        return "has a socket path that is longer than the system allows (107 "
               "bytes): use a shorter one";
    }
    address->unix_path = path;
    return NULL;
}

/* A numeric address, without brackets. */
static int read_ip(const char *ip, apr_port_t port, up_local_t *local)
{
    memset(local, 0, sizeof(*local));
    if (inet_pton(AF_INET, ip, &local->sa.in.sin_addr) == 1) {
        local->sa.in.sin_family = AF_INET;
        local->sa.in.sin_port = htons(port);
        local->len = sizeof(local->sa.in);
        return 1;
    }
    if (inet_pton(AF_INET6, ip, &local->sa.in6.sin6_addr) == 1) {
        local->sa.in6.sin6_family = AF_INET6;
        local->sa.in6.sin6_port = htons(port);
        local->len = sizeof(local->sa.in6);
        return 1;
    }
    return 0;
}

/* The pieces of host[:port] and [v6][:port], in place. */
typedef struct parts_t {
    const char *host; /* without brackets */
    apr_size_t len;
    const char *port; /* what follows the colon, NULL: none */
    int v6;
} parts_t;

static const char *split(const char *text, parts_t *parts)
{
    const char *after;

    parts->v6 = text[0] == '[';
    parts->host = text + parts->v6;
    after = strchr(text, parts->v6 ? ']' : ':');
    if (parts->v6 && after == NULL) {
        return "has no ] after the IPv6 address";
    }
    parts->len = after != NULL ? (apr_size_t)(after - parts->host)
                               : strlen(text);
    after = parts->v6 ? after + 1 : parts->host + parts->len;
    if (*after != '\0' && *after != ':') {
        return "wants nothing but :port after the ]";
    }
    parts->port = *after != '\0' ? after + 1 : NULL;
    if (!parts->v6 && parts->port != NULL
        && strchr(parts->port, ':') != NULL) {
        return "wants an IPv6 address in brackets, such as [::1]:8080";
    }
    return NULL;
}

/* What names of hosts and groups are made of. RFC 3986 allows more in a
 * reg-name, but that is found where a line was not meant so: "host;". */
static int is_host(const char *host)
{
    return host[0] != '\0'
           && host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~")] == '\0';
}

const char *up_address_parse(apr_pool_t *p, const char *text,
                             up_address_t *paddress)
{
    const char *error;
    up_local_t unused;
    parts_t parts;

    memset(paddress, 0, sizeof(*paddress));
    if (strncasecmp(text, "unix:", 5) == 0) {
        return parse_unix(text + 5, paddress);
    }
    error = split(text, &parts);
    if (error != NULL) {
        return error;
    }
    paddress->host = apr_pstrmemdup(p, parts.host, parts.len);
    paddress->v6 = parts.v6;
    if (parts.v6 && (strchr(paddress->host, ':') == NULL
                     || !read_ip(paddress->host, 0, &unused))) {
        return "wants an IPv6 address between the brackets, such as [::1]";
    }
    if (!parts.v6 && !is_host(paddress->host)) {
        return "wants a host name or an address, such as 127.0.0.1:8080, "
               "[::1]:8080 or unix:/run/a.sock";
    }
    return parts.port != NULL ? parse_port(parts.port, &paddress->port)
                              : NULL;
}

int up_address_local(const char *text, up_local_t *local)
{
    char ip[INET6_ADDRSTRLEN];
    apr_port_t port = 0;
    parts_t parts;

    if (read_ip(text, 0, local)) {
        return 1;
    }
    if (split(text, &parts) != NULL || parts.len >= sizeof(ip)
        || (parts.port != NULL && parse_port(parts.port, &port) != NULL)) {
        return 0;
    }
    memcpy(ip, parts.host, parts.len);
    ip[parts.len] = '\0';
    return read_ip(ip, port, local)
           && parts.v6 == (local->sa.any.sa_family == AF_INET6);
}
