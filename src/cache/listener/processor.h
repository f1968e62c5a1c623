/* processor.h: the registrations of one informer. Distributes each change to the listeners that it is for. Has no lock:
 * the caller holds the informer's change_lock unless a comment says otherwise. */
#ifndef KI_CACHE_PROCESSOR_H
#define KI_CACHE_PROCESSOR_H

#include <kinformer/lister.h>

#include "src/cache/listener/change_log.h"

typedef struct ki_processor ki_processor;
typedef struct ki_listener ki_listener;

/* A place in the log at which a function of each handler is called. */
typedef enum ki_mark {
    KI_MARK_SYNCED,    /* on_synced: the first list is complete */
    KI_MARK_NAMESPACES /* on_namespaces_synced: a changed set of namespaces is complete */
} ki_mark;

/* The listeners of one informer and its resync period. */
struct ki_processor {
    ki_listener *first; /* active, in order of registration */
    /* Removed, in that order; on_removed not called, or thread not joined yet. */
    ki_listener *leaving;
    int64_t resync_ns; /* the informer's resync period; 0: no resyncs */
    bool started, threaded;
    bool has_news; /* listeners got something since the last ki_processor_wake. Loop only */
    /* The changes of the item in process, or of a part of a list, are staged while the store's next snapshot is, then
     * published: no listener gets a change before the store has it. */
    ki_change_log log;
    /* Read by any thread. The marks are set at the end of what is published. */
    _Atomic uint64_t synced_at; /* UINT64_MAX: not yet */
    _Atomic uint64_t namespaces_at;
    _Atomic unsigned namespaces_count; /* how often the mark was set; after `namespaces_at` */
};

/* Errors: KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
ki_status ki_processor_init(ki_processor *processor, ki_engine *engine, int64_t resync_ns, ki_error *err);
void ki_processor_free(ki_processor *processor);

/* Appends the listener and sets its resync period. `desired_ns` 0: no resyncs. It gets the changes that are not
 * published yet: its replay has the others. */
void ki_processor_add(ki_processor *processor, ki_listener *listener, int64_t desired_ns, int64_t now);
/* Moves the listener to `leaving`. Returns false if it is not active. */
bool ki_processor_remove(ki_processor *processor, ki_listener *listener);
/* Removes the listener, which is in `leaving`, before it is freed. */
void ki_processor_forget(ki_processor *processor, ki_listener *listener);
/* Returns the most changes that wait for a listener on the loop: the watch pauses if they are many. Changes of resyncs
 * do not count: the cache has their states already. What waits for a thread does not delay the watch: a slow one
 * delays nobody else. */
size_t ki_processor_load(ki_processor *processor);
/* Starts each listener, on a thread of its own or on the loop. After a failure, call it again or stop. */
ki_status ki_processor_start(ki_processor *processor, bool threaded, ki_error *err);

/* Stages a change, unless it is of a resync that no listener is for. KI_ERR_NO_MEMORY changes nothing. */
ki_status ki_processor_stage(ki_processor *processor, const ki_change *change);
/* The store has the staged changes: the listeners can take them. Wakes nobody. */
void ki_processor_publish(ki_processor *processor);
/* Drops the staged changes. */
void ki_processor_drop(ki_processor *processor);
/* Returns true if changes wait in the log, for any listener, and a listener has a thread: the next change is packed. */
bool ki_processor_is_behind(const ki_processor *processor);
/* The first list, or a changed set of namespaces, is complete: on_synced or on_namespaces_synced is called behind
 * everything published so far. Wakes nobody. */
void ki_processor_mark(ki_processor *processor, ki_mark mark);
/* Wakes the listeners: once for many changes, since to wake a thread costs more than a change does. */
void ki_processor_wake(ki_processor *processor);
/* Determines which listeners need a resync now (client-go's shouldResync): each one whose period is over, and which has
 * taken the last resync. Returns false if none does. Called when every earlier resync has been published. */
bool ki_processor_resync_due(ki_processor *processor, int64_t now);
/* Starts the next period of each of these listeners. Called when the resync is queued. */
void ki_processor_resync_begun(ki_processor *processor, int64_t now);

/* Asks every listener to end. Nothing is added afterwards. */
void ki_processor_stop(ki_processor *processor);

#endif
