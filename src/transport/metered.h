/* metered.h: a transport that counts and times the requests of another one: the metrics rest_client_requests and
 * rest_client_request_duration_seconds, as client-go 0.37 has them. */
#ifndef KI_TRANSPORT_METERED_H
#define KI_TRANSPORT_METERED_H

#include "src/base/metrics.h"
#include "src/transport/transport.h"

/* Makes a transport over `inner`, which must outlive it. `server_url` gives the label `host`; empty: "none". Free it
 * with ki_transport_free, which cancels its exchanges. Errors: KI_ERR_NO_MEMORY, those of ki_mutex_init. */
ki_status ki_metered_transport_new(ki_engine *engine, ki_transport *inner, ki_str server_url,
                                   ki_transport **ret_transport, ki_error *err);

/* Passes the samples, with the label `name`. Any thread; calls `to` under no lock. */
void ki_metered_transport_visit(ki_transport *transport, const char *name, const ki_metrics_visit *to);

#endif
