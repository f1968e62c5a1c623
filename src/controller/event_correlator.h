/* event_correlator.h: what becomes of a record before it is sent as a core/v1 Event: counted with equal ones, combined with similar ones, or
 * filtered. The rules and their numbers are those of client-go's tools/record. Loop only; time is an argument. */
#ifndef KI_CONTROLLER_EVENT_CORRELATOR_H
#define KI_CONTROLLER_EVENT_CORRELATOR_H

#include "src/controller/event_lru.h"
#include "src/controller/event_record.h"

enum {
    KI_EVENT_CACHE_MAX = 4096,         /* entries of each of the three caches */
    KI_EVENT_SIMILAR_MAX = 10,         /* different messages; from here on they are combined */
    KI_EVENT_SIMILAR_SECONDS = 600,    /* after so long without a similar one, all begins anew */
    KI_EVENT_SPAM_BURST = 25,          /* events of one type about one object */
    KI_EVENT_SPAM_REFILL_SECONDS = 300 /* until one more may pass */
};

typedef struct ki_event_correlator {
    uint64_t seed;
    ki_event_lru similar; /* messages by all but the message */
    ki_event_lru sent;    /* counts by all with the message, or by all but it where combined */
    ki_event_lru spam;    /* buckets by object and type */
} ki_event_correlator;

/* The Event that a record comes to. */
typedef struct ki_event_outcome {
    bool is_filtered; /* too many about this object: not sent */
    bool is_combined; /* the message is prefixed, by KI_EVENT_COMBINED_PREFIX */
    int32_t count;    /* above 1: the Event exists, and its count rises */
    int64_t first_ns; /* wall clock */
    int64_t last_ns;
    int64_t name_ns; /* makes its name, see ki_event_name */
} ki_event_outcome;

#define KI_EVENT_COMBINED_PREFIX "(combined from similar events): "

void ki_event_correlator_init(ki_event_correlator *correlator, const ki_allocator *allocator, uint64_t seed);
void ki_event_correlator_free(ki_event_correlator *correlator);
/* `now_ns` is the engine's time, `wall_ns` the wall clock. Cannot fail: what there is no memory to remember is sent as new. */
ki_event_outcome ki_event_correlate(ki_event_correlator *correlator, const ki_event_record *record, int64_t now_ns,
                                    int64_t wall_ns);

#endif
