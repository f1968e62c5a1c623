/* health.h: /healthz, /livez, /readyz, and /metrics. Called by rest.c. */
#ifndef KT_REST_HEALTH_H
#define KT_REST_HEALTH_H

#include "testing/request/call.h"

bool kt_health_is(const kt_call *call);
/* "ok"; with `verbose` each check, one a line, as the real server shows them. Below the path one check alone. */
ki_status kt_health(kt_call *call);

bool kt_metrics_is(const kt_call *call);
/* Objects and watches of each resource in Prometheus' text format, under the real server's names. */
ki_status kt_metrics(kt_call *call);

/* The response is this text. */
ki_status kt_plain_text(kt_call *call, int status, const char *text);

#endif
