/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns what happens between the words of a directive and a field.
 */

#include "config/setters.h"

#include "apr_lib.h"
#include "apr_strings.h"
#include "config/address.h"
#include "config/complaint.h"
#include "config/derived.h"
#include "config/dollar.h"
#include "config/log.h"
#include "config/section.h"
#include "config/temp_path.h"
#include "config/units.h"
#include "exchange/fields.h"
#include "http_core.h"

const up_row_t *up_setters_row(const cmd_parms *cmd)
{
    return cmd->info;
}

void *up_setters_field(const cmd_parms *cmd, up_settings_t *settings)
{
    return (char *)settings + up_setters_row(cmd)->offset;
}

int up_setters_given(const up_settings_t *settings, const up_row_t *row)
{
    return (int)(settings->set[row->number / 64] >> row->number % 64 & 1);
}

const char *up_setters_begin(cmd_parms *cmd, const up_settings_t *settings)
{
    const up_row_t *row = up_setters_row(cmd);
    const char *error = up_section_misplaced(cmd);

    if (error == NULL && up_setters_given(settings, row)) {
        error = up_complaint_twice(cmd, " in this section");
    }
    return error;
}

void up_setters_mark(const cmd_parms *cmd, up_settings_t *settings)
{
    unsigned int number = up_setters_row(cmd)->number;

    settings->set[number / 64] |= APR_UINT64_C(1) << number % 64;
}

const char *up_setters_finish(cmd_parms *cmd, up_settings_t *settings)
{
    up_setters_mark(cmd, settings);
    up_derived_sizes(settings);
    return up_derived_conflict(cmd->pool, &settings->written);
}

/* --- plain types --------------------------------------------------------- */

const char *up_setters_parse_flag(const up_row_t *row, const char *text,
                                  void *field)
{
    (void)row;
    return up_units_flag(text, field);
}

const char *up_setters_parse_time(const up_row_t *row, const char *text,
                                  void *field)
{
    apr_interval_time_t *ptime = field;
    const char *error = up_units_time(text, ptime);

    if (error == NULL && *ptime < row->least) {
        error = "wants a time that is longer than 0, such as 60s";
    }
    return error;
}

const char *up_setters_parse_size(const up_row_t *row, const char *text,
                                  void *field)
{
    apr_off_t *psize = field;
    const char *error = up_units_size(text, 0, psize);

    if (error == NULL && *psize < row->least) {
        error = "wants a size that is larger than 0, such as 16k";
    }
    /* Sizes become lengths of buffers and arguments of setsockopt. */
    if (error == NULL && *psize > APR_INT32_MAX) {
        error = "wants a size below 2048m";
    }
    return error;
}

const char *up_setters_parse_num(const up_row_t *row, const char *text,
                                 void *field)
{
    return up_units_number(text, (int)row->least, field);
}

const char *up_setters_parse_version(const up_row_t *row, const char *text,
                                     void *field)
{
    int *pversion = field;

    (void)row;
    if (strcmp(text, "1.1") == 0) {
        *pversion = 11;
    }
    else if (strcmp(text, "1.0") == 0) {
        *pversion = 10;
    }
    else if (strcmp(text, "2") == 0 || strcmp(text, "2.0") == 0) {
        return "cannot speak HTTP/2 to a backend yet: write 1.1 or 1.0";
    }
    else {
        return "wants 1.0 or 1.1";
    }
    return NULL;
}

const char *up_setters_plain(cmd_parms *cmd, void *dconf, const char *word)
{
    up_settings_t *settings = dconf;
    const up_row_t *row = up_setters_row(cmd);
    const char *error = up_setters_begin(cmd, settings);

    if (error != NULL) {
        return error;
    }
    error = row->parse(row, word, up_setters_field(cmd, settings));
    if (error != NULL) {
        return up_complaint_word(cmd, error, word);
    }
    return up_setters_finish(cmd, settings);
}

/* --- texts --------------------------------------------------------------- */

const char *up_setters_word(cmd_parms *cmd, const char **pargs)
{
    while (apr_isspace(**pargs)) {
        (*pargs)++;
    }
    return **pargs != '\0' ? ap_getword_conf(cmd->pool, pargs) : NULL;
}

static const char *usage(const cmd_parms *cmd)
{
    return apr_psprintf(cmd->pool, "%s wants %s, in quotes when it has blanks",
                        up_setters_row(cmd)->name, cmd->cmd->errmsg);
}

/* Startup reads the configuration twice; one warning is enough. */
static int is_second_reading(void)
{
    return ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_PRE_CONFIG
           || ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST;
}

/* A text of ours, and a warning when it looks like one of nginx's. */
static const char *parse_text(cmd_parms *cmd, const char *word,
                              const up_text_t **ptext)
{
    const char *hint = up_dollar_hint(cmd->temp_pool, word);

    if (*up_complaint_hint(word) != '\0' && is_second_reading()) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     UPLOGNO(0650) "%s at %s: \"%s\" is sent with its last "
                     "\";\": leave it out if nginx's end of a line is meant",
                     up_setters_row(cmd)->name, up_section_where(cmd), word);
    }
    if (hint != NULL && is_second_reading()) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     UPLOGNO(0106) "%s at %s: \"%s\" is sent as it stands, "
                     "but %s", up_setters_row(cmd)->name,
                     up_section_where(cmd), word, hint);
    }
    return up_text_parse(cmd, word, ptext);
}

