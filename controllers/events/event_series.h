/* event_series.h: the open Events of events.k8s.io/v1 and their counts. The first record creates an Event, the second
 * makes it a series, later ones only raise the count. An open series is written again at intervals, so that the server
 * keeps it. A series that has ended is written once more and forgotten. Rules and times are those of client-go's
 * tools/events. Loop only; time is an argument. */
#ifndef KI_EVENTS_EVENT_SERIES_H
#define KI_EVENTS_EVENT_SERIES_H

#include "controllers/events/event_lru.h"
#include "controllers/events/event_record.h"

enum {
    KI_EVENT_SERIES_MAX = 4096,             /* open Events; above, the least recently recorded one is forgotten */
    KI_EVENT_SERIES_REFRESH_SECONDS = 1800, /* between two writes of an open series */
    KI_EVENT_SERIES_END_SECONDS = 360       /* a series has ended after this long without a record */
};

typedef enum ki_event_due {
    KI_EVENT_NOT_DUE,
    KI_EVENT_REFRESH_DUE,
    KI_EVENT_FINISH_DUE
} ki_event_due;

/* An open Event. */
typedef struct ki_event_entry {
    ki_event_lru_node node;
    ki_event_record *first; /* owned: the record that created the Event */
    int32_t count;          /* records; 1: no series yet */
    int64_t last_wall_ns;
    int64_t last_ns; /* engine's time of the last record */
    ki_event_due due;
} ki_event_entry;

typedef struct ki_event_series {
    ki_event_lru open;
    uint64_t seed;
    bool may_be_due; /* false: no entry is due */
} ki_event_series;

void ki_event_series_init(ki_event_series *series, const ki_allocator *allocator, uint64_t seed);
void ki_event_series_free(ki_event_series *series);

/* Counts a record and returns its entry; NULL on lack of memory. A new entry takes ownership of the record; otherwise
 * the caller keeps it. */
ki_event_entry *ki_event_series_note(ki_event_series *series, ki_event_record *record, int64_t now_ns, int64_t wall_ns);

/* Marks every open series as due for a refresh. */
void ki_event_series_refresh(ki_event_series *series);
/* Forgets single Events that have ended, and marks series that have ended as due. */
void ki_event_series_finish(ki_event_series *series, int64_t now_ns);
/* Returns an entry that is due to be written, and clears its mark; NULL if none is due. */
ki_event_entry *ki_event_series_take_due(ki_event_series *series, int64_t now_ns, ki_event_due *ret_due);
/* Removes an entry and frees it with its record. */
void ki_event_series_forget(ki_event_series *series, ki_event_entry *entry);

#endif
