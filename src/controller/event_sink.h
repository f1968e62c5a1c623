/* event_sink.h: sends one Event at a time: creates it, or counts it up and creates it where the server has lost it; tries again where the
 * server was not reached. Loop only. */
#ifndef KI_CONTROLLER_EVENT_SINK_H
#define KI_CONTROLLER_EVENT_SINK_H

#include <kinformer/client.h>

#include "src/controller/event_json.h"
#include "src/engine/engine.h"

typedef enum ki_event_result {
    KI_EVENT_ACCEPTED,
    KI_EVENT_REFUSED,    /* the server answered with an error */
    KI_EVENT_NOT_WRITTEN /* the server was not reached, or there was no memory */
} ki_event_result;

/* What is to be written. The record stays the caller's, as it is, until the write is done. */
typedef struct ki_event_write {
    const ki_event_record *record;
    ki_event_outcome outcome; /* events.k8s.io/v1: count, and last_ns as the time of the last one */
    int tries;                /* at most */
} ki_event_write;

typedef struct ki_event_sink {
    /* constant */
    ki_engine *engine;
    ki_client *client;
    const ki_event_source *source;
    void (*done)(ki_event_result result, void *user); /* never from inside ki_event_sink_write */
    void *user;
    /* the write at hand */
    const ki_event_record *record; /* NULL: none */
    char name[KI_EVENT_NAME_MAX + 1];
    ki_buffer create, patch; /* bodies; patch empty: the Event is new */
    bool is_creating;        /* of a series: the server has no such Event any more */
    int tries_left, tries_made;
    ki_pending_request *call;
    ki_timer retry;
} ki_event_sink;

/* Errors: KI_ERR_NO_MEMORY; then closing it is harmless. */
ki_status ki_event_sink_init(ki_event_sink *sink, ki_client *client, ki_engine *engine, const ki_event_source *source,
                             void (*done)(ki_event_result result, void *user), void *user);
/* Ends what is at hand without a word, and gives all back. */
void ki_event_sink_close(ki_event_sink *sink);
bool ki_event_sink_is_idle(const ki_event_sink *sink);
/* Begins a write; the sink is idle. Errors: KI_ERR_NO_MEMORY; then it stays idle, and `done` does not come. */
ki_status ki_event_sink_write(ki_event_sink *sink, const ki_event_write *write);
/* Makes the next try the last one, and begins it now where the sink waits for it. */
void ki_event_sink_hurry(ki_event_sink *sink);
/* Ends the write at hand; `done` does not come. */
void ki_event_sink_cancel(ki_event_sink *sink);

#endif
