/* event_series.c: the open Events; the key is their content except the message. */
#include "controllers/events/event_series.h"

#include "src/base/memory.h"
#include "src/engine/engine.h"

static void drop_entry(void *entry, const ki_allocator *allocator) {
    ki_event_entry *open = entry;
    ki_free(allocator, open->first);
}

void ki_event_series_init(ki_event_series *series, const ki_allocator *allocator, uint64_t seed) {
    *series = (ki_event_series){ .seed = seed };
    ki_event_lru_init(&series->open, allocator, sizeof(ki_event_entry), KI_EVENT_SERIES_MAX, seed);
    series->open.drop = drop_entry;
}

void ki_event_series_free(ki_event_series *series) {
    ki_event_lru_free(&series->open);
}

/* Returns a record's key. Reporting controller and instance are in no key: a recorder has one of each. Unlike in
 * core/v1, the resource version is part of the key. */
static ki_event_key key_of(uint64_t seed, const ki_event_record *record) {
    const ki_event_reference *a = &record->regarding, *b = &record->related;
    const char *const texts[] = { record->type,
                                  record->reason,
                                  record->action,
                                  a->api_version,
                                  a->kind,
                                  a->namespace_name,
                                  a->name,
                                  a->uid,
                                  a->resource_version,
                                  record->has_related ? b->api_version : "",
                                  record->has_related ? b->kind : "",
                                  record->has_related ? b->namespace_name : "",
                                  record->has_related ? b->name : "",
                                  record->has_related ? b->uid : "",
                                  record->has_related ? b->resource_version : "" };
    return ki_event_key_of(seed, texts, sizeof texts / sizeof *texts);
}

ki_event_entry *ki_event_series_note(ki_event_series *series, ki_event_record *record, int64_t now_ns,
                                     int64_t wall_ns) {
    const ki_event_key key = key_of(series->seed, record);
    ki_event_entry *entry = ki_event_lru_get(&series->open, &key);
    if (!entry) {
        entry = ki_event_lru_add(&series->open, &key);
        if (!entry)
            return NULL;
        entry->first = record;
        wall_ns = record->wall_ns;
    }
    if (entry->count < INT32_MAX)
        entry->count++;
    entry->last_ns = now_ns;
    entry->last_wall_ns = wall_ns;
    return entry;
}

static ki_event_entry *newer(const ki_event_entry *entry) {
    return (ki_event_entry *)(void *)entry->node.next;
}

static ki_event_entry *oldest(const ki_event_series *series) {
    return (ki_event_entry *)(void *)series->open.oldest;
}

static bool has_ended(const ki_event_entry *entry, int64_t now_ns) {
    return now_ns - entry->last_ns > KI_SECONDS(KI_EVENT_SERIES_END_SECONDS);
}

void ki_event_series_refresh(ki_event_series *series) {
    series->may_be_due = true;
    for (ki_event_entry *entry = oldest(series); entry; entry = newer(entry))
        if (entry->count > 1 && entry->due == KI_EVENT_NOT_DUE)
            entry->due = KI_EVENT_REFRESH_DUE;
}

void ki_event_series_finish(ki_event_series *series, int64_t now_ns) {
    ki_event_entry *entry, *next;
    series->may_be_due = true;
    for (entry = oldest(series); entry && has_ended(entry, now_ns); entry = next) {
        next = newer(entry);
        if (entry->count > 1)
            entry->due = KI_EVENT_FINISH_DUE;
        else
            ki_event_series_forget(series, entry);
    }
}

ki_event_entry *ki_event_series_take_due(ki_event_series *series, int64_t now_ns, ki_event_due *ret_due) {
    if (!series->may_be_due)
        return NULL;
    for (ki_event_entry *entry = oldest(series); entry; entry = newer(entry)) {
        ki_event_due due = entry->due;
        entry->due = KI_EVENT_NOT_DUE;
        if (due == KI_EVENT_REFRESH_DUE || (due == KI_EVENT_FINISH_DUE && has_ended(entry, now_ns))) {
            *ret_due = due;
            return entry;
        }
    }
    series->may_be_due = false;
    return NULL;
}

void ki_event_series_forget(ki_event_series *series, ki_event_entry *entry) {
    ki_event_lru_remove(&series->open, entry);
}
