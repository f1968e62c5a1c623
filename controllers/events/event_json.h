/* event_json.h: an Event for the API server: its name, the body that creates it, the patch that raises its count. No
 * state, no clock. */
#ifndef KI_EVENTS_EVENT_JSON_H
#define KI_EVENTS_EVENT_JSON_H

#include "controllers/events/event_correlator.h"
#include "controllers/events/event_series.h"
#include "src/base/buffer.h"

enum {
    KI_EVENT_NAME_MAX = 253 /* bytes of a DNS subdomain (RFC 1123) */
};

/* The reporter of a recorder's events. Constant for the recorder's life. */
typedef struct ki_event_source {
    ki_events_api api;
    const char *component;
    const char *host;     /* core/v1; "": none */
    const char *instance; /* events.k8s.io/v1 */
    uint64_t seed;
} ki_event_source;

/* Writes the name of an Event: OBJECT.HEX, where HEX is the time in nanoseconds, or a UUID if OBJECT.HEX is no DNS
 * subdomain. The same record and time give the same name. */
void ki_event_name(const ki_event_source *source, const ki_event_record *record, int64_t name_ns,
                   char ret_name[KI_EVENT_NAME_MAX + 1]);
/* Returns the Event's namespace: the object's, or "default" for a cluster-scoped object. */
const char *ki_event_namespace(const ki_event_record *record);

/* The next two append a core/v1 Event's body or patch to `out`. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_event_write_core(const ki_event_source *source, const ki_event_record *record,
                              const ki_event_outcome *outcome, ki_buffer *out);
ki_status ki_event_patch_core(const ki_event_record *record, const ki_event_outcome *outcome, ki_buffer *out);
/* The next two do the same for events.k8s.io/v1. `count` 1: no series. */
ki_status ki_event_write_v1(const ki_event_source *source, const ki_event_record *record, int32_t count,
                            int64_t last_wall_ns, ki_buffer *out);
ki_status ki_event_patch_v1(int32_t count, int64_t last_wall_ns, ki_buffer *out);

#endif
