/* events.h: records what a program did to an object, as Kubernetes Events: what `kubectl describe` and `kubectl events` show.
 *
 *     ki_event_recorder_record(recorder, foo, KI_EVENT_NORMAL, "Synced", "Foo %s synced", ki_object_key(foo));
 *
 * Recording never waits: the event is queued and sent from the loop. Equal and similar events are counted in one Event instead of being
 * sent again (client-go's tools/record: aggregation and spam filter; with KI_EVENTS_V1 its tools/events: series). */
#ifndef KINFORMER_EVENTS_H
#define KINFORMER_EVENTS_H

#include <kinformer/factory.h>

KI_BEGIN_DECLS

typedef struct ki_event_recorder ki_event_recorder;

#define KI_EVENT_NORMAL "Normal"
#define KI_EVENT_WARNING "Warning"

enum {
    KI_EVENT_QUEUE = 1000,       /* events that wait to be sent; more are dropped and counted */
    KI_EVENT_TRIES = 12,         /* tries of one event, 10 s apart */
    KI_EVENT_MESSAGE_MAX = 1024, /* bytes of a message; a longer one is cut at a character */
    KI_EVENT_REASON_MAX = 128    /* bytes of a reason */
};

typedef enum ki_events_api {
    KI_EVENTS_CORE_V1 = 0, /* v1 Events, as client-go's tools/record writes them */
    KI_EVENTS_V1 = 1       /* events.k8s.io/v1, as client-go's tools/events writes them */
} ki_events_api;

typedef struct ki_event_recorder_options {
    size_t size;           /* sizeof(ki_event_recorder_options); set by the macro */
    const char *component; /* who reports: "sample-controller"; needed; copied */
    const char *host;      /* core/v1: source.host; NULL: none */
    const char *instance;  /* events.k8s.io: reportingInstance; NULL: component and host name */
    ki_events_api api;
} ki_event_recorder_options;

#define KI_EVENT_RECORDER_OPTIONS(...) \
    ((ki_event_recorder_options){ .size = sizeof(ki_event_recorder_options), __VA_ARGS__ })

/* Makes a recorder that writes through the factory's client. What is queued when the factory stops is sent once more, then dropped.
 * Ownership: the caller's, freed with ki_event_recorder_free before the factory. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_STATE (the factory is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_event_recorder_new(ki_factory *factory, const ki_event_recorder_options *options,
                                                     ki_event_recorder **ret_recorder, ki_error *err);

/* Frees it, and drops what is still queued. NULL is accepted. Threads: no other may use it meanwhile. Blocks: until the loop has let go of it. */
KI_API void ki_event_recorder_free(ki_event_recorder *recorder);

/* Records an event about `obj`. `type` is KI_EVENT_NORMAL or KI_EVENT_WARNING; `reason` is one word in CamelCase for programs; the
 * message is for a person. An event that cannot be queued (no memory, KI_EVENT_QUEUE events wait, another type, no reason) is dropped and counted.
 * Threads: any. Blocks: no. */
KI_API void ki_event_recorder_record(ki_event_recorder *recorder, const ki_object *obj, const char *type,
                                     const char *reason, const char *format, ...) KI_PRINTF(5, 6);

typedef struct ki_record {
    size_t size;              /* sizeof(ki_record); set by the macro */
    const ki_object *obj;     /* what it is about */
    const ki_object *related; /* a second object that takes part; NULL: none */
    const char *type;
    const char *reason;
    const char *action;      /* events.k8s.io: what was done, in one word: "Binding"; NULL: the reason */
    const char *message;     /* as it is, no format */
    const char *annotations; /* a JSON map; NULL: none */
} ki_record;

#define KI_RECORD(...) ((ki_record){ .size = sizeof(ki_record), __VA_ARGS__ })

/* The same with everything that an Event can say. */
KI_API void ki_event_recorder_record_with(ki_event_recorder *recorder, const ki_record *record);

/* What became of the events so far. Threads: any. Blocks: no. */
typedef struct ki_event_recorder_counts {
    uint64_t recorded; /* calls of record */
    uint64_t sent;     /* requests that the server accepted */
    uint64_t dropped;  /* the queue was full, no memory, or what was recorded was not valid */
    uint64_t filtered; /* the spam filter: too many about one object */
    uint64_t failed;   /* the server said no, or KI_EVENT_TRIES tries failed */
    size_t queued;     /* wait now */
} ki_event_recorder_counts;
KI_API void ki_event_recorder_count(const ki_event_recorder *recorder, ki_event_recorder_counts *ret_counts);

KI_END_DECLS

#endif
