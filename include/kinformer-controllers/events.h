/* events.h: records Kubernetes Events about objects, which `kubectl describe` and `kubectl events` show.
 *
 *     ki_event_recorder_record(recorder, foo, KI_EVENT_NORMAL, "Synced", "Foo %s synced", ki_object_key(foo));
 *
 * Recording never waits: the event is queued, and the loop sends it after the start of the factory. Events are sent one
 * after the other, in the order of recording.
 *
 * core/v1 (as client-go's tools/record): equal events become one Event whose count rises. After nine different messages
 * of one reason within 10 minutes, events become one Event "(combined from similar events): MESSAGE". For
 * each object and type, 25 events are sent at once, then one every 5 minutes. Further events are filtered; the next
 * event that is sent includes them in its count.
 *
 * events.k8s.io/v1 (as client-go's tools/events): events that differ at most in their message become one Event with a
 * series. The second event starts the series, later events raise its count. The recorder sends the count every 30
 * minutes, and once more after 6 minutes without an event.
 *
 * The recorder does not retry after an error response. If the server cannot be reached, it retries every 10 seconds. */
#ifndef KINFORMER_CONTROLLERS_EVENTS_H
#define KINFORMER_CONTROLLERS_EVENTS_H

#include <kinformer/factory.h>

KI_BEGIN_DECLS

typedef struct ki_event_recorder ki_event_recorder;

#define KI_EVENT_NORMAL "Normal"
#define KI_EVENT_WARNING "Warning"

enum {
    KI_EVENT_QUEUE = 1000,           /* queued events; further events are dropped and counted */
    KI_EVENT_TRIES = 12,             /* attempts to send one event, 10 s apart */
    KI_EVENT_STOP_MS = 5000,         /* time to send queued events when the factory stops */
    KI_EVENT_MESSAGE_MAX = 1024,     /* bytes of a message; longer messages are truncated at a whole character */
    KI_EVENT_REASON_MAX = 128,       /* bytes of a reason or action; longer ones are truncated in the same way */
    KI_EVENT_ANNOTATIONS_MAX = 8192, /* bytes of annotations as JSON */
    KI_EVENT_SOURCE_MAX = 256,       /* bytes of component and host */
    KI_EVENT_INSTANCE_MAX = 128      /* bytes of an instance */
};

typedef enum ki_events_api {
    KI_EVENTS_CORE_V1 = 0, /* v1 Events, as client-go's tools/record writes them */
    KI_EVENTS_V1 = 1       /* events.k8s.io/v1, as client-go's tools/events writes them */
} ki_events_api;

typedef struct ki_event_recorder_options {
    size_t size;           /* sizeof(ki_event_recorder_options); set by the macro */
    const char *component; /* reporting component: "sample-controller"; required; copied */
    const char *host;      /* core/v1: source.host; copied; NULL: none */
    const char *instance;  /* events.k8s.io/v1: reportingInstance; copied; NULL: component and host name */
    ki_events_api api;
} ki_event_recorder_options;

#define KI_EVENT_RECORDER_OPTIONS(...) KI_SIZED_(ki_event_recorder_options, __VA_ARGS__)

/* Makes a recorder that sends events through the factory's client, within the client's rate limit. When the factory
 * stops, the recorder makes one attempt to send each queued event, for KI_EVENT_STOP_MS at most, and drops the rest.
 * Ownership: the caller frees the recorder with ki_event_recorder_free before the factory. Threads: any. Blocks: until
 * the loop has registered the recorder; with an engine that another thread steps, until the next step.
 * Errors: KI_ERR_INVALID, KI_ERR_STATE (the factory is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_event_recorder_new(ki_factory *factory, const ki_event_recorder_options *options,
                                                     ki_event_recorder **ret_recorder, ki_error *err);

/* Frees the recorder and drops its queued events. NULL is accepted.
 * Threads: not while another thread uses the recorder. Blocks: until the loop has released the recorder. */
KI_API void ki_event_recorder_free(ki_event_recorder *recorder);

/* Records an event about `obj`. `type` is KI_EVENT_NORMAL or KI_EVENT_WARNING. `reason` is one CamelCase word for
 * programs, the formatted message a sentence for people. Bytes that are not UTF-8 become U+FFFD. The event is dropped,
 * and counted, if the queue is full, memory runs out, the type or reason is invalid, or the factory is stopped.
 * Ownership: everything is copied. Threads: any. Blocks: no. */
KI_API void ki_event_recorder_record(ki_event_recorder *recorder, const ki_object *obj, const char *type,
                                     const char *reason, const char *format, ...) KI_PRINTF(5, 6);

/* All parts of an event. */
typedef struct ki_record {
    size_t size;              /* sizeof(ki_record); set by the macro */
    const ki_object *obj;     /* the object that the event is about */
    const ki_object *related; /* events.k8s.io/v1: a second object; NULL: none */
    const char *type;         /* KI_EVENT_NORMAL or KI_EVENT_WARNING */
    const char *reason;       /* one CamelCase word */
    const char *action;       /* events.k8s.io/v1: the action in one word: "Binding"; NULL: the reason */
    const char *message;      /* not a format; NULL: "" */
    const char *annotations;  /* a JSON map of strings; NULL: none. A combined Event has no annotations */
} ki_record;

#define KI_RECORD(...) KI_SIZED_(ki_record, __VA_ARGS__)

/* Records an event with all its parts. Everything else as ki_event_recorder_record. */
KI_API void ki_event_recorder_record_with(ki_event_recorder *recorder, const ki_record *record);

/* Counters since the recorder was made. Each recorded event is in exactly one of the other counters. With
 * events.k8s.io/v1, an event that only raised the count of its series is in no other counter, and requests for series
 * are counted in `sent` and `failed`. */
typedef struct ki_event_recorder_counts {
    uint64_t recorded; /* recorded events */
    uint64_t sent;     /* accepted by the server */
    uint64_t dropped;  /* not queued or not sent: full queue, lack of memory, stopped factory, or invalid event */
    uint64_t filtered; /* core/v1: too many events of one object */
    uint64_t failed;   /* error response, or server not reached in KI_EVENT_TRIES attempts */
    size_t queued;     /* queued now, or being sent */
} ki_event_recorder_counts;

/* Writes the current counters. Threads: any. Blocks: no. */
KI_API void ki_event_recorder_count(const ki_event_recorder *recorder, ki_event_recorder_counts *ret_counts);

KI_END_DECLS

#endif
