/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Owns the little that is known of WebSocket frames; see wsframes.h. */

#include "exchange/wsframes.h"

#include <string.h>

#define OPCODE_CLOSE 8
#define FIN 0x80u
#define MASKED 0x80u
#define GOING_AWAY 1001

/* Bytes of the length behind the second one. */
static apr_size_t length_size(const unsigned char *head)
{
    switch (head[1] & ~MASKED) {
    case 126:
        return 2;
    case 127:
        return 8;
    default:
        return 0;
    }
}

static apr_size_t head_size(const unsigned char *head)
{
    return 2 + length_size(head) + (head[1] & MASKED ? 4 : 0);
}

static apr_uint64_t payload_length(const unsigned char *head)
{
    apr_size_t size = length_size(head);
    apr_uint64_t length = 0;
    apr_size_t i;

    if (size == 0) {
        return head[1] & ~MASKED;
    }
    for (i = 0; i < size; i++) {
        length = (length << 8) | head[2 + i];
    }
    return length;
}

static void take_byte(up_wsframes_t *frames, unsigned char byte)
{
    frames->head[frames->used++] = byte;
    if (frames->used < 2 || frames->used < head_size(frames->head)) {
        return;
    }
    frames->left = payload_length(frames->head);
    frames->used = 0;
    if ((frames->head[0] & 0x0f) == OPCODE_CLOSE) {
        frames->closed = 1;
    }
}

void up_wsframes_feed(up_wsframes_t *frames, const char *data,
                      apr_size_t len)
{
    while (len) {
        apr_size_t skip = 1;

        if (frames->left) {
            skip = frames->left < len ? (apr_size_t)frames->left : len;
            frames->left -= skip;
        }
        else {
            take_byte(frames, (unsigned char)*data);
        }
        data += skip;
        len -= skip;
    }
}

int up_wsframes_between(const up_wsframes_t *frames)
{
    return !frames->left && !frames->used && !frames->closed;
}

apr_size_t up_wsframes_farewell(char buf[UP_WSFRAMES_FAREWELL],
                                const unsigned char *mask)
{
    unsigned char code[2] = { GOING_AWAY >> 8, GOING_AWAY & 0xff };
    apr_size_t len = 2;

    buf[0] = (char)(FIN | OPCODE_CLOSE);
    buf[1] = (char)(sizeof(code) | (mask ? MASKED : 0));
    if (mask) {
        memcpy(buf + len, mask, 4);
        len += 4;
        code[0] ^= mask[0];
        code[1] ^= mask[1];
    }
    memcpy(buf + len, code, sizeof(code));
    return len + sizeof(code);
}
