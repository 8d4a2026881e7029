/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * The head of a response, line by line, and what its fields say about the
 * body behind it.
 *
 *     status line LF  field line LF ...  unfinished line
 *     ^ buf                              ^ line      ^ scan = len
 *
 * A line is looked at when its LF is there, so the segments the bytes came in
 * cannot matter; only garbage in place of "HTTP/" is refused at once, for it
 * may never hold an LF. Strings are closed in place: the byte behind each of
 * them is a colon, a blank, CR or LF that is not needed any more.
 */

#include "status_parser.h"

#include "config/units.h"

#include "apr_cstr.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "apr_tables.h"

#include <string.h>

/* Real heads have up to a hundred fields. */
#define MAX_FIELDS 1000

#define MAX_ERROR 200

struct up_parser_t {
    apr_pool_t *p;
    char *buf;        /* NULL: nothing has come */
    apr_size_t size;  /* of buf */
    apr_size_t first; /* what it is to begin with, or less */
    apr_size_t max;   /* what size may grow to */
    apr_size_t len;   /* bytes in buf; the head starts at its beginning */
    apr_size_t line;  /* where the unfinished line starts */
    apr_size_t scan;  /* there is no LF between line and here */
    int lines;        /* finished lines of this head */
    int trailer;      /* there is no status line */
    apr_status_t rv;  /* what up_parser_added answers */
    apr_array_header_t *fields; /* of up_field_t */
    up_head_t head;
    char error[MAX_ERROR + 1];
};

/* Makes ready for a head whose first len bytes are in the buffer. */
static void begin(up_parser_t *parser, apr_size_t len)
{
    parser->len = len;
    parser->line = 0;
    parser->scan = 0;
    parser->lines = parser->trailer; /* as if it had been read */
    parser->rv = APR_INCOMPLETE;
    apr_array_clear(parser->fields);
    parser->head = (up_head_t){ .reason = "" };
    parser->error[0] = '\0';
}

up_parser_t *up_parser_make(apr_pool_t *p, apr_size_t first, apr_size_t max)
{
    up_parser_t *parser = apr_palloc(p, sizeof(*parser));

    parser->p = p;
    parser->buf = NULL;
    parser->size = 0;
    parser->first = first;
    parser->max = max;
    parser->trailer = 0;
    parser->fields = apr_array_make(p, 24, sizeof(up_field_t));
    begin(parser, 0);
    return parser;
}

void up_parser_reset(up_parser_t *parser)
{
    begin(parser, 0);
}

/* A larger buffer. The old one stays in the pool, and the finished lines'
 * fields stay in it. */
static void enlarge(up_parser_t *parser, apr_size_t size)
{
    char *buf = apr_palloc(parser->p, size);

    if (parser->buf && parser->len > 0) {
        memcpy(buf, parser->buf, parser->len);
    }
    parser->buf = buf;
    parser->size = size;
}

apr_size_t up_parser_first(const up_parser_t *parser)
{
    return parser->first;
}

apr_status_t up_parser_put(up_parser_t *parser, const char *bytes,
                           apr_size_t n)
{
    if (!parser->buf || parser->size < n) {
        enlarge(parser, n);
    }
    memcpy(parser->buf, bytes, n);
    return up_parser_added(parser, n);
}

void up_parser_space(up_parser_t *parser, char **pbuf, apr_size_t *plen)
{
    if (!parser->buf) {
        enlarge(parser, parser->first);
    }
    *pbuf = parser->buf + parser->len;
    *plen = parser->size - parser->len;
}

/* Writes up to 24 bytes of hostile text into to[100], printable: escaped as
 * in a URL, for httpd's log would escape a backslash again. */
static const char *quoted(char *to, const char *from, apr_size_t len)
{
    static const char hex[] = "0123456789ABCDEF";
    char *t = to;
    apr_size_t i;

    for (i = 0; i < len && i < 24; ++i) {
        unsigned char c = from[i];

        if (c >= ' ' && c < 0x7f && !strchr("\"\\%", c)) {
            *t++ = c;
        }
        else {
            *t++ = '%';
            *t++ = hex[c >> 4];
            *t++ = hex[c & 15];
        }
    }
    *t = '\0';
    return to;
}

/* Control characters, NUL and CR among them. HT is data. */
static int is_control(unsigned char c)
{
    return (c < ' ' && c != '\t') || c == 0x7f;
}

/* nginx's field names; far more than RFC 9110's tokens. */
static int is_name(unsigned char c)
{
    return c > ' ' && c != ':' && c != 0x7f;
}

/* In blocks of a fixed size, which compilers turn into vector code. */
static int is_text(const char *s, const char *end)
{
    unsigned char bad = 0;
    int i;

    for (; end - s >= 16; s += 16) {
        for (i = 0; i < 16; ++i) {
            bad |= is_control(s[i]);
        }
    }
    for (; s < end; ++s) {
        bad |= is_control(*s);
    }
    return !bad;
}

