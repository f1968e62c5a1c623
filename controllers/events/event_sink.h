/* event_sink.h: writes one Event at a time: creates it or patches its count; creates it again if the server does not
 * have it any more. Retries after failures other than error responses. Loop only. */
#ifndef KI_EVENTS_EVENT_SINK_H
#define KI_EVENTS_EVENT_SINK_H

#include <kinformer/client.h>

#include "controllers/events/event_json.h"
#include "src/engine/engine.h"

typedef enum ki_event_result {
    KI_EVENT_ACCEPTED,
    KI_EVENT_REJECTED,   /* the server sent an error response */
    KI_EVENT_NOT_WRITTEN /* no response, or no memory */
} ki_event_result;

/* One write. The record stays owned by the caller, and unchanged, until the write is done. */
typedef struct ki_event_write {
    const ki_event_record *record;
    ki_event_outcome outcome; /* events.k8s.io/v1 uses only count and last_ns (the series' last time) */
    int tries;                /* maximum */
} ki_event_write;

typedef struct ki_event_sink {
    /* constant */
    ki_engine *engine;
    ki_client *client;
    const ki_event_source *source;
    void (*done)(ki_event_result result, void *user); /* never from inside ki_event_sink_write */
    void *user;
    /* the current write */
    const ki_event_record *record; /* NULL: none */
    char name[KI_EVENT_NAME_MAX + 1];
    ki_buffer create, patch; /* bodies; an empty patch: the Event is new */
    bool is_creating;        /* the server had no Event to patch (404): creates it instead */
    int tries_left, tries_made;
    ki_pending_request *pending;
    ki_timer retry;
} ki_event_sink;

void ki_event_sink_init(ki_event_sink *sink, ki_client *client, ki_engine *engine, const ki_event_source *source,
                        void (*done)(ki_event_result result, void *user), void *user);
/* Ends the current write without calling `done`, and frees the sink's memory. */
void ki_event_sink_close(ki_event_sink *sink);
bool ki_event_sink_is_idle(const ki_event_sink *sink);
/* Starts a write; the sink must be idle. Errors: KI_ERR_NO_MEMORY: the sink stays idle and does not call `done`. */
ki_status ki_event_sink_write(ki_event_sink *sink, const ki_event_write *write);
/* Makes the next try the last one, and starts it now if the sink waits for a retry. */
void ki_event_sink_skip_delay(ki_event_sink *sink);
/* Ends the current write without calling `done`. */
void ki_event_sink_cancel(ki_event_sink *sink);

#endif
