/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about the response: buffers, files, header fields.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_RESPONSE_H
#define UP_ROWS_RESPONSE_H

#define PARSE_WSIZE up_setters_parse_size
#define SET_WSIZE(name, row, help)    ONE(name, up_setters_plain, row, help)

#define PARSE_BUFFERS NULL
#define SET_BUFFERS(name, row, help)  TWO(name, up_setters_buffers, row, help)

#define PARSE_NAMES NULL
#define SET_NAMES(name, row, help)    ONE(name, up_setters_name, row, help)

#define PARSE_PATH NULL
#define SET_PATH(name, row, help)                                             \
    AP_INIT_TAKE_ARGV(name, up_setters_path, row, WHERE, help)

#define UP_ROWS_RESPONSE(ROW)                                                 \
    ROW(FLAG, Buffering, buffering, buffering, 0, "on", "on or off")          \
    ROW(WSIZE, BufferSize, written.buffer_size, written.buffer_size, 1, NULL, \
        "a size such as 16k")                                                 \
    ROW(WSIZE, MaxHeaderSize, written.max_header_size,                        \
        written.max_header_size, 1, NULL, "a size such as 64k")               \
    ROW(BUFFERS, Buffers, written.buffers_num, written.buffers_size, 1, NULL, \
        "a number and a size, as in 8 16k")                                   \
    ROW(WSIZE, BusyBuffersSize, written.busy_buffers_size,                    \
        written.busy_buffers_size, 1, NULL, "a size such as 32k")             \
    ROW(WSIZE, MaxTempFileSize, written.max_temp_file_size,                   \
        written.max_temp_file_size, 0, NULL,                                  \
        "a size such as 1024m, 0 for no file")                                \
    ROW(WSIZE, TempFileWriteSize, written.temp_file_write_size,               \
        written.temp_file_write_size, 1, NULL, "a size such as 32k")          \
    ROW(PATH, TempPath, temp_path, temp_levels, 0, NULL,                      \
        "a directory and at most three levels")                               \
    ROW(NAMES, PassHeader, pass_headers, pass_headers, 0, NULL,               \
        "the name of a header field")                                         \
    ROW(NAMES, HideHeader, hide_headers, hide_headers, 0, NULL,               \
        "the name of a header field")

#endif
