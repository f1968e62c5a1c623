/* pending.h: the changes that wait for one listener, in order. Under the listener's lock. */
#ifndef KI_CACHE_PENDING_H
#define KI_CACHE_PENDING_H

#include "src/cache/listener/changes.h"

/* Places among the changes at which a function of the handler is called. */
typedef enum ki_mark {
    KI_MARK_SYNCED,     /* on_synced */
    KI_MARK_NAMESPACES, /* on_namespaces_synced */
    KI_MARKS
} ki_mark;

typedef struct ki_pending {
    ki_changes changes;
    size_t bytes;                 /* memory of their new states */
    size_t before_mark[KI_MARKS]; /* changes from before ki_pending_set_mark */
} ki_pending;

void ki_pending_init(ki_pending *pending, const ki_allocator *allocator);
/* Drops everything. */
void ki_pending_clear(ki_pending *pending);
/* Adds a change, with references to its objects. Errors: KI_ERR_NO_MEMORY, after which nothing has changed. */
ki_status ki_pending_push(ki_pending *pending, const ki_change *change);
/* Pops the first change. The caller releases it. Returns false if there is none. */
bool ki_pending_pop(ki_pending *pending, ki_change *ret_change);
/* Sets a mark, which is reached once everything pushed before has been popped. Moves one that is not reached. */
void ki_pending_set_mark(ki_pending *pending, ki_mark mark);
bool ki_pending_mark_is_reached(const ki_pending *pending, ki_mark mark);

#endif
