/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes exchange/accel.c: the input is one line for each kind of value. No
 * path that climbs or holds a control character may come out, no second
 * s-maxage, and no header may be split.
 */

#define FUZZ_REAL_POOLS
#include "fuzz/fuzz.h"
#include "exchange/accel.h"

#include "apr_strings.h"

static void require_one_line(const char *text)
{
    require(strpbrk(text, "\r\n") == NULL);
}

static void check_path(apr_pool_t *p, const char *value)
{
    const char *args;
    const char *path = up_accel_path(p, value, &args);

    if (path == NULL) {
        return;
    }
    require(*path == '/');
    require_one_line(path);
    require(strstr(path, "/../") == NULL);
    require(strlen(path) < 3
            || strcmp(path + strlen(path) - 3, "/..") != 0);
    require((args != NULL) == (strchr(value, '?') != NULL));
}

static void check_charset(apr_pool_t *p, const char *type,
                          const char *charset)
{
    const char *out = up_accel_charset(p, type, charset);
    apr_size_t len = strlen(charset);

    if (out == NULL) {
        return;
    }
    require_one_line(out);
    require(strlen(out) >= len
            && strcmp(out + strlen(out) - len, charset) == 0);
}

static void check_control(apr_pool_t *p, const char *value)
{
    const char *once = up_accel_cache_control(p, value, 7);

    require_one_line(once);
    require(strncmp(once, "s-maxage=7", 10) == 0);
    require(strcmp(up_accel_cache_control(p, once, 7), once) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_array_header_t *types;
    char *line[3];
    char *text;
    apr_pool_t *p;
    int i;

    apr_pool_create(&p, NULL);
    text = apr_pstrmemdup(p, (const char *)data, size);
    for (i = 0; i < 3; i++) {
        line[i] = text;
        text += strcspn(text, "\r\n");
        if (*text != '\0') {
            *text++ = '\0';
        }
    }
    types = apr_array_make(p, 1, sizeof(const char *));
    APR_ARRAY_PUSH(types, const char *) = line[1];
    check_path(p, line[0]);
    check_charset(p, line[0], line[1]);
    check_control(p, line[2]);
    up_accel_streams(types, line[0]);
    require(up_accel_rate(line[0]) >= -1);
    require(up_accel_expires(line[0], (apr_time_t)size) >= -1);
    if (up_accel_named(line[0])) {
        require(strpbrk(line[0], "/? %") == NULL);
    }
    apr_pool_destroy(p);
    return 0;
}
