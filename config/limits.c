/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Owns UpstreamQueue.
 */

#include "config/limits.h"

#include "apr_strings.h"
#include "config/complaint.h"
#include "config/group_section.h"
#include "config/units.h"

const char *up_limits_set_queue(cmd_parms *cmd, void *dconf, int argc,
                                char *const argv[])
{
    up_group_t *group = NULL;
    const char *error = up_group_section_once(cmd, &group);
    const char *value;

    (void)dconf;
    if (error != NULL) {
        return error;
    }
    if (argc < 1 || argc > 2) {
        return apr_psprintf(cmd->pool, "%s wants a number of requests and, if "
                            "need be, timeout=, as in \"100 timeout=30s\"",
                            cmd->cmd->name);
    }
    error = up_units_number(argv[0], 1, &group->queue);
    if (error != NULL) {
        return up_complaint_word(cmd, error, argv[0]);
    }
    if (argc == 1) {
        return NULL;
    }
    value = up_units_param(argv[1], "timeout=");
    if (value == NULL) {
        return up_complaint_word(cmd, "takes nothing but timeout= after the "
                                 "number", argv[1]);
    }
    error = up_units_span(value, &group->queue_timeout);
    return error != NULL ? up_complaint_param(cmd, "timeout=", error, value)
                         : NULL;
}
