/* event_correlator.h: decides how a record is sent as a core/v1 Event: counted with equal records, combined with
 * similar ones, or filtered. Rules and numbers are those of client-go's tools/record. Loop only; time is an
 * argument. */
#ifndef KI_EVENTS_EVENT_CORRELATOR_H
#define KI_EVENTS_EVENT_CORRELATOR_H

#include "controllers/events/event_lru.h"
#include "controllers/events/event_record.h"

enum {
    KI_EVENT_CACHE_MAX = 4096,         /* entries of each of the three caches */
    KI_EVENT_SIMILAR_MAX = 10,         /* from this many different messages on, records are combined */
    KI_EVENT_SIMILAR_SECONDS = 600,    /* without a similar record for this long, the messages are forgotten */
    KI_EVENT_SPAM_BURST = 25,          /* events of one type about one object at once */
    KI_EVENT_SPAM_REFILL_SECONDS = 300 /* until one more event passes */
};

typedef struct ki_event_correlator {
    uint64_t seed;
    ki_event_lru similar; /* messages; key: everything except the message */
    ki_event_lru sent;    /* counts; key: everything, for combined records without the message */
    ki_event_lru spam;    /* token buckets; key: object and type */
} ki_event_correlator;

/* How a record is sent. */
typedef struct ki_event_outcome {
    bool is_filtered; /* not sent: too many events about the object */
    bool is_combined; /* the message has the prefix KI_EVENT_COMBINED_PREFIX */
    int32_t count;    /* above 1: the Event exists; its count is patched */
    int64_t first_ns; /* wall clock */
    int64_t last_ns;
    int64_t name_ns; /* the time in the Event's name, see ki_event_name */
} ki_event_outcome;

#define KI_EVENT_COMBINED_PREFIX "(combined from similar events): "

void ki_event_correlator_init(ki_event_correlator *correlator, const ki_allocator *allocator, uint64_t seed);
void ki_event_correlator_free(ki_event_correlator *correlator);
/* Decides how a record is sent. `now_ns` is the engine's time, `wall_ns` the wall clock. Cannot fail: a record that
 * cannot be remembered for lack of memory is sent as new. */
ki_event_outcome ki_event_correlate(ki_event_correlator *correlator, const ki_event_record *record, int64_t now_ns,
                                    int64_t wall_ns);

#endif
