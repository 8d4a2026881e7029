/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns hashes and points. The numbers are others' and must not change.
 */

#include "peers/hash_ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define POINTS 160 /* of a weight of 1 */

static uLong crc(uLong sum, const void *data, apr_size_t len)
{
    while (len > 0) {
        uInt part = len > 0x40000000 ? 0x40000000 : (uInt)len;

        sum = crc32(sum, data, part);
        data = (const char *)data + part;
        len -= part;
    }
    return sum;
}

apr_uint32_t up_ring_key_hash(const char *key, apr_size_t len,
                              unsigned int round)
{
    char prefix[16];
    uLong sum = crc32(0, Z_NULL, 0);

    if (round) {
        int n = snprintf(prefix, sizeof(prefix), "%u", round);

        sum = crc(sum, prefix, (apr_size_t)n);
    }
    return (apr_uint32_t)(crc(sum, key, len) >> 16) & 0x7fff;
}

/* "host:port" is hashed as host, NUL, port: a port is what follows the last
 * colon, if those are digits. */
static uLong base_of(const char *text)
{
    apr_size_t len = strlen(text);
    apr_size_t host = len;
    apr_size_t port = len;
    uLong sum = crc32(0, Z_NULL, 0);

    if (len >= 5 && strncasecmp(text, "unix:", 5) == 0) {
        text += 5;
        host = port = len = len - 5;
    }
    else {
        while (port > 0 && text[port - 1] >= '0' && text[port - 1] <= '9') {
            port--;
        }
        if (port > 0 && text[port - 1] == ':') {
            host = port - 1;
        }
        else {
            port = len;
        }
    }
    sum = crc(sum, text, host);
    sum = crc(sum, "", 1);
    return crc(sum, text + port, len - port);
}

/* @return behind the last point */
static up_ringpoint_t *add_points(up_ringpoint_t *point,
                                  const up_ringnode_t *node, apr_uint32_t index)
{
    uLong base = base_of(node->text);
    unsigned char last[4] = { 0 };
    int i;

    for (i = 0; i < node->weight * POINTS; i++, point++) {
        point->hash = (apr_uint32_t)crc(base, last, sizeof(last));
        point->node = index;
        last[0] = (unsigned char)point->hash;
        last[1] = (unsigned char)(point->hash >> 8);
        last[2] = (unsigned char)(point->hash >> 16);
        last[3] = (unsigned char)(point->hash >> 24);
    }
    return point;
}

static int compare(const void *one, const void *other)
{
    const up_ringpoint_t *a = one;
    const up_ringpoint_t *b = other;

    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return a->node < b->node ? -1 : a->node > b->node;
}

static void drop_equals(up_ring_t *ring)
{
    apr_size_t kept = 0;
    apr_size_t i;

    for (i = 1; i < ring->count; i++) {
        if (ring->points[i].hash != ring->points[kept].hash) {
            ring->points[++kept] = ring->points[i];
        }
    }
    ring->count = ring->count ? kept + 1 : 0;
}

static apr_uint32_t owner_of(const up_ringnode_t *nodes, apr_uint32_t index)
{
    apr_uint32_t i = 0;

    while (strcmp(nodes[i].text, nodes[index].text) != 0) {
        i++;
    }
    return i;
}

up_ring_t *up_ring_make(const up_ringnode_t *nodes, int n)
{
    up_ring_t *ring = calloc(1, sizeof(*ring));
    up_ringpoint_t *point;
    apr_size_t count = 0;
    int i;

    for (i = 0; i < n; i++) {
        count += (apr_size_t)nodes[i].weight * POINTS;
    }
    if (!ring) {
        return NULL;
    }
    ring->nodes = n;
    ring->count = count;
    ring->owner = calloc((apr_size_t)n + 1, sizeof(*ring->owner));
    ring->points = calloc(count + 1, sizeof(*ring->points));
    if (!ring->owner || !ring->points) {
        up_ring_free(ring);
        return NULL;
    }
    point = ring->points;
    for (i = 0; i < n; i++) {
        ring->owner[i] = owner_of(nodes, (apr_uint32_t)i);
        point = add_points(point, &nodes[i], ring->owner[i]);
    }
    qsort(ring->points, ring->count, sizeof(*ring->points), compare);
    drop_equals(ring);
    return ring;
}

void up_ring_free(up_ring_t *ring)
{
    if (ring) {
        free(ring->owner);
        free(ring->points);
        free(ring);
    }
}

apr_size_t up_ring_find(const up_ring_t *ring, const char *key, apr_size_t len)
{
    apr_uint32_t hash = (apr_uint32_t)crc(crc32(0, Z_NULL, 0), key, len);
    apr_size_t low = 0;
    apr_size_t high = ring->count;

    while (low < high) {
        apr_size_t middle = low + (high - low) / 2;

        if (ring->points[middle].hash < hash) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}
