/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Protocols of an Upgrade field: exchange/upgrade.c.
 */

#include "exchange/upgrade.h"
#include "t/unit/up_unit.h"

#include <string.h>

static const char *const some_names[] = { "foo/2", "bar", "h2c", NULL };
static const char *const no_names[] = { NULL };
static const up_protocols_t some = { 0, some_names };
static const up_protocols_t any = { 1, no_names };

typedef struct row_t {
    const up_protocols_t *allowed;
    const char *list;
    const char *want; /* NULL: none */
} row_t;

static const row_t rows[] = {
    { &up_upgrade_usual, NULL, NULL },
    { &up_upgrade_usual, "", NULL },
    { &up_upgrade_usual, ", ,\t,", NULL },
    { &up_upgrade_usual, "websocket", "websocket" },
    { &up_upgrade_usual, " WebSocket\t", "WebSocket" },
    { &up_upgrade_usual, "websocket/13", "websocket/13" },
    { &up_upgrade_usual, "websockets", NULL },
    { &up_upgrade_usual, "websocke", NULL },
    { &up_upgrade_usual, "web socket", NULL },
    { &up_upgrade_usual, "websocket/", NULL },
    { &up_upgrade_usual, "h2c,foo, websocket ,bar", "websocket" },
    { &some, "foo", "foo" },
    { &some, "foo/1", NULL },
    { &some, "FOO/2, bar/9,bar", "FOO/2, bar/9, bar" },
    { &some, "h2c", "h2c" },
    { &any, "h2c", NULL },
    { &any, "H2C/1", NULL },
    { &any, "tls/1.2,h2c,x", "tls/1.2, x" },
    { &any, "a\x01", NULL },
};

START_TEST(allowed)
{
    const row_t *row = &rows[_i];
    const char *got = up_upgrade_allowed(unit_pool, row->allowed, row->list);

    if (row->want) {
        ck_assert_ptr_nonnull(got);
        ck_assert_str_eq(got, row->want);
    }
    else {
        ck_assert_ptr_null(got);
    }
}
END_TEST

START_TEST(lists)
{
    ck_assert(up_upgrade_lists("upgrade", "Upgrade"));
    ck_assert(up_upgrade_lists("keep-alive , UPGRADE", "upgrade"));
    ck_assert(!up_upgrade_lists("", "upgrade"));
    ck_assert(!up_upgrade_lists("upgrades, up-grade", "upgrade"));
    ck_assert(!up_upgrade_lists("keep alive upgrade", "upgrade"));
}
END_TEST

START_TEST(offered)
{
    ck_assert(up_upgrade_offered("websocket", NULL));
    ck_assert(up_upgrade_offered("websocket", "WebSocket"));
    ck_assert(up_upgrade_offered("websocket", "websocket/13"));
    ck_assert(up_upgrade_offered("a, foo/2", "foo"));
    ck_assert(up_upgrade_offered("a, foo/2", "foo/2, a"));
    ck_assert(!up_upgrade_offered("a, foo/2", "foo/3"));
    ck_assert(!up_upgrade_offered("websocket", "websocket, h2c"));
    ck_assert(!up_upgrade_offered("websocket", "websock"));
}
END_TEST

START_TEST(protocols)
{
    ck_assert(up_upgrade_is_protocol("a"));
    ck_assert(up_upgrade_is_protocol("tls/1.2"));
    ck_assert(!up_upgrade_is_protocol(""));
    ck_assert(!up_upgrade_is_protocol("/1"));
    ck_assert(!up_upgrade_is_protocol("a/"));
    ck_assert(!up_upgrade_is_protocol("a/b/c"));
    ck_assert(!up_upgrade_is_protocol("a b"));
}
END_TEST

Suite *unit_upgrade(void)
{
    Suite *suite = suite_create("upgrade");
    TCase *tcase = unit_case(suite, "protocols");

    tcase_add_loop_test(tcase, allowed, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tcase, lists);
    tcase_add_test(tcase, offered);
    tcase_add_test(tcase, protocols);
    return suite;
}
