/* pending.h: the changes that wait for one listener: all of them in order, or the latest for each key. Under the
 * listener's lock. */
#ifndef KI_CACHE_PENDING_H
#define KI_CACHE_PENDING_H

#include <kinformer/informer.h>

#include "src/cache/listener/changes.h"
#include "src/cache/listener/pending_table.h"

/* Places among the changes at which a function of the handler is called. */
typedef enum ki_mark {
    KI_MARK_SYNCED,     /* on_synced */
    KI_MARK_NAMESPACES, /* on_namespaces_synced */
    KI_MARKS
} ki_mark;

typedef struct ki_pending {
    const ki_allocator *allocator;
    ki_delivery delivery;
    size_t count;     /* waiting changes */
    size_t bytes;     /* memory of their new states */
    size_t new_bytes; /* KI_DELIVER_ALL: of them, those that came after the first list, and the changes themselves */
    size_t before_mark[KI_MARKS]; /* KI_DELIVER_ALL: those from before ki_pending_set_mark */
    ki_changes all;               /* KI_DELIVER_ALL */
    /* KI_DELIVER_LATEST: entries by key, in order of their first change */
    ki_pending_table by_key;
    ki_pending_entry *marked[KI_MARKS]; /* the last from before ki_pending_set_mark that still waits; NULL: none */
    ki_pending_entry *first, *last, *spare;
} ki_pending;

void ki_pending_init(ki_pending *pending, const ki_allocator *allocator, ki_delivery delivery, uint64_t seed);
/* Drops everything. */
void ki_pending_clear(ki_pending *pending);

/* Adds a change, with references to its objects. KI_ERR_NO_MEMORY changes nothing. */
ki_status ki_pending_push(ki_pending *pending, const ki_change *change);
/* Pops the next change. The caller releases it. Returns false if none waits. */
bool ki_pending_pop(ki_pending *pending, ki_change *ret_change);

/* Sets a mark, which is reached once everything pushed before has been popped. Moves one that is not reached. */
void ki_pending_set_mark(ki_pending *pending, ki_mark mark);
bool ki_pending_mark_is_reached(const ki_pending *pending, ki_mark mark);

#endif