static apr_size_t name_length(const char *s, const char *end)
{
    const char *start = s;

    while (s < end && is_name(*s)) {
        ++s;
    }
    return s - start;
}

/* An alert or a handshake (RFC 8446 5.1): what a server that expects TLS
 * says to a request in the clear. */
static int is_tls(const char *s, const char *end)
{
    return s < end && (s[0] == 0x15 || s[0] == 0x16)
           && (end - s == 1 || s[1] == 3);
}

static apr_status_t no_status_line(up_parser_t *parser, const char *end)
{
    char text[100];

    apr_snprintf(parser->error, sizeof(parser->error),
                 "no valid status line: \"%s\"%s",
                 quoted(text, parser->buf, end - parser->buf),
                 is_tls(parser->buf, end)
                     ? " (it speaks TLS: write https:// in UpstreamPass)" : "");
    return APR_EINVAL;
}

/* The name is shown, the value never: it may be a credential. */
static apr_status_t bad_field(up_parser_t *parser, const char *end,
                              const char *why)
{
    const char *start = parser->buf + parser->line;
    char text[100];

    apr_snprintf(parser->error, sizeof(parser->error),
                 "invalid %s: line %d, \"%s\" (%" APR_SIZE_T_FMT
                 " bytes): %s", parser->trailer ? "trailer" : "header",
                 parser->lines + !parser->trailer,
                 quoted(text, start, name_length(start, end)), end - start,
                 why);
    return APR_EINVAL;
}

/* Names the largest field, the unfinished line being one too. */
static apr_status_t too_big(up_parser_t *parser)
{
    const char *name = parser->buf + parser->line;
    apr_size_t size = parser->len - parser->line;
    apr_size_t len = name_length(name, name + size);
    char text[100];
    int i;

    for (i = 0; i < parser->fields->nelts; ++i) {
        up_field_t *field = &APR_ARRAY_IDX(parser->fields, i, up_field_t);

        if (field->name_len + field->value_len > size) {
            name = field->name;
            len = field->name_len;
            size = field->name_len + field->value_len;
        }
    }
    apr_snprintf(parser->error, sizeof(parser->error),
                 "too big header: %" APR_SIZE_T_FMT " bytes, %d fields; the "
                 "largest is \"%s\" (%" APR_SIZE_T_FMT " bytes)",
                 parser->len, parser->fields->nelts, quoted(text, name, len),
                 size);
    return APR_ENOSPC;
}

/* A limit of this parser, which no directive raises. */
static apr_status_t too_many(up_parser_t *parser)
{
    apr_snprintf(parser->error, sizeof(parser->error),
                 "too many header fields: more than %d", MAX_FIELDS);
    return APR_EINVAL;
}

/* One or two digits, as nginx: a version part up to 99. NULL: none. */
static char *read_version_part(char *s, int *pn)
{
    if (!apr_isdigit(*s)) {
        return NULL;
    }
    *pn = *s++ - '0';
    if (apr_isdigit(*s)) {
        *pn = *pn * 10 + *s++ - '0';
    }
    return s;
}

/* The line is closed by a NUL, which also stops every test in here. */
static char *read_version(char *s, up_head_t *head)
{
    if (strncmp(s, "HTTP/", 5) != 0 || s[5] == '0') {
        return NULL;
    }
    s = read_version_part(s + 5, &head->major);
    if (!s || *s != '.') {
        return NULL;
    }
    s = read_version_part(s + 1, &head->minor);
    return s && *s == ' ' ? s : NULL;
}

/* Any number of blanks before the three digits is nginx's; between them, as
 * nginx has it too, they are refused. */
static char *read_status(char *s, up_head_t *head)
{
    while (*s == ' ') {
        ++s;
    }
    if (*s < '1' || *s > '9' || !apr_isdigit(s[1]) || !apr_isdigit(s[2])) {
        return NULL;
    }
    head->status = (s[0] - '0') * 100 + (s[1] - '0') * 10 + s[2] - '0';
    return s + 3;
}

static apr_status_t read_status_line(up_parser_t *parser, char *lf)
{
    up_head_t *head = &parser->head;
    char *end = lf > parser->buf && lf[-1] == '\r' ? lf - 1 : lf;
    char *s;

    *end = '\0';
    s = read_version(parser->buf, head);
    s = s ? read_status(s, head) : NULL;
    if (!s || !is_text(s, end)) {
        return no_status_line(parser, end);
    }
    if (*s == '.') {
        s += strcspn(s, " "); /* the sub-status of "403.1", an IIS habit */
    }
    if (*s == ' ') {
        ++s;
    }
    else if (*s) {
        return no_status_line(parser, end);
    }
    head->reason = s;
    return APR_INCOMPLETE;
}

