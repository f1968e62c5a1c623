/* metered.h: counts and times the requests of a transport: the metrics rest_client_requests and
 * rest_client_request_duration_seconds, as client-go 0.37 has them. */
#ifndef KI_TRANSPORT_METERED_H
#define KI_TRANSPORT_METERED_H

#include "src/base/metrics.h"
#include "src/transport/transport.h"

/* Makes a meter, which outlives the exchanges that it counts. `server_url` gives the label `host`; empty: "none".
 * Errors: KI_ERR_NO_MEMORY, those of ki_mutex_init. */
ki_status ki_meter_new(ki_engine *engine, ki_str server_url, ki_meter **ret_meter, ki_error *err);
void ki_meter_free(ki_meter *self); /* NULL is allowed */

/* Passes the samples, with the label `name`. Any thread; calls `to` under no lock. */
void ki_meter_visit(ki_meter *self, const char *name, const ki_metrics_visit *to);

/* What a transport counts of an exchange; embedded in the exchange and zeroed at first. Loop only. */
typedef struct ki_metered {
    ki_meter *meter; /* NULL: is not counted, or has ended */
    size_t method;
    int64_t sent_at;
    bool is_endless, has_head;
} ki_metered;

void ki_metered_begin(ki_metered *self, ki_meter *meter, const ki_request *request); /* `meter` NULL: is not counted */
void ki_metered_head(ki_metered *self, int status);
void ki_metered_end(ki_metered *self); /* at the end of the response, at a failure, or when it is cancelled */

#endif
