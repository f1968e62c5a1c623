/* delta_apply.h: applies one delta to one object and notifies the listeners. For the process step. Caller holds
 * change_lock. */
#ifndef KI_CACHE_DELTA_APPLY_H
#define KI_CACHE_DELTA_APPLY_H

#include "src/cache/processor.h"
#include "src/cache/queue.h"
#include "src/cache/unreadable.h"

/* Notifies the listeners of changes, or only counts the notifications. */
typedef struct ki_notifier {
    ki_processor *processor;   /* NULL: only count */
    ki_unreadable *unreadable; /* the informer's */
    size_t count;              /* notifications */
    size_t changes;            /* changes of the store */
} ki_notifier;

/* Applies `delta` to `known` (NULL: no known object) and notifies. Returns the object to store, borrowed from `delta`
 * or `known`; NULL: the object is deleted. */
ki_object *ki_delta_apply(const ki_change *delta, ki_object *known, ki_notifier *to);
/* Notifies of a deletion; `obj` is the last state, `known` the state that the listeners know. */
void ki_notify_deleted(ki_notifier *to, ki_object *obj, ki_object *known, bool final_state_unknown);
/* Notifies of an update. A resync notifies only the listeners that are due. An unchanged object of a list notifies only
 * the listeners with a resync period. */
void ki_notify_updated(ki_notifier *to, const ki_change *delta, ki_object *known);

#endif
