/* health.h: /healthz, /livez, /readyz and /metrics. Called by rest.c. */
#ifndef KT_REST_HEALTH_H
#define KT_REST_HEALTH_H

#include "testing/request/call.h"

/* Returns true for a path that kt_health serves. */
bool kt_health_is(const kt_call *call);
/* Responds "ok"; with `verbose` one line for each check, as the real server does. A path below names one check. */
ki_status kt_health(kt_call *call);

bool kt_metrics_is(const kt_call *call);
/* Responds with the objects and watches of each resource in Prometheus' text format, with the real server's metric
 * names. */
ki_status kt_metrics(kt_call *call);

/* Completes the response with a text. */
ki_status kt_plain_text(kt_call *call, int status, const char *text);

#endif
