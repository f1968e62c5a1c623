/* heap.h: intrusive binary heap, smallest first. One thread. Nodes know their place, so any can be taken out. */
#ifndef KI_BASE_HEAP_H
#define KI_BASE_HEAP_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <stdbool.h>

enum {
    KI_HEAP_OUT = -1
};

/* Embedded in what is ordered; index KI_HEAP_OUT (by ki_heap_node_init) while it is in no heap. */
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
ki_status ki_heap_reserve(ki_heap *heap, size_t count); /* so that pushes up to `count` nodes cannot fail */
ki_status ki_heap_push(ki_heap *heap, ki_heap_node *node);
ki_heap_node *ki_heap_peek(const ki_heap *heap);
ki_heap_node *ki_heap_pop(ki_heap *heap);
void ki_heap_remove(ki_heap *heap, ki_heap_node *node); /* nothing where it is not in */
void ki_heap_update(ki_heap *heap, ki_heap_node *node); /* its order changed */

#endif
