/* item_heap.h: items of a work queue, lowest rank first, ties by sequence: a binary heap in chunks of fixed size, so
 * that growth copies no large memory. Guarded by the queue's lock. */
#ifndef KI_WORKQUEUE_ITEM_HEAP_H
#define KI_WORKQUEUE_ITEM_HEAP_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/workqueue/item.h"

typedef struct ki_item_slot {
    int64_t rank;
    uint64_t sequence;
    ki_work_item *item; /* its `place` is the index of this slot */
} ki_item_slot;

typedef struct ki_item_heap {
    const ki_allocator *allocator;
    ki_item_slot **chunks;
    size_t chunk_count;
    size_t chunk_room; /* capacity of the array of chunks */
    size_t count;
} ki_item_heap;

void ki_item_heap_init(ki_item_heap *heap, const ki_allocator *allocator);
void ki_item_heap_free(ki_item_heap *heap);
/* Makes room for `count` items in total. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_item_heap_reserve(ki_item_heap *heap, size_t count);
/* Frees one chunk if `count` items do not need it. */
void ki_item_heap_trim(ki_item_heap *heap, size_t count);
/* Adds an item that is in no heap. The caller has reserved room for the item. */
void ki_item_heap_push(ki_item_heap *heap, ki_work_item *item, int64_t rank, uint64_t sequence);
/* Returns the first slot; NULL if the heap is empty. */
const ki_item_slot *ki_item_heap_first(const ki_item_heap *heap);
/* Returns the rank of an item that is in the heap. */
int64_t ki_item_heap_rank(const ki_item_heap *heap, const ki_work_item *item);
/* Removes an item that is in the heap. */
void ki_item_heap_remove(ki_item_heap *heap, ki_work_item *item);
/* Changes the rank and sequence of an item that is in the heap. */
void ki_item_heap_move(ki_item_heap *heap, ki_work_item *item, int64_t rank, uint64_t sequence);

#endif
