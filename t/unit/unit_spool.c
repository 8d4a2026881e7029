/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Temporary files: where they are made, what is in them, and buckets that a
 * filter sets aside while the file still grows.
 */

#include "apr_portable.h"
#include "apr_strings.h"
#include "httpd.h"
#include "http_log.h"
#include "t/unit/up_transport.h"
#include "transport/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const int no_levels[3] = { 0 };

/* A directory of this test's own. */
static const char *directory(void)
{
    char *name = apr_pstrdup(unit_pool, "/tmp/up-unit-XXXXXX");

    ck_assert_ptr_nonnull(mkdtemp(name));
    return name;
}

/* The only entry of a directory, NULL: it is empty. */
static const char *only_entry(const char *dir)
{
    const char *found = NULL;
    DIR *d = opendir(dir);
    struct dirent *entry;

    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d))) {
        if (entry->d_name[0] != '.') {
            ck_assert_msg(!found, "%s holds %s and %s", dir, found,
                          entry->d_name);
            found = apr_pstrdup(unit_pool, entry->d_name);
        }
    }
    closedir(d);
    return found;
}

static up_spool_t *open_spool(void)
{
    const char *dir = directory();
    up_spool_t *spool = NULL;

    ck_assert_int_eq(up_spool_open(unit_pool, dir, no_levels, &spool),
                     APR_SUCCESS);
    rmdir(dir);
    return spool;
}

static apr_bucket_brigade *brigade(void)
{
    return apr_brigade_create(unit_pool,
                              apr_bucket_alloc_create(unit_pool));
}

static const char *read_all(apr_bucket_brigade *bb)
{
    apr_size_t len;
    char *text;

    ck_assert_int_eq(apr_brigade_pflatten(bb, &text, &len, unit_pool),
                     APR_SUCCESS);
    return apr_pstrmemdup(unit_pool, text, len);
}

static void put(up_spool_t *spool, const char *text)
{
    ck_assert_int_eq(up_spool_write(spool, text, strlen(text)), APR_SUCCESS);
}

START_TEST(writes_and_reads)
{
    apr_bucket_brigade *bb = brigade();
    up_spool_t *spool = open_spool();
    struct stat st;
    int fd;

    put(spool, "hello, ");
    put(spool, "world");
    ck_assert_int_eq(spool->written, 12);
    up_spool_insert(spool, bb, 0, 12, unit_pool);
    ck_assert(APR_BUCKET_IS_FILE(APR_BRIGADE_FIRST(bb)));
    ck_assert_str_eq(read_all(bb), "hello, world");

    apr_os_file_get(&fd, spool->file);
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    ck_assert_int_eq(st.st_nlink, 0);
}
END_TEST

START_TEST(closed_with_its_pool)
{
    int before = unit_open_files();
    const char *dir = directory();
    apr_pool_t *p;
    up_spool_t *spool;

    apr_pool_create(&p, unit_pool);
    ck_assert_int_eq(up_spool_open(p, dir, no_levels, &spool), APR_SUCCESS);
    rmdir(dir);
    ck_assert_int_eq(unit_open_files(), before + 1);
    apr_pool_destroy(p);
    ck_assert_int_eq(unit_open_files(), before);
}
END_TEST

START_TEST(reading_does_not_move_the_writer)
{
    apr_bucket_brigade *bb = brigade();
    up_spool_t *spool = open_spool();

    put(spool, "abcdef");
    up_spool_insert(spool, bb, 1, 3, unit_pool);
    ck_assert_str_eq(read_all(bb), "bcd");
    put(spool, "ghi");
    apr_brigade_cleanup(bb);
    up_spool_insert(spool, bb, 4, 5, unit_pool);
    ck_assert_str_eq(read_all(bb), "efghi");
}
END_TEST

