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
static apr_off_t read_length(const char *digits, apr_size_t len)
{
    apr_off_t n = 0;
    apr_size_t i;

    for (i = 0; i < len; ++i) {
        int digit = digits[i] - '0';

        if (digit < 0 || digit > 9 || n > (UP_OFF_MAX - digit) / 10) {
            return -1;
        }
        n = n * 10 + digit;
    }
    return i ? n : -1;
}

/* What the fields of a final head say, as they are looked at one by one. */
typedef struct account_t {
    int lenient;
    int doubtful; /* something was forgiven */
    int chunked;
    apr_off_t length; /* -1: none so far */
} account_t;

/* The next member of a list, blanks at its ends taken off. */
static const char *member(const char *list, const char **pstart,
                          apr_size_t *plen)
{
    const char *end = list + strcspn(list, ",");
    const char *last = end;

    while (*list == ' ' || *list == '\t') {
        ++list;
    }
    while (last > list && (last[-1] == ' ' || last[-1] == '\t')) {
        --last;
    }
    *pstart = list;
    *plen = (apr_size_t)(last - list);
    return *end ? end + 1 : NULL;
}

static const char *note_length(account_t *account, const char *digits,
                               apr_size_t len)
{
    apr_off_t length = read_length(digits, len);

    if (account->length >= 0 && !account->lenient) {
        return "duplicate \"Content-Length\" header";
    }
    if (length < 0) {
        return "invalid \"Content-Length\" header";
    }
    if (account->length < 0) {
        account->length = length;
        return NULL;
    }
    account->doubtful = 1;
    /* In no mode (RFC 9112 6.3 rule 5): two readers, two messages. */
    return length == account->length
               ? NULL : "differing \"Content-Length\" headers";
}

static const char *note_coding(account_t *account, const char *name,
                               apr_size_t len)
{
    if (account->chunked && !account->lenient) {
        return "duplicate \"Transfer-Encoding\" header";
    }
    if (len != 7 || apr_cstr_casecmpn(name, "chunked", 7)) {
        return "unknown \"Transfer-Encoding\"";
    }
    account->doubtful |= account->chunked;
    account->chunked = 1;
    return NULL;
}

/* A field's value, or each member of it where lists are forgiven. */
static const char *note_value(account_t *account, const up_field_t *field,
                              const char *(*note)(account_t *account,
                                                  const char *text,
                                                  apr_size_t len))
{
    const char *rest = field->value;
    const char *fault = NULL;

    if (!account->lenient) {
        return note(account, field->value, field->value_len);
    }
    while (rest && !fault) {
        const char *start;
        apr_size_t len;

        rest = member(rest, &start, &len);
        account->doubtful |= len != field->value_len;
        fault = note(account, start, len);
    }
    return fault;
}

/* Looks at one field of a final head; NULL or what is wrong. */
static const char *note_field(account_t *account, const up_field_t *field)
{
    if (is_named(field, "content-length", 14)) {
        return note_value(account, field, note_length);
    }
    if (is_named(field, "transfer-encoding", 17)) {
        return note_value(account, field, note_coding);
    }
    return NULL;
}

/* Both kinds of framing at once. */
static const char *settle(account_t *account)
{
    if (!account->chunked || account->length < 0) {
        return NULL;
    }
    if (!account->lenient) {
        return "\"Content-Length\" and \"Transfer-Encoding\" headers at the "
               "same time";
    }
    account->length = -1; /* RFC 9112 6.3 rule 3 */
    account->doubtful = 1;
    return NULL;
}

/* Does the head alone end the message (RFC 9112 6.3 rule 1)? */
static int is_bodiless(const up_head_t *head, int head_request)
{
    return head_request || head->status < 200 || head->status == 204
           || head->status == 304;
}

static const char *decide(const up_head_t *head, int head_request,
                          account_t *account, up_framing_t *framing)
{
    const char *fault = NULL;
    int interim = head->status < 200;
    int i;

    *framing = (up_framing_t){
        .kind = UP_FRAMING_CLOSE, .length = -1, .announced = -1,
        .close = head->major < 1 || (head->major == 1 && head->minor < 1)
    };
    for (i = 0; i < head->nfields && !fault; ++i) {
        const up_field_t *field = &head->fields[i];

        fault = interim ? NULL : note_field(account, field);
        if (is_named(field, "connection", 10)) {
            framing->close |= says_close(field->value);
        }
    }
    fault = fault ? fault : settle(account);
    if (fault) {
        return fault;
    }
    framing->announced = account->length;
    framing->close |= account->doubtful;
    if (is_bodiless(head, head_request)) {
        framing->kind = UP_FRAMING_NONE;
    }
    else if (account->chunked) {
        framing->kind = UP_FRAMING_CHUNKED;
    }
    else if (framing->announced >= 0) {
        framing->kind = UP_FRAMING_LENGTH;
        framing->length = framing->announced;
    }
    return NULL;
}

const char *up_head_framing(const up_head_t *head, int head_request,
                            up_framing_t *framing)
{
    account_t account = { .length = -1 };

    return decide(head, head_request, &account, framing);
}

const char *up_head_framing_lenient(const up_head_t *head, int head_request,
                                    up_framing_t *framing)
{
    account_t account = { .lenient = 1, .length = -1 };

    return decide(head, head_request, &account, framing);
}
