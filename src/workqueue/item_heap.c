/* item_heap.c: the slots hold rank and sequence, so that comparisons do not read the items. */
#include "src/workqueue/item_heap.h"

#include "src/base/memory.h"

enum {
    CHUNK = 1024, /* slots of a chunk; a power of two */
    FIRST_ROOM = 4
};

void ki_item_heap_init(ki_item_heap *heap, const ki_allocator *allocator) {
    *heap = (ki_item_heap){ .allocator = allocator };
}

void ki_item_heap_free(ki_item_heap *heap) {
    for (size_t i = 0; i < heap->chunk_count; i++)
        ki_free(heap->allocator, heap->chunks[i]);
    ki_free(heap->allocator, heap->chunks);
    ki_item_heap_init(heap, heap->allocator);
}

static ki_status add_chunk(ki_item_heap *heap) {
    if (heap->chunk_count == heap->chunk_room) {
        size_t room = heap->chunk_room ? heap->chunk_room * 2 : FIRST_ROOM;
        ki_item_slot **chunks = ki_realloc_array(heap->allocator, heap->chunks, room, sizeof(ki_item_slot *));
        if (!chunks)
            return KI_ERR_NO_MEMORY;
        heap->chunks = chunks;
        heap->chunk_room = room;
    }
    ki_item_slot *chunk = ki_alloc_array(heap->allocator, CHUNK, sizeof *chunk);
    if (!chunk)
        return KI_ERR_NO_MEMORY;
    heap->chunks[heap->chunk_count++] = chunk;
    return KI_OK;
}

ki_status ki_item_heap_reserve(ki_item_heap *heap, size_t count) {
    if (count >= KI_WORK_ITEM_OUT)
        return KI_ERR_NO_MEMORY;
    while (heap->chunk_count * CHUNK < count)
        if (add_chunk(heap))
            return KI_ERR_NO_MEMORY;
    return KI_OK;
}

void ki_item_heap_trim(ki_item_heap *heap, size_t count) {
    /* Keeps one spare chunk: otherwise a count around a chunk's end would allocate and free repeatedly. */
    if (heap->chunk_count > count / CHUNK + 2)
        ki_free(heap->allocator, heap->chunks[--heap->chunk_count]);
}

static ki_item_slot *slot_at(const ki_item_heap *heap, size_t index) {
    return &heap->chunks[index / CHUNK][index % CHUNK];
}

static bool is_before(const ki_item_slot *a, const ki_item_slot *b) {
    return a->rank < b->rank || (a->rank == b->rank && a->sequence < b->sequence);
}

static void set(ki_item_heap *heap, size_t index, ki_item_slot slot) {
    *slot_at(heap, index) = slot;
    slot.item->place = (uint32_t)index;
}

static void sift_up(ki_item_heap *heap, size_t index, ki_item_slot slot) {
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        const ki_item_slot *above = slot_at(heap, parent);
        if (!is_before(&slot, above))
            break;
        set(heap, index, *above);
        index = parent;
    }
    set(heap, index, slot);
}

static void sift_down(ki_item_heap *heap, size_t index, ki_item_slot slot) {
    for (;;) {
        size_t child = index * 2 + 1;
        if (child >= heap->count)
            break;
        const ki_item_slot *below = slot_at(heap, child);
        if (child + 1 < heap->count) {
            const ki_item_slot *right = slot_at(heap, child + 1);
            if (is_before(right, below)) {
                below = right;
                child++;
            }
        }
        if (!is_before(below, &slot))
            break;
        set(heap, index, *below);
        index = child;
    }
    set(heap, index, slot);
}

/* Moves `slot` up or down from `index`, whose old slot is overwritten. */
static void settle(ki_item_heap *heap, size_t index, ki_item_slot slot) {
    if (index > 0 && is_before(&slot, slot_at(heap, (index - 1) / 2)))
        sift_up(heap, index, slot);
    else
        sift_down(heap, index, slot);
}

void ki_item_heap_push(ki_item_heap *heap, ki_work_item *item, int64_t rank, uint64_t sequence) {
    sift_up(heap, heap->count++, (ki_item_slot){ rank, sequence, item });
}

const ki_item_slot *ki_item_heap_first(const ki_item_heap *heap) {
    return heap->count ? slot_at(heap, 0) : NULL;
}

int64_t ki_item_heap_rank(const ki_item_heap *heap, const ki_work_item *item) {
    return slot_at(heap, item->place)->rank;
}

void ki_item_heap_remove(ki_item_heap *heap, ki_work_item *item) {
    size_t index = item->place;
    ki_item_slot last = *slot_at(heap, --heap->count);
    item->place = KI_WORK_ITEM_OUT;
    if (last.item != item)
        settle(heap, index, last);
}

void ki_item_heap_move(ki_item_heap *heap, ki_work_item *item, int64_t rank, uint64_t sequence) {
    settle(heap, item->place, (ki_item_slot){ rank, sequence, item });
}
