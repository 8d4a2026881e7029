/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Fuzzes config/units.c: the input is a value from a configuration file. What
 * is taken must be in range and be read the same when it is written in its
 * plainest form; what is refused must change nothing.
 */

#include "config/units.h"
#include "fuzz/fuzz.h"

#include "apr_strings.h"

#include <limits.h>

#define UNTOUCHED (-77)

static const up_word_t words[] = {
    { "error", 1 }, { "timeout", 2 }, { "off", 4 }, { NULL, 0 }
};

/* A taken value or, after an error, the untouched mark. */
static void check(const char *error, apr_int64_t value)
{
    require(error ? *error && value == UNTOUCHED : value >= 0);
}

static void check_time(const char *text)
{
    apr_interval_time_t fine = UNTOUCHED;
    apr_interval_time_t coarse = UNTOUCHED;
    apr_interval_time_t again = UNTOUCHED;
    const char *fine_error = up_units_time(text, &fine);
    const char *coarse_error = up_units_seconds(text, &coarse);
    char plain[64];

    check(fine_error, fine);
    check(coarse_error, coarse);
    if (!fine_error) {
        require(fine % 1000 == 0 && fine + apr_time_now() > 0);
        apr_snprintf(plain, sizeof(plain), "%" APR_INT64_T_FMT "ms",
                     fine / 1000);
        require(!up_units_time(plain, &again) && again == fine);
    }
    if (!coarse_error) {
        require(coarse % APR_USEC_PER_SEC == 0);
        apr_snprintf(plain, sizeof(plain), "%" APR_INT64_T_FMT,
                     coarse / APR_USEC_PER_SEC);
        require(!up_units_seconds(plain, &again) && again == coarse);
        require(strpbrk(text, "yM") || (!fine_error && fine == coarse));
    }
}

static void check_size(const char *text)
{
    apr_off_t mega = UNTOUCHED;
    apr_off_t giga = UNTOUCHED;
    apr_off_t again = UNTOUCHED;
    const char *mega_error = up_units_size(text, 0, &mega);
    const char *giga_error = up_units_size(text, 1, &giga);
    char plain[64];

    check(mega_error, mega);
    check(giga_error, giga);
    if (!giga_error) {
        apr_snprintf(plain, sizeof(plain), "%" APR_OFF_T_FMT, giga);
        require(!up_units_size(plain, 0, &again) && again == giga);
        require(mega_error ? strpbrk(text, "gG") != NULL : mega == giga);
    }
    require(mega_error || !giga_error);
}

static void check_words(const char *text)
{
    int number = UNTOUCHED;
    int larger = UNTOUCHED;
    int flag = UNTOUCHED;
    const char *error = up_units_number(text, 0, &number);

    check(error, number);
    check(up_units_number(text, 5, &larger), larger);
    require(larger == UNTOUCHED ? error || number < 5
                                : larger == number && number >= 5);
    check(up_units_flag(text, &flag), flag);
    require(flag == UNTOUCHED || flag == 0 || flag == 1);
    require((flag == 0) == (up_units_word(words, text) == 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_alloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    check_time(text);
    check_size(text);
    check_words(text);
    fuzz_free_all();
    return 0;
}
