/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * How a location-level directive becomes a field of the settings. A row of
 * the table in settings.c is every setter's cmd_data.
 *
 * Only while the configuration is read.
 */

#ifndef UP_SETTERS_H
#define UP_SETTERS_H

#include "config/settings.h"
#include "config/units.h"

typedef struct up_row_t up_row_t;

/** One plain word into a field; NULL or a sentence that begins with a verb. */
typedef const char *(*up_parse_t)(const up_row_t *row, const char *text,
                                  void *field);

struct up_row_t {
    const char *name;
    up_parse_t parse;   /* of a plain type; NULL: the setter knows */
    unsigned int number; /* of the row: its bit in up_settings_t.set */
    apr_size_t offset;  /* of the field, or the first of them */
    apr_size_t length;  /* what merging copies */
    apr_off_t least;    /* smallest good value of a plain type */
    const char *usual;  /* default of a plain type, NULL: 0 */
};

/* What every setter is made of. */

/** The row that is being set, and its (first) field. */
const up_row_t *up_setters_row(const cmd_parms *cmd);
void *up_setters_field(const cmd_parms *cmd, up_settings_t *settings);

/** Has this section set the row's directive already? */
int up_setters_given(const up_settings_t *settings, const up_row_t *row);

/**
 * The checks that come before a scalar is set: the right kind of section,
 * and not twice in it.
 * @return NULL, or the complaint
 */
const char *up_setters_begin(cmd_parms *cmd, const up_settings_t *settings);

/** Notes that this section sets the row. */
void up_setters_mark(const cmd_parms *cmd, up_settings_t *settings);

/** The same, for a field that sizes are derived from. */
const char *up_setters_finish(cmd_parms *cmd, up_settings_t *settings);

/** The next word of raw arguments, perhaps an empty one; NULL: no more. */
const char *up_setters_word(cmd_parms *cmd, const char **pargs);

/**
 * One word out of `words` into a mask, the row's field: the first of a
 * section replaces what was inherited.
 */
const char *up_setters_words(cmd_parms *cmd, up_settings_t *settings,
                             const up_word_t *words, const char *word);

/* parsers of the plain types */
const char *up_setters_parse_flag(const up_row_t *row, const char *text,
                                  void *field); /* int */
const char *up_setters_parse_time(const up_row_t *row, const char *text,
                                  void *field); /* apr_interval_time_t */
const char *up_setters_parse_size(const up_row_t *row, const char *text,
                                  void *field); /* apr_off_t */
const char *up_setters_parse_num(const up_row_t *row, const char *text,
                                 void *field); /* int */
const char *up_setters_parse_version(const up_row_t *row, const char *text,
                                     void *field); /* int, 10 or 11 */

/* Setters, one a type of row. Those of texts take raw arguments: httpd takes
 * an empty word for none, and an empty text is a good one. */
const char *up_setters_plain(cmd_parms *cmd, void *dconf, const char *word);
const char *up_setters_text(cmd_parms *cmd, void *dconf, const char *args);
const char *up_setters_method(cmd_parms *cmd, void *dconf, const char *word);
const char *up_setters_header(cmd_parms *cmd, void *dconf, const char *args);
const char *up_setters_name(cmd_parms *cmd, void *dconf, const char *name);
const char *up_setters_failures(cmd_parms *cmd, void *dconf,
                                const char *word);
const char *up_setters_buffers(cmd_parms *cmd, void *dconf,
                               const char *number, const char *size);
const char *up_setters_bind(cmd_parms *cmd, void *dconf, const char *address,
                            const char *how);
const char *up_setters_lowat(cmd_parms *cmd, void *dconf, const char *size);
const char *up_setters_path(cmd_parms *cmd, void *dconf, int argc,
                            char *const argv[]);

#endif