START_TEST(survives_being_set_aside)
{
    apr_bucket_brigade *bb = brigade();
    up_spool_t *spool = open_spool();
    apr_bucket *first;
    apr_pool_t *aside;

    put(spool, "first,second");
    up_spool_insert(spool, bb, 0, 6, unit_pool);
    up_spool_insert(spool, bb, 6, 6, unit_pool);
    first = APR_BRIGADE_FIRST(bb);

    /* what httpd does with what it could not write yet, and afterwards */
    apr_pool_create(&aside, NULL);
    ck_assert_int_eq(apr_bucket_setaside(first, aside), APR_SUCCESS);
    ck_assert_int_eq(apr_bucket_setaside(APR_BUCKET_NEXT(first), aside),
                     APR_SUCCESS);
    apr_bucket_delete(first);
    ck_assert_str_eq(read_all(bb), "second");
    apr_brigade_cleanup(bb);
    apr_pool_destroy(aside);

    put(spool, ",third");
    up_spool_insert(spool, bb, 0, spool->written, unit_pool);
    ck_assert_str_eq(read_all(bb), "first,second,third");
}
END_TEST

START_TEST(split_and_set_aside)
{
    apr_bucket_brigade *bb = brigade();
    up_spool_t *spool = open_spool();
    apr_bucket *first;
    apr_pool_t *aside;

    put(spool, "left-right");
    up_spool_insert(spool, bb, 0, 10, unit_pool);
    first = APR_BRIGADE_FIRST(bb);
    ck_assert_int_eq(apr_bucket_split(first, 5), APR_SUCCESS);
    apr_pool_create(&aside, NULL);
    ck_assert_int_eq(apr_bucket_setaside(APR_BUCKET_NEXT(first), aside),
                     APR_SUCCESS);
    ck_assert_int_eq(apr_bucket_setaside(first, aside), APR_SUCCESS);
    ck_assert_str_eq(read_all(bb), "left-right");
    apr_brigade_cleanup(bb);
    apr_pool_destroy(aside);
    up_spool_insert(spool, bb, 0, 4, unit_pool);
    ck_assert_str_eq(read_all(bb), "left");
}
END_TEST

START_TEST(fit_for_sendfile_not_for_mmap)
{
    apr_bucket_brigade *bb = brigade();
    up_spool_t *spool = open_spool();
    apr_bucket_file *file;

    put(spool, "x");
    up_spool_insert(spool, bb, 0, 1, unit_pool);
    file = APR_BRIGADE_FIRST(bb)->data;
    ck_assert(apr_file_flags_get(file->fd) & APR_FOPEN_SENDFILE_ENABLED);
    ck_assert_int_eq(file->can_mmap, 0);
}
END_TEST

START_TEST(huge)
{
    apr_bucket_brigade *bb = brigade();
    up_spool_t *spool = open_spool();
    apr_off_t offset = 7;
    apr_bucket *e;
    int count = 0;

    up_spool_insert(spool, bb, offset, APR_INT64_C(5000000000), unit_pool);
    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        ck_assert_int_eq(e->start, offset);
        ck_assert_uint_le(e->length, 0x40000000);
        offset += (apr_off_t)e->length;
        count++;
    }
    ck_assert_int_eq(offset, APR_INT64_C(5000000007));
    ck_assert_int_eq(count, 5);
}
END_TEST

START_TEST(nothing_to_insert)
{
    apr_bucket_brigade *bb = brigade();

    up_spool_insert(open_spool(), bb, 0, 0, unit_pool);
    ck_assert(APR_BRIGADE_EMPTY(bb));
}
END_TEST

/* The name of the only directory in `path`, which is appended to it. */
static const char *descend(const char **ppath, int digits)
{
    const char *name = only_entry(*ppath);
    struct stat st;

    *ppath = apr_pstrcat(unit_pool, *ppath, "/", name, NULL);
    ck_assert_int_eq(stat(*ppath, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);
    ck_assert_uint_eq(strlen(name), (size_t)digits);
    ck_assert_uint_eq(strspn(name, "0123456789"), (size_t)digits);
    return name;
}

/* The last six digits of a file's number, read from its directories. */
static int number_from_levels(void)
{
    static const int digits[3] = { 1, 2, 3 };
    const char *base = directory();
    const char *path = apr_pstrcat(unit_pool, base, "/new", NULL);
    const char *paths[3];
    const char *number = "";
    up_spool_t *spool;
    struct stat st;
    int i;

    ck_assert_int_eq(up_spool_open(unit_pool, path, digits, &spool),
                     APR_SUCCESS);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0700);
    for (i = 0; i < 3; i++) {
        paths[i] = path;
        number = apr_pstrcat(unit_pool, descend(&path, digits[i]), number,
                             NULL);
    }
    ck_assert_ptr_null(only_entry(path));
    rmdir(path);
    while (i--) {
        rmdir(paths[i]);
    }
    ck_assert_int_eq(rmdir(base), 0);
    return (int)strtol(number, NULL, 10);
}

