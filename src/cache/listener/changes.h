/* changes.h: changes in the order of their arrival, in a chain of blocks: a long chain is never copied, and an empty
 * one keeps a single block. One thread, or under the owner's lock. */
#ifndef KI_CACHE_CHANGES_H
#define KI_CACHE_CHANGES_H

#include <kinformer/allocator.h>

#include <kinformer/parts/queue.h>

typedef struct ki_changes_block ki_changes_block;

typedef struct ki_changes {
    const ki_allocator *allocator;
    size_t count;
    ki_changes_block *head, *tail, *spare;
    size_t head_at, tail_at;
} ki_changes;

void ki_changes_init(ki_changes *changes, const ki_allocator *allocator);
/* Drops everything. The chain can be used again. */
void ki_changes_clear(ki_changes *changes);
/* Adds a change, with references to its objects. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_changes_push(ki_changes *changes, const ki_change *change);
/* Returns the first change, borrowed until it is popped; NULL if there is none. */
const ki_change *ki_changes_first(const ki_changes *changes);
/* Pops the first change. The caller releases it. Returns false if there is none. */
bool ki_changes_pop(ki_changes *changes, ki_change *ret_change);
/* Releases at most `*units` changes, and subtracts their number. Returns true once nothing is left. */
bool ki_changes_drop_some(ki_changes *changes, size_t *units);

static inline void ki_change_release(const ki_change *change) {
    ki_object_unref(change->obj);
    ki_object_unref(change->old);
}

#endif