static const char *set_text(cmd_parms *cmd, up_settings_t *settings,
                            const char *word)
{
    const char *error = up_setters_begin(cmd, settings);

    if (error != NULL) {
        return error;
    }
    up_setters_mark(cmd, settings);
    return parse_text(cmd, word, up_setters_field(cmd, settings));
}

const char *up_setters_text(cmd_parms *cmd, void *dconf, const char *args)
{
    const char *word = up_setters_word(cmd, &args);

    if (word == NULL || up_setters_word(cmd, &args) != NULL) {
        return usage(cmd);
    }
    return set_text(cmd, dconf, word);
}

const char *up_setters_method(cmd_parms *cmd, void *dconf, const char *word)
{
    if (strstr(word, "%{") == NULL && !up_field_name_ok(word)) {
        return up_complaint_word(cmd, "wants a method such as POST", word);
    }
    return set_text(cmd, dconf, word);
}

/* --- lists: any entry here replaces the whole list from outside ---------- */

static void *append(cmd_parms *cmd, up_settings_t *settings, int size)
{
    apr_array_header_t **plist = up_setters_field(cmd, settings);

    if (*plist == NULL) {
        *plist = apr_array_make(cmd->pool, 4, size);
    }
    up_setters_mark(cmd, settings);
    return apr_array_push(*plist);
}

static const char *check_name(cmd_parms *cmd, const char *name)
{
    const char *error = up_section_misplaced(cmd);

    if (error == NULL && !up_field_name_ok(name)) {
        error = up_complaint_word(cmd, "wants the name of a header field such "
                                  "as X-Real-IP", name);
    }
    return error;
}

/* Two opinions about the length of one message are how requests are
 * smuggled. */
static int is_framing(const char *name)
{
    return up_field_is(name, "Content-Length")
           || up_field_is(name, "Transfer-Encoding");
}

const char *up_setters_header(cmd_parms *cmd, void *dconf, const char *args)
{
    const char *name = up_setters_word(cmd, &args);
    const char *value = name != NULL ? up_setters_word(cmd, &args) : NULL;
    const char *error;
    up_header_t header;

    if (value == NULL || up_setters_word(cmd, &args) != NULL) {
        return usage(cmd);
    }
    error = check_name(cmd, name);
    if (error == NULL && value[0] != '\0' && is_framing(name)) {
        error = up_complaint_word(cmd, "wants \"\" as the value of "
                                  "Content-Length and Transfer-Encoding, "
                                  "which always describe the body as it is "
                                  "sent", value);
    }
    if (error == NULL) {
        error = parse_text(cmd, value, &header.value);
    }
    if (error == NULL) {
        header.name = name;
        *(up_header_t *)append(cmd, dconf, sizeof(header)) = header;
    }
    return error;
}

const char *up_setters_name(cmd_parms *cmd, void *dconf, const char *name)
{
    up_settings_t *settings = dconf;
    const char *error = check_name(cmd, name);

    if (error == NULL) {
        *(const char **)append(cmd, settings, sizeof(name)) =
            apr_pstrdup(cmd->pool, name);
        up_derived_hidden(cmd->pool, settings,
                          up_derived_builtin_hidden(cmd->pool));
    }
    return error;
}

/* --- word lists ---------------------------------------------------------- */

static const up_word_t failures[] = {
    {"error", UP_FAIL_ERROR},
    {"timeout", UP_FAIL_TIMEOUT},
    {"invalid_header", UP_FAIL_INVALID_HEADER},
    {"http_500", UP_FAIL_HTTP_500},
    {"http_502", UP_FAIL_HTTP_502},
    {"http_503", UP_FAIL_HTTP_503},
    {"http_504", UP_FAIL_HTTP_504},
    {"http_403", UP_FAIL_HTTP_403},
    {"http_404", UP_FAIL_HTTP_404},
    {"http_429", UP_FAIL_HTTP_429},
    {"non_idempotent", UP_FAIL_NON_IDEMPOTENT},
    {"updating", UP_FAIL_UPDATING},
    {"reused", UP_FAIL_REUSED},
    {"off", UP_FAIL_OFF},
    {NULL, 0}
};

static const char *all_words(apr_pool_t *p, const up_word_t *words)
{
    const char *all = words->word;

    for (words++; words->word != NULL; words++) {
        all = apr_pstrcat(p, all, " ", words->word, NULL);
    }
    return all;
}