START_TEST(levels)
{
    int first = number_from_levels();
    const char *dir = directory();
    up_spool_t *spool;
    apr_pool_t *p;
    int i;

    apr_pool_create(&p, unit_pool);
    for (i = 0; i < 12345; i++) {
        ck_assert_int_eq(up_spool_open(p, dir, no_levels, &spool),
                         APR_SUCCESS);
        apr_pool_clear(p);
    }
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_int_eq(number_from_levels(), first + 12346);
}
END_TEST

START_TEST(parent_is_missing)
{
    const char *dir = directory();
    up_spool_t *spool = NULL;

    ck_assert_int_eq(
        up_spool_open(unit_pool, apr_pstrcat(unit_pool, dir, "/a/b", NULL),
                      no_levels, &spool), APR_ENOENT);
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_ptr_null(spool);
}
END_TEST

START_TEST(not_a_directory)
{
    up_spool_t *spool = NULL;

    ck_assert_int_eq(up_spool_open(unit_pool, "/dev/null", no_levels, &spool),
                     APR_ENOTDIR);
    ck_assert_ptr_null(spool);
}
END_TEST

START_TEST(not_permitted)
{
    const char *dir = directory();
    up_spool_t *spool = NULL;
    apr_status_t rv;

    /* the test may run as root, who may write everywhere */
    ck_assert_int_eq(chmod(dir, 0500), 0);
    ck_assert(geteuid() != 0 || seteuid(65534) == 0);
    rv = up_spool_open(unit_pool, dir, no_levels, &spool);
    ck_assert(getuid() != 0 || seteuid(0) == 0);
    rmdir(dir);
    ck_assert_int_eq(rv, APR_EACCES);
}
END_TEST

START_TEST(of_a_request)
{
    struct ap_logconf log = { .level = APLOG_INFO };
    request_rec r = { .pool = unit_pool, .log = &log };
    up_settings_t settings = { .temp_path = directory() };
    up_spool_t *spool = NULL;

    ck_assert_int_eq(up_spool_begin(&r, &settings, APLOG_INFO, "a thing",
                                    &spool), APR_SUCCESS);
    rmdir(settings.temp_path);
    unit_contains(unit_logged(), "a thing is buffered to a temporary file");
    put(spool, "1234");
    settings.temp_path = "/dev/null";
    ck_assert_int_eq(up_spool_begin(&r, &settings, APLOG_INFO, "another",
                                    &spool), ENOTDIR);
    unit_contains(unit_logged(), "a thing");
}
END_TEST

START_TEST(disk_is_full)
{
    struct rlimit limit = { .rlim_cur = 6, .rlim_max = RLIM_INFINITY };
    up_spool_t *spool = open_spool();

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    put(spool, "1234");
    ck_assert_int_eq(up_spool_write(spool, "5678", 4), EFBIG);
    /* what did fit is counted */
    ck_assert_int_eq(spool->written, 6);
}
END_TEST

Suite *unit_spool(void)
{
    Suite *suite = suite_create("spool");
    TCase *tc = unit_case(suite, "bytes");

    tcase_add_test(tc, writes_and_reads);
    tcase_add_test(tc, closed_with_its_pool);
    tcase_add_test(tc, reading_does_not_move_the_writer);
    tcase_add_test(tc, survives_being_set_aside);
    tcase_add_test(tc, split_and_set_aside);
    tcase_add_test(tc, fit_for_sendfile_not_for_mmap);
    tcase_add_test(tc, huge);
    tcase_add_test(tc, nothing_to_insert);
    tcase_add_test(tc, disk_is_full);
    tcase_add_test(tc, of_a_request);

    tc = unit_case(suite, "places");
    tcase_add_test(tc, levels);
    tcase_add_test(tc, parent_is_missing);
    tcase_add_test(tc, not_a_directory);
    tcase_add_test(tc, not_permitted);
    return suite;
}
