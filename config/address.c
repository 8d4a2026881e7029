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

static const char *parse_v6(apr_pool_t *p, const char *text,
                            up_address_t *address)
{
    const char *end = strchr(text, ']');

    if (end == NULL) {
        return "has no ] after the IPv6 address";
    }
    address->host = apr_pstrmemdup(p, text + 1, end - text - 1);
    address->v6 = 1;
    if (!strchr(address->host, ':') || !up_address_numeric(address->host)) {
        return "wants an IPv6 address between the brackets, such as [::1]";
    }
    if (end[1] == '\0') {
        return NULL;
    }
    if (end[1] != ':') {
        return "wants nothing but :port after the ]";
    }
    return parse_port(end + 2, &address->port);
}

/* What RFC 3986 allows in a reg-name, less the percent sign. */
static int is_host(const char *host)
{
    return host[0] != '\0'
           && host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~!$&'()*+,;=")] == '\0';
}

const char *up_address_parse(apr_pool_t *p, const char *text,
                             up_address_t *paddress)
{
    const char *colon;

    memset(paddress, 0, sizeof(*paddress));
    if (strncasecmp(text, "unix:", 5) == 0) {
        return parse_unix(text + 5, paddress);
    }
    if (text[0] == '[') {
        return parse_v6(p, text, paddress);
    }
    colon = strchr(text, ':');
    if (colon != NULL && strchr(colon + 1, ':') != NULL) {
        return "wants an IPv6 address in brackets, such as [::1]:8080";
    }
    paddress->host = colon != NULL ? apr_pstrmemdup(p, text, colon - text)
                                   : apr_pstrdup(p, text);
    if (!is_host(paddress->host)) {
        return "wants a host name or an address, such as 127.0.0.1:8080, "
               "[::1]:8080 or unix:/run/a.sock";
    }
    return colon != NULL ? parse_port(colon + 1, &paddress->port) : NULL;
}

int up_address_numeric(const char *host)
{
    struct in6_addr unused;

    return inet_pton(AF_INET, host, &unused) == 1
           || inet_pton(AF_INET6, host, &unused) == 1;
}
