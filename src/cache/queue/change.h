/* change.h: one change of one object on its way through an informer: from the queue over the store to the handlers. */
#ifndef KI_CACHE_CHANGE_H
#define KI_CACHE_CHANGE_H

#include <kinformer/informer.h>

#include <stdbool.h>

/* In the queue (client-go's Delta) a change has no `old`. A listed object and one of a resync are updates there; the
 * process step makes an add of it if the store has no such object, and fills `old` in. Each holder says whether it owns
 * references to the objects. */
typedef struct ki_change {
    ki_object *obj; /* the new state; of a deletion the last known state */
    ki_object *old; /* the state before; NULL for an add, and in the queue */
    ki_event_type type;
    bool is_listed;           /* from a list (client-go's Replaced) */
    bool is_resync;           /* from a resync (client-go's Sync), or a listed object that has not changed */
    bool is_in_initial_list;  /* part of the first list */
    bool final_state_unknown; /* a tombstone (client-go's DeletedFinalStateUnknown): the deletion was not seen */
} ki_change;

#endif
