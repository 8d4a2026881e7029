/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What static analysis cannot know of APR: an allocation that fails ends the
 * process (ap_abort_on_oom), so these never give NULL. Only for make lint.
 */

#ifndef UP_LINT_H
#define UP_LINT_H

#include "apr_strings.h"
#include "apr_tables.h"

#include <stdlib.h>

#define UP_LINT_GIVES(call)                                                   \
    ({                                                                        \
        __typeof__(call) given_ = call;                                       \
        if (!given_) {                                                        \
            abort();                                                          \
        }                                                                     \
        given_;                                                               \
    })

#define apr_palloc(...) UP_LINT_GIVES((apr_palloc)(__VA_ARGS__))
#define apr_psprintf(...) UP_LINT_GIVES((apr_psprintf)(__VA_ARGS__))
#define apr_pstrcat(...) UP_LINT_GIVES((apr_pstrcat)(__VA_ARGS__))
#define apr_array_make(...) UP_LINT_GIVES((apr_array_make)(__VA_ARGS__))
#define apr_array_push(...) UP_LINT_GIVES((apr_array_push)(__VA_ARGS__))
#define apr_table_make(...) UP_LINT_GIVES((apr_table_make)(__VA_ARGS__))

#endif