/* What is wrong with a line whose name, if any, ends at s. */
static const char *name_fault(const char *start, const char *s,
                              const char *end)
{
    if (s > start) {
        return s == end ? "no colon" : "invalid character in the name";
    }
    if (*s == ' ' || *s == '\t') {
        return "folded line"; /* RFC 9112 5.2 lets us refuse it */
    }
    return *s == ':' ? "no name" : "invalid character in the name";
}

static apr_status_t read_field(up_parser_t *parser, char *lf)
{
    char *start = parser->buf + parser->line;
    char *end = lf;
    char *colon;
    char *value;

    while (end > start && end[-1] == '\r') {
        --end; /* nginx takes CR CR LF for a line end */
    }
    colon = start + name_length(start, end);
    if (colon == start || colon == end || *colon != ':') {
        return bad_field(parser, lf, name_fault(start, colon, end));
    }
    if (!is_text(colon, end)) {
        return bad_field(parser, lf, "control character in the value");
    }
    if (parser->fields->nelts == MAX_FIELDS) {
        return too_many(parser);
    }
    for (value = colon + 1; value < end && *value == ' '; ++value) {
    }
    while (end > value && end[-1] == ' ') {
        --end;
    }
    *colon = '\0';
    *end = '\0';
    APR_ARRAY_PUSH(parser->fields, up_field_t) = (up_field_t){
        .name = start, .name_len = colon - start,
        .value = value, .value_len = end - value
    };
    return APR_INCOMPLETE;
}

static apr_status_t finish(up_parser_t *parser, apr_size_t size)
{
    up_head_t *head = &parser->head;

    head->fields = (const up_field_t *)parser->fields->elts;
    head->nfields = parser->fields->nelts;
    head->size = size;
    return APR_SUCCESS;
}

static void take_line(up_parser_t *parser, char *lf)
{
    char *start = parser->buf + parser->line;
    apr_size_t next = lf - parser->buf + 1;

    if (parser->lines == 0) {
        parser->rv = read_status_line(parser, lf);
    }
    else if (lf == start || (lf == start + 1 && *start == '\r')) {
        parser->rv = finish(parser, next);
    }
    else {
        parser->rv = read_field(parser, lf);
    }
    ++parser->lines;
    parser->line = next;
    parser->scan = next;
}

/* Doubles the buffer, or makes it what it is to begin with. */
static void grow(up_parser_t *parser)
{
    apr_size_t size = parser->size > parser->max / 2 ? parser->max
                                                     : parser->size * 2;

    enlarge(parser, size > parser->first ? size : parser->first);
}

/* The last line has no LF yet. */
static void wait_for_more(up_parser_t *parser)
{
    apr_size_t known = parser->len < 5 ? parser->len : 5;

    parser->scan = parser->len;
    if (parser->lines == 0 && memcmp(parser->buf, "HTTP/", known) != 0) {
        parser->rv = no_status_line(parser, parser->buf + parser->len);
    }
    else if (parser->len == parser->max) {
        parser->rv = too_big(parser);
    }
    else if (parser->len == parser->size) {
        grow(parser);
    }
}

apr_status_t up_parser_added(up_parser_t *parser, apr_size_t n)
{
    parser->len += n;
    if (parser->len == 0) {
        return parser->rv;
    }
    while (parser->rv == APR_INCOMPLETE) {
        char *lf = memchr(parser->buf + parser->scan, '\n',
                          parser->len - parser->scan);

        if (!lf) {
            wait_for_more(parser);
            break;
        }
        take_line(parser, lf);
    }
    return parser->rv;
}

const up_head_t *up_parser_head(const up_parser_t *parser)
{
    return &parser->head;
}

void up_parser_rest(up_parser_t *parser, char **pbuf, apr_size_t *plen)
{
    *pbuf = parser->buf + parser->head.size;
    *plen = parser->len - parser->head.size;
}

int up_parser_started(const up_parser_t *parser)
{
    return parser->len > 0;
}

void up_parser_next(up_parser_t *parser)
{
    char *rest;
    apr_size_t len;

    up_parser_rest(parser, &rest, &len);
    memmove(parser->buf, rest, len);
    begin(parser, len);
}

const up_head_t *up_parser_trailers(apr_pool_t *p, const char *block,
                                    apr_size_t len, const char **perror)
{
    char *all = apr_palloc(p, len + 2);
    up_parser_t *parser = up_parser_make(p, len + 2, len + 3);

    memcpy(all, block, len);
    memcpy(all + len, "\r\n", 2);
    parser->trailer = 1;
    begin(parser, 0);
    if (up_parser_put(parser, all, len + 2) == APR_SUCCESS
        && parser->head.size == len + 2) {
        return &parser->head;
    }
    *perror = *parser->error ? parser->error : "invalid trailer";
    return NULL;
}

const char *up_parser_error(const up_parser_t *parser)
{
    return parser->error;
}
