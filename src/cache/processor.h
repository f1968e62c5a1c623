/* processor.h: the registrations of one informer. Distributes each change to the listeners that it is for. Has no lock:
 * the caller holds the informer's change_lock unless a comment says otherwise. */
#ifndef KI_CACHE_PROCESSOR_H
#define KI_CACHE_PROCESSOR_H

#include <kinformer/lister.h>

#include "src/cache/change.h"
#include "src/engine/engine.h"

typedef struct ki_processor ki_processor;
typedef struct ki_listener ki_listener;

/* The listeners of one informer and its resync period. */
struct ki_processor {
    const ki_allocator *allocator;
    ki_listener *first;   /* active, in order of registration */
    ki_listener *leaving; /* removed; on_removed not called, or thread not joined yet */
    int64_t resync_ns;    /* the informer's resync period; 0: no resyncs */
    bool started, threaded;
    bool is_notifying_list; /* only listeners with is_notified_of_list are notified */
};

void ki_processor_init(ki_processor *processor, const ki_allocator *allocator, int64_t resync_ns);

/* Appends the listener and sets its resync period. `desired_ns` 0: no resyncs. */
void ki_processor_add(ki_processor *processor, ki_listener *listener, int64_t desired_ns, int64_t now);
/* Moves the listener to `leaving`. Returns false if it is not active. */
bool ki_processor_remove(ki_processor *processor, const ki_listener *listener);
/* Removes the listener from `leaving`, before it is freed. */
void ki_processor_forget(ki_processor *processor, const ki_listener *listener);
/* Returns the largest number of notifications that wait for one listener on the loop. */
size_t ki_processor_waiting_on_loop(const ki_processor *processor);
/* Starts each listener, on a thread of its own or on the loop. After a failure, call it again or stop. */
ki_status ki_processor_start(ki_processor *processor, bool threaded, ki_error *err);

/* Reserves room in each listener for `changes` more notifications of at most `keys` keys. Distributing as many cannot
 * fail afterwards. */
ki_status ki_processor_reserve(ki_processor *processor, size_t changes, size_t keys);
/* Releases unused reserved room, after a step with many keys. */
void ki_processor_trim(ki_processor *processor);
/* Queues a change at each listener that it is for: a change from a resync only at those that were due at the last
 * ki_processor_resync_due, an unchanged object of a list only at those with a resync period. The objects are borrowed.
 * Cannot fail: the caller has reserved room. */
void ki_processor_distribute(ki_processor *processor, const ki_change *change);
/* Until end_list, distributes only to the present listeners: the store already holds the list, so later listeners
 * replay it. */
void ki_processor_begin_list(ki_processor *processor);
void ki_processor_end_list(ki_processor *processor);
/* The first list is complete: queues on_synced behind everything distributed so far. */
void ki_processor_mark_synced(ki_processor *processor);
/* Marks the listeners whose period is over. Returns true if there are any. */
bool ki_processor_resync_due(ki_processor *processor, int64_t now);
/* Starts the next period of each due listener, after the resync is queued. */
void ki_processor_resync_begun(ki_processor *processor, int64_t now);

/* Asks every listener to end. Nothing is added afterwards. */
void ki_processor_stop(ki_processor *processor);

#endif
