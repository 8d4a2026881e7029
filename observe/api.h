/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * SetHandler upstream-api: servers and their numbers, read and changed at run
 * time. docs/api.md is its manual.
 */

#ifndef UP_API_H
#define UP_API_H

void up_api_register(void);

#endif
