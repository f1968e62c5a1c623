/* processor.h: the registrations of one informer. Distributes each change to the listeners that it is for. Has no lock:
 * the caller holds the informer's change_lock unless a comment says otherwise. */
#ifndef KI_CACHE_PROCESSOR_H
#define KI_CACHE_PROCESSOR_H

#include <kinformer/lister.h>

#include "src/cache/listener/changes.h"
#include "src/cache/listener/pending.h"
#include "src/engine/engine.h"

typedef struct ki_processor ki_processor;
typedef struct ki_listener ki_listener;

/* What `changes` of a processor are. */
typedef enum ki_changes_state {
    KI_CHANGES_STAGED,    /* the store's next snapshot has them */
    KI_CHANGES_PUBLISHED, /* the store has them: they go to the listeners */
    KI_CHANGES_DROPPED    /* they are released */
} ki_changes_state;

/* The listeners of one informer and its resync period. */
struct ki_processor {
    const ki_allocator *allocator;
    ki_listener *first; /* active, in order of registration */
    ki_listener **end;  /* the place for the next one */
    /* Removed, in that order; on_removed not called, or thread not joined yet. */
    ki_listener *leaving;
    ki_listener **leaving_end;
    int64_t resync_ns; /* the informer's resync period; 0: no resyncs */
    bool started, threaded;
    bool has_news; /* listeners got something since the last ki_processor_wake. Loop only */
    /* The changes of the item in process, or of a part of a list. Staged while the store's next snapshot is, then
     * published: no listener gets a change before the store has it, and none is lost when memory runs out. */
    ki_changes changes;
    ki_changes_state changes_state;
    uint64_t notified; /* published changes that every listener has: the number of the first in `changes` */
    /* Returns the object of a change as it shall wait for a thread: the packed one, if there is one, else the same; a
     * reference. NULL: changes wait as they are. */
    ki_object *(*pack)(const ki_change *change, void *user);
    void *pack_user;
};

void ki_processor_init(ki_processor *processor, const ki_allocator *allocator, int64_t resync_ns);
void ki_processor_free(ki_processor *processor);

/* Appends the listener and sets its resync period. `desired_ns` 0: no resyncs. It gets the changes that are not
 * published yet: its replay has the others. */
void ki_processor_add(ki_processor *processor, ki_listener *listener, int64_t desired_ns, int64_t now);
/* Moves the listener to `leaving`. Returns false if it is not active. */
bool ki_processor_remove(ki_processor *processor, ki_listener *listener);
/* Removes the listener, which is in `leaving`, before it is freed. */
void ki_processor_forget(ki_processor *processor, ki_listener *listener);
/* Returns the most changes that wait for a listener on the loop: the watch pauses if they are many. What waits for a
 * thread does not delay the watch: a slow one delays nobody else. */
size_t ki_processor_load(const ki_processor *processor);
/* Starts each listener, on a thread of its own or on the loop. After a failure, call it again or stop. */
ki_status ki_processor_start(ki_processor *processor, bool threaded, ki_error *err);

/* Stages a change, unless it is of a resync that no listener is for. KI_ERR_NO_MEMORY changes nothing. */
ki_status ki_processor_stage(ki_processor *processor, const ki_change *change);
/* The store has the staged changes: from now on they go to the listeners. */
void ki_processor_publish(ki_processor *processor);
/* Marks the staged changes to be dropped. */
void ki_processor_drop(ki_processor *processor);
/* Releases at most `*units` dropped changes, and subtracts their number. */
void ki_processor_release_some(ki_processor *processor, size_t *units);
/* Queues the next published change at each listener that it is for: a change from a resync only at those that were due
 * at the last ki_processor_resync_due, an unchanged object of a list only at those with a resync period. At a listener
 * with a thread, behind others, it waits packed. Wakes nobody. Pops the change; the caller releases it.
 * KI_ERR_NOT_FOUND: none is left. KI_ERR_NO_MEMORY: the next call continues with the same change. */
ki_status ki_processor_notify_next(ki_processor *processor, ki_change *ret_change);
/* The first list, or a changed set of namespaces, is complete: queues on_synced or on_namespaces_synced behind
 * everything distributed so far. Wakes nobody. */
void ki_processor_mark(ki_processor *processor, ki_mark mark);
/* Wakes the listeners that got something since the last call: once for many changes, since to wake a thread costs more
 * than a change does. */
void ki_processor_wake(ki_processor *processor);
/* Marks the listeners whose period is over. Returns true if there are any. */
bool ki_processor_resync_due(ki_processor *processor, int64_t now);
/* Starts the next period of each due listener, after the resync is queued. */
void ki_processor_resync_begun(ki_processor *processor, int64_t now);

/* Asks every listener to end. Nothing is added afterwards. */
void ki_processor_stop(ki_processor *processor);

#endif
