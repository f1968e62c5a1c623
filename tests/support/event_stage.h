/* event_stage.h: a factory with an event recorder, over the embedded server or scripted responses, and a clock that
 * only the test moves. One thread. Anything of its own that fails ends the test.
 *
 *     event_stage stage;
 *     event_stage_open(&stage, &KI_EVENT_RECORDER_OPTIONS(.component = "robot"));
 *     ki_event_recorder_record(stage.recorder, obj, KI_EVENT_NORMAL, "Synced", "well");
 *     event_stage_advance(&stage, 0);
 *     … stage.requests, event_stage_request(&stage, 0), event_stage_counts(&stage) …
 *     event_stage_close(&stage); */
#ifndef TESTS_SUPPORT_EVENT_STAGE_H
#define TESTS_SUPPORT_EVENT_STAGE_H

#include <kinformer-controllers/events.h>

#include "controllers/events/event_record.h"
#include "src/base/buffer.h"
#include "testing/memory/adapter.h"
#include "tests/support/test_engine.h"

enum {
    EVENT_STAGE_SCRIPT_MAX = 5 * KI_EVENT_QUEUE,
    EVENT_STAGE_REQUESTS_MAX = 5 * KI_EVENT_QUEUE,
    EVENT_STAGE_SECONDS = 1767323045, /* 2026-01-02T03:04:05Z: the wall clock at the start */
    EVENT_STAGE_NANOSECONDS = 678901234
};

/* How the server treats a request. */
typedef enum event_response {
    EVENT_RESPONSE_REAL = 0, /* the embedded server's response */
    EVENT_RESPONSE_SILENT = 1,
    EVENT_RESPONSE_CUT = 2,           /* no response; the connection ends */
    EVENT_RESPONSE_CONNECT = 3,       /* no connection */
    EVENT_RESPONSE_GARBLED = 4,       /* ends cleanly without an HTTP response */
    EVENT_RESPONSE_FIRST_STATUS = 100 /* this and greater: an error response with this status */
} event_response;

typedef struct event_stage {
    test_engine engine;
    kt_cluster *cluster;
    kt_memory_adapter *adapter;
    ki_transport *transport;
    ki_factory *factory;
    ki_event_recorder *recorder;
    /* One value for each request, in order; after `scripted` requests, `then`. */
    int script[EVENT_STAGE_SCRIPT_MAX];
    size_t scripted;
    int then;
    /* The requests so far. */
    size_t requests;
    ki_buffer texts;                          /* "METHOD TARGET BODY" each, with a zero byte */
    size_t text_at[EVENT_STAGE_REQUESTS_MAX]; /* offset of each request's text */
    int64_t at_ms[EVENT_STAGE_REQUESTS_MAX];  /* milliseconds since the start */
} event_stage;

/* Creates everything but does not start the factory. `allocator` NULL: malloc. Returns false, with nothing left,
 * without memory. */
bool event_stage_make(event_stage *stage, const ki_allocator *allocator, const ki_event_recorder_options *options);
/* Does the same with malloc and starts the factory. */
void event_stage_open(event_stage *stage, const ki_event_recorder_options *options);
void event_stage_start(event_stage *stage);
void event_stage_close(event_stage *stage);

/* Advances the clock and settles; 0: only settles. */
void event_stage_advance(event_stage *stage, int64_t ms);
/* Returns a request; "" after the last. */
const char *event_stage_request(const event_stage *stage, size_t number);
ki_event_recorder_counts event_stage_counts(const event_stage *stage);
/* Returns the number of Events in the server. */
size_t event_stage_stored(const event_stage *stage);

/* Returns a record of a Warning or Normal event of Foo `name` in namespace shop, at `wall_ns`. Ownership: the caller
 * frees it with ki_free and malloc's allocator. */
ki_event_record *event_record_of(const char *name, const char *type, const char *reason, const char *message,
                                 int64_t wall_ns);

#endif
