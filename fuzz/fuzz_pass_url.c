/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes config/pass_url.c with config/address.c, which read what expressions
 * have made of UpstreamPass for a request: the input is a URL. One that is
 * taken names a host, a port and a target, and nothing in them can end a line
 * or stand for another host.
 */

#define FUZZ_REAL_POOLS
#include "fuzz/fuzz.h"
#include "config/address.h"
#include "config/pass.h"
#include "config/pass_url.h"
#include "exchange/uri_map.h"

#include "apr_strings.h"

#define IN_HOSTS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"        \
    "0123456789-._~:"

static void check_pass(const char *url, const up_pass_t *pass)
{
    if (pass->unix_path) {
        require(pass->host == NULL && pass->unix_path[0] == '/');
    }
    else {
        require(*pass->host != '\0');
        require(pass->host[strspn(pass->host, IN_HOSTS)] == '\0');
        require(strncmp(strpbrk(strstr(url, "://") + 3, IN_HOSTS), pass->host,
                        strlen(pass->host)) == 0);
        require(pass->port > 0);
    }
    require(up_urimap_clean(pass->host_value));
    require(strpbrk(pass->host_value, "/@?#\\") == NULL);
    if (pass->uri) {
        require(pass->uri[0] == '/');
        require(up_urimap_clean(pass->uri));
        require(strchr(pass->uri, '#') == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    up_pass_t pass = { 0 };
    const char *url, *word = NULL, *error;
    apr_pool_t *p;

    apr_pool_create(&p, NULL);
    url = apr_pstrmemdup(p, (const char *)data, size);
    error = up_passurl_parse(p, url, &pass, &word);
    require(word != NULL && word >= url && word <= url + strlen(url));
    require(up_passurl_prefix(url) <= strlen(url));
    if (!error) {
        check_pass(url, &pass);
    }
    apr_pool_destroy(p);
    return 0;
}
