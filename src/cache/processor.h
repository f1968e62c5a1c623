/* processor.h: the registrations of one informer: takes each change from the process loop and gives it to every listener that wants
 * it. No lock of its own: the caller holds the informer's change lock, unless it says otherwise. */
#ifndef KI_CACHE_PROCESSOR_H
#define KI_CACHE_PROCESSOR_H

#include <kinformer/informer.h>
#include <kinformer/lister.h>

#include "src/engine/engine.h"

typedef struct ki_processor ki_processor;
typedef struct ki_listener ki_listener;
typedef enum ki_notification_type {
    KI_NOTIFY_ADD,
    KI_NOTIFY_UPDATE,
    KI_NOTIFY_DELETE
} ki_notification_type;

/* Which listeners a change is for. */
typedef enum ki_audience {
    KI_AUDIENCE_ALL,
    KI_AUDIENCE_RESYNCING, /* those that have a resync period */
    KI_AUDIENCE_DUE        /* those whose period was over at the last ki_processor_resync_due */
} ki_audience;

/* What a listener is told; objects borrowed during distribute. */
typedef struct ki_notification {
    ki_notification_type type;
    ki_object *obj;
    ki_object *old; /* what the listener was told before; not with an add */
    bool is_in_initial_list, is_resync, final_state_unknown;
} ki_notification;

struct ki_processor {
    const ki_allocator *allocator;
    ki_listener *first;   /* hear of changes, in order of registration */
    ki_listener *leaving; /* removed; on_removed not called yet, or its thread not joined */
    int64_t resync_ns;    /* the informer's period: how often it looks; 0: none */
    bool started, threaded;
    bool is_telling_list; /* only the listeners that were there when it began are told */
};

/* Two states of one object, as far as their uids tell; else one was deleted and the other made under its name. */
bool ki_is_same_object(const ki_object *a, const ki_object *b);
/* One state of one object: the same version and the same content. */
bool ki_is_same_state(const ki_object *a, const ki_object *b);

void ki_processor_init(ki_processor *processor, const ki_allocator *allocator, int64_t resync_ns);

/* Puts it behind the others, with its resync period settled; `desired_ns` 0: none. */
void ki_processor_add(ki_processor *processor, ki_listener *listener, int64_t desired_ns, int64_t now);
/* From the listeners to those that leave. False where it is not one of them. */
bool ki_processor_remove(ki_processor *processor, const ki_listener *listener);
/* Out of those that leave: it is about to be freed. */
void ki_processor_forget(ki_processor *processor, const ki_listener *listener);
/* The most that waits for a listener that is called on the loop. */
size_t ki_processor_waiting_on_loop(const ki_processor *processor);
/* Gives each listener its thread or its turns. All or none. */
ki_status ki_processor_start(ki_processor *processor, bool threaded, ki_error *err);

/* Room for `changes` more notifications of at most `keys` keys in each listener, so that as many distributes cannot fail. */
ki_status ki_processor_reserve(ki_processor *processor, size_t changes, size_t keys);
/* Gives back room that was reserved and not used: after a step of many keys. */
void ki_processor_trim(ki_processor *processor);
void ki_processor_distribute(ki_processor *processor, const ki_notification *notification, ki_audience audience);
/* What is distributed from now until end_list is of a list that the store has already: listeners that come meanwhile find it there. */
void ki_processor_begin_list(ki_processor *processor);
void ki_processor_end_list(ki_processor *processor);
/* The initial population is complete: on_synced comes after what was distributed up to now. */
void ki_processor_mark_synced(ki_processor *processor);
/* Is some listener's period over? Notes which. */
bool ki_processor_resync_due(ki_processor *processor, int64_t now);
/* What is due is queued: their next periods begin. */
void ki_processor_resync_begun(ki_processor *processor, int64_t now);

/* Tells every listener to end; nothing is added any more. */
void ki_processor_stop(ki_processor *processor);

#endif
