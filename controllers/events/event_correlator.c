/* event_correlator.c: three steps in client-go's order: combines similar records, counts equal ones, filters excess
 * ones. A filtered record is counted too: the next one that passes has the whole count. */
#include "controllers/events/event_correlator.h"

#include "src/client/limiter.h"
#include "src/engine/engine.h"

typedef struct similar_entry {
    ki_event_lru_node node;
    int64_t last_ns; /* engine's time of the last record */
    size_t count;    /* of `messages` */
    ki_event_key messages[KI_EVENT_SIMILAR_MAX - 1];
} similar_entry;

typedef struct sent_entry {
    ki_event_lru_node node;
    int64_t first_ns; /* wall clock */
    int64_t name_ns;
    int32_t count;
} sent_entry;

typedef struct spam_entry {
    ki_event_lru_node node;
    ki_limiter bucket;
} spam_entry;

void ki_event_correlator_init(ki_event_correlator *correlator, const ki_allocator *allocator, uint64_t seed) {
    correlator->seed = seed;
    ki_event_lru_init(&correlator->similar, allocator, sizeof(similar_entry), KI_EVENT_CACHE_MAX, seed);
    ki_event_lru_init(&correlator->sent, allocator, sizeof(sent_entry), KI_EVENT_CACHE_MAX, seed);
    ki_event_lru_init(&correlator->spam, allocator, sizeof(spam_entry), KI_EVENT_CACHE_MAX, seed);
}

void ki_event_correlator_free(ki_event_correlator *correlator) {
    ki_event_lru_free(&correlator->similar);
    ki_event_lru_free(&correlator->sent);
    ki_event_lru_free(&correlator->spam);
}

/* Reporter and resource version are in no key: a recorder has one reporter, and the version changes while the object
 * stays the same. */
#define OBJECT_AND_TYPE(record) \
    (record)->regarding.kind, (record)->regarding.namespace_name, (record)->regarding.name, (record)->regarding.uid, \
        (record)->regarding.api_version, (record)->type

#define KEY_OF(correlator, ...) \
    ki_event_key_of((correlator)->seed, (const char *const[]){ __VA_ARGS__ }, \
                    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* Returns true if too many similar records had other messages. Otherwise remembers the record's message. */
static bool is_to_combine(ki_event_correlator *correlator, const ki_event_record *record, const ki_event_key *key,
                          int64_t now_ns) {
    similar_entry *entry = ki_event_lru_get(&correlator->similar, key);
    if (!entry)
        entry = ki_event_lru_add(&correlator->similar, key);
    if (!entry)
        return false;
    if (now_ns - entry->last_ns > KI_SECONDS(KI_EVENT_SIMILAR_SECONDS))
        entry->count = 0;
    entry->last_ns = now_ns;
    const ki_event_key message = KEY_OF(correlator, record->message);
    for (size_t i = 0; i < entry->count; i++)
        if (ki_event_key_equal(&entry->messages[i], &message))
            return false;
    if (entry->count == KI_EVENT_SIMILAR_MAX - 1)
        return true;
    entry->messages[entry->count++] = message;
    return false;
}

/* Counts the record together with earlier records of the same Event. */
static void count(ki_event_correlator *correlator, const ki_event_key *key, ki_event_outcome *outcome) {
    sent_entry *entry = ki_event_lru_get(&correlator->sent, key);
    if (!entry)
        entry = ki_event_lru_add(&correlator->sent, key);
    if (!entry)
        return;
    if (entry->count == 0) {
        entry->first_ns = outcome->first_ns;
        entry->name_ns = outcome->name_ns;
    }
    if (entry->count < INT32_MAX)
        entry->count++;
    outcome->count = entry->count;
    outcome->first_ns = entry->first_ns;
    outcome->name_ns = entry->name_ns;
}

static bool is_spam(ki_event_correlator *correlator, const ki_event_record *record, int64_t now_ns) {
    const int64_t cost = KI_SECONDS(KI_EVENT_SPAM_REFILL_SECONDS), full = cost * KI_EVENT_SPAM_BURST;
    const ki_event_key key = KEY_OF(correlator, OBJECT_AND_TYPE(record));
    spam_entry *entry = ki_event_lru_get(&correlator->spam, &key);
    if (!entry) {
        entry = ki_event_lru_add(&correlator->spam, &key);
        if (!entry)
            return false;
        entry->bucket = (ki_limiter){ .cost_ns = cost, .full_ns = full, .credit_ns = full, .at_ns = now_ns };
    }
    return !ki_limiter_take(&entry->bucket, now_ns);
}

ki_event_outcome ki_event_correlate(ki_event_correlator *correlator, const ki_event_record *record, int64_t now_ns,
                                    int64_t wall_ns) {
    const ki_event_key similar = KEY_OF(correlator, OBJECT_AND_TYPE(record), record->reason);
    const ki_event_key equal = KEY_OF(correlator, OBJECT_AND_TYPE(record), record->reason, record->message);
    ki_event_outcome outcome = {
        .count = 1, .first_ns = record->wall_ns, .last_ns = record->wall_ns, .name_ns = record->name_ns
    };
    outcome.is_combined = is_to_combine(correlator, record, &similar, now_ns);
    if (outcome.is_combined)
        outcome.first_ns = outcome.last_ns = wall_ns;
    count(correlator, outcome.is_combined ? &similar : &equal, &outcome);
    outcome.is_filtered = is_spam(correlator, record, now_ns);
    return outcome;
}