const char *up_setters_words(cmd_parms *cmd, up_settings_t *settings,
                             const up_word_t *words, const char *word)
{
    unsigned int *pmask = up_setters_field(cmd, settings);
    unsigned int bit = up_units_word(words, word);
    const char *error = up_section_misplaced(cmd);

    if (error != NULL) {
        return error;
    }
    if (bit == 0) {
        error = apr_pstrcat(cmd->temp_pool, "wants words out of ",
                            all_words(cmd->temp_pool, words), NULL);
        return up_complaint_word(cmd, error, word);
    }
    if (!up_setters_given(settings, up_setters_row(cmd))) {
        *pmask = 0;
        up_setters_mark(cmd, settings);
    }
    if ((*pmask & bit) != 0 && is_second_reading()) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     UPLOGNO(0102) "%s at %s: \"%s\" stands there twice",
                     up_setters_row(cmd)->name, up_section_where(cmd), word);
    }
    *pmask |= bit;
    return NULL;
}

const char *up_setters_failures(cmd_parms *cmd, void *dconf, const char *word)
{
    unsigned int *pmask = up_setters_field(cmd, dconf);
    const char *error = up_setters_words(cmd, dconf, failures, word);

    if (error == NULL && (*pmask & UP_FAIL_OFF) != 0) {
        *pmask = UP_FAIL_OFF;
    }
    return error;
}

/* --- the others ---------------------------------------------------------- */

const char *up_setters_buffers(cmd_parms *cmd, void *dconf,
                               const char *number, const char *size)
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_begin(cmd, settings);

    if (error != NULL) {
        return error;
    }
    error = up_units_number(number, 2, &settings->written.buffers_num);
    if (error != NULL) {
        return up_complaint_word(cmd, "wants at least 2 buffers, as in \"8 "
                                 "16k\"", number);
    }
    error = up_setters_parse_size(up_setters_row(cmd), size,
                                  &settings->written.buffers_size);
    if (error != NULL) {
        return up_complaint_word(cmd, error, size);
    }
    return up_setters_finish(cmd, settings);
}

const char *up_setters_bind(cmd_parms *cmd, void *dconf, const char *address,
                            const char *how)
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_begin(cmd, settings);
    const char *hint;
    up_local_t unused;

    if (error != NULL) {
        return error;
    }
    settings->bind_transparent = how != NULL;
    if (how != NULL && strcasecmp(how, "transparent") != 0) {
        return up_complaint_word(cmd, "wants nothing but \"transparent\" "
                                 "after the address", how);
    }
    up_setters_mark(cmd, settings);
    if (strcasecmp(address, "off") == 0) {
        settings->bind = NULL;
        return how == NULL ? NULL
                           : up_complaint_word(cmd, "wants nothing after off",
                                               how);
    }
    hint = up_dollar_hint(cmd->temp_pool, address);
    if (hint != NULL) {
        return apr_psprintf(cmd->pool, "%s wants an address; %s",
                            up_setters_row(cmd)->name, hint);
    }
    if (strstr(address, "%{") == NULL && address[0] != '\0'
        && !up_address_local(address, &unused)) {
        return up_complaint_word(cmd, "wants a local IP address with or "
                                 "without a port, or off", address);
    }
    return up_text_parse(cmd, address, &settings->bind);
}

const char *up_setters_lowat(cmd_parms *cmd, void *dconf, const char *size)
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_plain(cmd, dconf, size);

    if (error == NULL && settings->send_lowat != 0 && is_second_reading()) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, cmd->server,
                     UPLOGNO(0103) "%s at %s is not supported by this system "
                     "and ignored: remove it", up_setters_row(cmd)->name,
                     up_section_where(cmd));
    }
    return error;
}

static const char *parse_levels(cmd_parms *cmd, up_settings_t *settings,
                                int argc, char *const argv[])
{
    int i, *level = settings->temp_levels;

    memset(level, 0, sizeof(settings->temp_levels));
    for (i = 0; i < argc; i++) {
        if (up_units_number(argv[i], 1, &level[i]) != NULL || level[i] > 3) {
            return up_complaint_word(cmd, "wants 1, 2 or 3 digits for each "
                                     "level of directories", argv[i]);
        }
    }
    return NULL;
}

const char *up_setters_path(cmd_parms *cmd, void *dconf, int argc,
                            char *const argv[])
{
    up_settings_t *settings = dconf;
    const char *error = up_setters_begin(cmd, settings);
    apr_finfo_t info;

    if (error != NULL) {
        return error;
    }
    if (argc < 1 || argc > 4) {
        return apr_psprintf(cmd->pool, "%s wants a directory and at most "
                            "three levels, as in \"/var/tmp/up 1 2\"",
                            up_setters_row(cmd)->name);
    }
    settings->temp_path = ap_server_root_relative(cmd->pool, argv[0]);
    if (settings->temp_path == NULL
        || apr_stat(&info, settings->temp_path, APR_FINFO_TYPE,
                    cmd->temp_pool) != APR_SUCCESS
        || info.filetype != APR_DIR) {
        return up_complaint_word(cmd, "wants a directory that exists and that "
                                 "the server's User may write to", argv[0]);
    }
    up_setters_mark(cmd, settings);
    up_temppath_note(cmd->pool, settings->temp_path);
    return parse_levels(cmd, settings, argc - 1, argv + 1);
}
