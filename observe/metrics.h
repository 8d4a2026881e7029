/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * SetHandler upstream-metrics: the text format of Prometheus, version 0.0.4.
 * ?upstream= and ?metrics= take comma separated names with * and ?.
 */

#ifndef UP_METRICS_H
#define UP_METRICS_H

void up_metrics_register(void);

#endif
