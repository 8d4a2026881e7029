/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The directives that hold for the whole server. */

#include "config/process.h"

#include <stddef.h>

#include "config/complaint.h"
#include "config/units.h"

#define DEFAULT_DELAY apr_time_from_msec(5)

static up_process_t process = { .async_delay = DEFAULT_DELAY };

/* Bits of what was given, to refuse a second one. */
static unsigned int given;

const up_process_t *up_process(void)
{
    return &process;
}

void up_process_reset(void)
{
    static const up_process_t usual = { .async_delay = DEFAULT_DELAY };

    process = usual;
    given = 0;
}

static const char *check(cmd_parms *cmd, unsigned int bit)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    if (error) {
        return error;
    }
    if (given & bit) {
        return up_complaint_twice(cmd, "");
    }
    given |= bit;
    return NULL;
}

/* One bit a field. */
static unsigned int bit_of(const cmd_parms *cmd)
{
    return 1u << (apr_size_t)cmd->info / sizeof(int);
}

static void *field_of(const cmd_parms *cmd)
{
    return (char *)&process + (apr_size_t)cmd->info;
}

static const char *set_number(cmd_parms *cmd, void *dconf, const char *arg)
{
    const char *error = check(cmd, bit_of(cmd));

    (void)dconf;
    if (error) {
        return error;
    }
    error = up_units_number(arg, 0, field_of(cmd));
    return error ? up_complaint_word(cmd, error, arg) : NULL;
}

static const char *set_time(cmd_parms *cmd, void *dconf, const char *arg)
{
    const char *error = check(cmd, bit_of(cmd));

    (void)dconf;
    if (error) {
        return error;
    }
    error = up_units_time(arg, field_of(cmd));
    return error ? up_complaint_word(cmd, error, arg) : NULL;
}

#define FIELD(name) ((void *)offsetof(up_process_t, name))

const command_rec up_process_commands[] = {
    AP_INIT_TAKE1("UpstreamLoops", set_number, FIELD(loops), RSRC_CONF,
                  "a number of event loops a child, 0 for the usual one"),
    AP_INIT_TAKE1("UpstreamMaxSuspended", set_number, FIELD(max_suspended),
                  RSRC_CONF, "a number of exchanges, 0 for no limit"),
    AP_INIT_TAKE1("UpstreamAsyncDelay", set_time, FIELD(async_delay),
                  RSRC_CONF, "a time such as 5ms"),
    AP_INIT_TAKE1("UpstreamShutdownTimeout", set_time,
                  FIELD(shutdown_timeout), RSRC_CONF,
                  "a time such as 30s, 0 for no limit"),
    {.name = NULL}
};
