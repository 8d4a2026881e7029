/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes exchange/wsframes.c and exchange/upgrade.c: bytes of a WebSocket in
 * any pieces must be read as in one, and what is picked out of an Upgrade
 * field must be offered, allowed and well-formed.
 */

#include "exchange/upgrade.h"
#include "exchange/wsframes.h"
#include "fuzz/fuzz.h"

#include <string.h>

static const char *const names[] = { "foo/2", "bar", NULL };
static const up_protocols_t listed = { 0, names };
static const up_protocols_t any = { 1, names };

static void check_frames(const uint8_t *data, size_t size)
{
    up_wsframes_t whole;
    up_wsframes_t pieces;
    size_t at = 0;
    size_t step = 1;

    memset(&whole, 0, sizeof(whole));
    memset(&pieces, 0, sizeof(pieces));
    up_wsframes_feed(&whole, (const char *)data, size);
    while (at < size) {
        step = step < size - at ? step : size - at;
        up_wsframes_feed(&pieces, (const char *)data + at, step);
        require(pieces.used < sizeof(pieces.head));
        at += step;
        step = 1 + data[at - 1] % 7;
    }
    require(whole.left == pieces.left && whole.used == pieces.used
            && whole.closed == pieces.closed
            && memcmp(whole.head, pieces.head, whole.used) == 0);
    require(!up_wsframes_between(&whole) || !whole.left);
}

static void check_list(const up_protocols_t *allowed, const char *list)
{
    const char *picked = up_upgrade_allowed(FUZZ_POOL, allowed, list);

    if (picked) {
        require(up_upgrade_offered(list, picked));
        require(!up_upgrade_lists(picked, "h2c"));
        require(!strpbrk(picked, "\r\n"));
        require(strcmp(up_upgrade_allowed(FUZZ_POOL, allowed, picked),
                       picked) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_alloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    check_frames(data, size);
    check_list(&listed, text);
    check_list(&any, text);
    fuzz_free_all();
    return 0;
}
