/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * A Range field (RFC 9110 14.1), of which one range of bytes is served, and
 * nothing else.
 *
 * Pure: APR only.
 */

#ifndef UP_RANGE_H
#define UP_RANGE_H

#include "apr.h"

typedef enum up_range_e {
    UP_RANGE_ALL, /* no such field, or one that is to be ignored */
    UP_RANGE_PART,
    UP_RANGE_BAD  /* nothing of it lies within the representation */
} up_range_e;

/** A part of a representation. */
typedef struct up_range_t {
    apr_off_t first;
    apr_off_t length; /* > 0 */
} up_range_t;

/**
 * What of a representation of `size` bytes is wanted.
 * @param text the field's value, may be NULL. Several ranges, another unit
 *        and bad grammar are ignored, as RFC 9110 14.2 lets one do
 * @param range set for UP_RANGE_PART
 */
up_range_e up_range_read(const char *text, apr_off_t size, up_range_t *range);

#endif
