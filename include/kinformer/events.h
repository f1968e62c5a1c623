/* events.h: records what a program did to an object, as Kubernetes Events: what `kubectl describe` and `kubectl events` show.
 *
 *     ki_event_recorder_record(recorder, foo, KI_EVENT_NORMAL, "Synced", "Foo %s synced", ki_object_key(foo));
 *
 * Recording never waits: the event is queued, and sent from the loop once the factory has started. The recorder sends one event after the
 * other, in the order of recording.
 *
 * core/v1 (as client-go's tools/record): equal events are one Event whose count rises. The tenth and later different messages of one reason
 * within 10 minutes are one Event "(combined from similar events): MESSAGE". About one object, 25 events of a type are sent at once, and one
 * more every 5 minutes; the rest is filtered, but counted in the next one that is sent.
 *
 * events.k8s.io/v1 (as client-go's tools/events): equal events, whatever their messages, are one Event with a series: the second begins the
 * series, and later ones are counted. The recorder sends the count every 30 minutes, and once more when none came for 6 minutes.
 *
 * An error response of the server is final. Where the server is not reached, the recorder tries again every 10 seconds. */
#ifndef KINFORMER_EVENTS_H
#define KINFORMER_EVENTS_H

#include <kinformer/factory.h>

KI_BEGIN_DECLS

typedef struct ki_event_recorder ki_event_recorder;

#define KI_EVENT_NORMAL "Normal"
#define KI_EVENT_WARNING "Warning"

enum {
    KI_EVENT_QUEUE = 1000,           /* events that wait to be sent; more are dropped and counted */
    KI_EVENT_TRIES = 12,             /* tries of one event, 10 s apart */
    KI_EVENT_STOP_MS = 5000,         /* for what is queued when the factory stops */
    KI_EVENT_MESSAGE_MAX = 1024,     /* bytes of a message; a longer one is cut at a character */
    KI_EVENT_REASON_MAX = 128,       /* bytes of a reason or action; a longer one is cut at a character */
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
    const char *component; /* who reports: "sample-controller"; needed; copied */
    const char *host;      /* core/v1: source.host; NULL: none */
    const char *instance;  /* events.k8s.io/v1: reportingInstance; NULL: component and host name */
    ki_events_api api;
} ki_event_recorder_options;

#define KI_EVENT_RECORDER_OPTIONS(...) \
    ((ki_event_recorder_options){ .size = sizeof(ki_event_recorder_options), __VA_ARGS__ })

/* Makes a recorder that writes through the factory's client, and so within its limit of requests. When the factory stops, the recorder tries
 * once to send each queued event, for KI_EVENT_STOP_MS at most, and drops the rest.
 * Ownership: the caller's, freed with ki_event_recorder_free before the factory. Threads: any. Blocks: until the loop has taken note; with an
 * engine that the host steps on another thread, until the next step.
 * Errors: KI_ERR_INVALID, KI_ERR_STATE (the factory is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_event_recorder_new(ki_factory *factory, const ki_event_recorder_options *options,
                                                     ki_event_recorder **ret_recorder, ki_error *err);

/* Frees the recorder, and drops what is still queued. NULL is accepted.
 * Threads: no other may use the recorder meanwhile. Blocks: until the loop has let go of it. */
KI_API void ki_event_recorder_free(ki_event_recorder *recorder);

/* Records an event about `obj`. `type` is KI_EVENT_NORMAL or KI_EVENT_WARNING; `reason` is one word in CamelCase for programs; the
 * message is for a person. An event that cannot be queued (no memory, KI_EVENT_QUEUE events wait, another type, no reason, the factory has
 * stopped) is dropped and counted. Bytes that are not UTF-8 become U+FFFD.
 * Ownership: everything is copied. Threads: any. Blocks: no. */
KI_API void ki_event_recorder_record(ki_event_recorder *recorder, const ki_object *obj, const char *type,
                                     const char *reason, const char *format, ...) KI_PRINTF(5, 6);

typedef struct ki_record {
    size_t size;              /* sizeof(ki_record); set by the macro */
    const ki_object *obj;     /* what it is about */
    const ki_object *related; /* events.k8s.io/v1: a second object that takes part; NULL: none */
    const char *type;
    const char *reason;
    const char *action;      /* events.k8s.io/v1: what was done, in one word: "Binding"; NULL: the reason */
    const char *message;     /* as it is, no format; NULL: "" */
    const char *annotations; /* a JSON map of strings; NULL: none. A combined Event has none */
} ki_record;

#define KI_RECORD(...) ((ki_record){ .size = sizeof(ki_record), __VA_ARGS__ })

/* Records an event with everything that an Event can say; else as ki_event_recorder_record. */
KI_API void ki_event_recorder_record_with(ki_event_recorder *recorder, const ki_record *record);

/* What became of the events so far: each that was recorded is in one of the other counters. events.k8s.io/v1: one that was only counted in its
 * series is in none; the writes of series are in `sent` and `failed`, too. */
typedef struct ki_event_recorder_counts {
    uint64_t recorded; /* calls of record */
    uint64_t sent;     /* the server accepted */
    uint64_t dropped;  /* the queue was full, no memory, the factory stopped, or what was recorded was not valid */
    uint64_t filtered; /* too many about one object */
    uint64_t failed;   /* the server answered with an error, or was not reached in KI_EVENT_TRIES tries */
    size_t queued;     /* wait now, or are being sent */
} ki_event_recorder_counts;

/* Returns the counters as they are now. Threads: any. Blocks: no. */
KI_API void ki_event_recorder_count(const ki_event_recorder *recorder, ki_event_recorder_counts *ret_counts);

KI_END_DECLS

#endif
