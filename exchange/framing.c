/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* How a response's body is delimited; see framing.h. */

#include "exchange/framing.h"

#include <string.h>

#include "apr_cstr.h"
#include "apr_lib.h"
#include "config/units.h"

static int is_named(const up_field_t *field, const char *name, apr_size_t len)
{
    return field->name_len == len
           && !apr_cstr_casecmpn(field->name, name, len);
}

const char *up_head_get(const up_head_t *head, const char *name)
{
    apr_size_t len = strlen(name);
    int i;

    for (i = 0; i < head->nfields; ++i) {
        if (is_named(&head->fields[i], name, len)) {
            return head->fields[i].value;
        }
    }
    return NULL;
}

/* nginx looks for the word anywhere: rather one connection too few kept. */
static int says_close(const char *value)
{
    for (; *value; ++value) {
        if ((*value | 0x20) == 'c' && !apr_cstr_casecmpn(value, "close", 5)) {
            return 1;
        }
    }
    return 0;
}

/* Digits and nothing else; -1: not that, or too many of them. */
static apr_off_t read_length(const up_field_t *field)
{
    apr_off_t n = 0;
    apr_size_t i;

    for (i = 0; i < field->value_len; ++i) {
        int digit = field->value[i] - '0';

        if (digit < 0 || digit > 9 || n > (UP_OFF_MAX - digit) / 10) {
            return -1;
        }
        n = n * 10 + digit;
    }
    return i ? n : -1;
}

/* Looks at one field of a final head; NULL or what is wrong. */
static const char *note_field(const up_field_t *field, int *pchunked,
                              apr_off_t *plength)
{
    if (is_named(field, "content-length", 14)) {
        if (*plength >= 0) {
            return "duplicate \"Content-Length\" header";
        }
        *plength = read_length(field);
        if (*plength < 0) {
            return "invalid \"Content-Length\" header";
        }
    }
    else if (is_named(field, "transfer-encoding", 17)) {
        if (*pchunked) {
            return "duplicate \"Transfer-Encoding\" header";
        }
        *pchunked = !apr_cstr_casecmp(field->value, "chunked");
        if (!*pchunked) {
            return "unknown \"Transfer-Encoding\"";
        }
    }
    return NULL;
}

/* Does the head alone end the message (RFC 9112 6.3 rule 1)? */
static int is_bodiless(const up_head_t *head, int head_request)
{
    return head_request || head->status < 200 || head->status == 204
           || head->status == 304;
}

const char *up_head_framing(const up_head_t *head, int head_request,
                            up_framing_t *framing)
{
    int interim = head->status < 200;
    int chunked = 0;
    int i;

    *framing = (up_framing_t){
        .kind = UP_FRAMING_CLOSE, .length = -1, .announced = -1,
        .close = head->major < 1 || (head->major == 1 && head->minor < 1)
    };
    for (i = 0; i < head->nfields; ++i) {
        const up_field_t *field = &head->fields[i];
        const char *fault = interim ? NULL
                                    : note_field(field, &chunked,
                                                 &framing->announced);

        if (fault) {
            return fault;
        }
        if (is_named(field, "connection", 10)) {
            framing->close |= says_close(field->value);
        }
    }
    if (chunked && framing->announced >= 0) {
        return "\"Content-Length\" and \"Transfer-Encoding\" headers at the "
               "same time";
    }
    if (is_bodiless(head, head_request)) {
        framing->kind = UP_FRAMING_NONE;
    }
    else if (chunked) {
        framing->kind = UP_FRAMING_CHUNKED;
    }
    else if (framing->announced >= 0) {
        framing->kind = UP_FRAMING_LENGTH;
        framing->length = framing->announced;
    }
    return NULL;
}
