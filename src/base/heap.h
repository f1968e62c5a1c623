/* heap.h: an intrusive binary heap, smallest first. One thread. Nodes store their index, so that any node can be
 * removed. */
#ifndef KI_BASE_HEAP_H
#define KI_BASE_HEAP_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <stdbool.h>

enum {
    KI_HEAP_OUT = -1
};

/* Embedded in the ordered structs. The index is KI_HEAP_OUT (set by ki_heap_node_init) while the node is in no heap. */
typedef struct ki_heap_node {
    ptrdiff_t index;
} ki_heap_node;

typedef struct ki_heap {
    const ki_allocator *allocator;
    bool (*less)(const ki_heap_node *a, const ki_heap_node *b);
    ki_heap_node **nodes;
    size_t count;
    size_t capacity;
} ki_heap;

void ki_heap_node_init(ki_heap_node *node);
void ki_heap_init(ki_heap *heap, const ki_allocator *allocator,
                  bool (*less)(const ki_heap_node *a, const ki_heap_node *b));
void ki_heap_free(ki_heap *heap);
ki_status ki_heap_reserve(ki_heap *heap, size_t count); /* makes pushes up to `count` nodes infallible */
ki_status ki_heap_push(ki_heap *heap, ki_heap_node *node);
ki_heap_node *ki_heap_peek(const ki_heap *heap);
ki_heap_node *ki_heap_pop(ki_heap *heap);
void ki_heap_remove(ki_heap *heap, ki_heap_node *node); /* does nothing for a node outside the heap */
void ki_heap_update(ki_heap *heap, ki_heap_node *node); /* restores the order after the node's key has changed */

#endif
