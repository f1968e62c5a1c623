/* heap.c: a binary heap in an array. Each node stores its index. */
#include "src/base/heap.h"

#include "src/base/memory.h"

#include <stdint.h>

enum {
    HEAP_FIRST_CAPACITY = 16
};

void ki_heap_node_init(ki_heap_node *node) {
    node->index = KI_HEAP_OUT;
}

void ki_heap_init(ki_heap *heap, const ki_allocator *allocator,
                  bool (*less)(const ki_heap_node *a, const ki_heap_node *b)) {
    *heap = (ki_heap){ .allocator = allocator, .less = less };
}

void ki_heap_free(ki_heap *heap) {
    for (size_t i = 0; i < heap->count; i++)
        heap->nodes[i]->index = KI_HEAP_OUT;
    ki_free(heap->allocator, heap->nodes);
    ki_heap_init(heap, heap->allocator, heap->less);
}

ki_status ki_heap_reserve(ki_heap *heap, size_t count) {
    if (count <= heap->capacity)
        return KI_OK;
    size_t capacity = heap->capacity ? heap->capacity : HEAP_FIRST_CAPACITY;
    while (capacity < count) {
        if (capacity > SIZE_MAX / 2)
            return KI_ERR_NO_MEMORY;
        capacity *= 2;
    }
    ki_heap_node **nodes = ki_realloc_array(heap->allocator, heap->nodes, capacity, sizeof(ki_heap_node *));
    if (!nodes)
        return KI_ERR_NO_MEMORY;
    heap->nodes = nodes;
    heap->capacity = capacity;
    return KI_OK;
}

static void set(ki_heap *heap, size_t index, ki_heap_node *node) {
    heap->nodes[index] = node;
    node->index = (ptrdiff_t)index;
}

static void sift_up(ki_heap *heap, size_t index, ki_heap_node *node) {
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (!heap->less(node, heap->nodes[parent]))
            break;
        set(heap, index, heap->nodes[parent]);
        index = parent;
    }
    set(heap, index, node);
}

static void sift_down(ki_heap *heap, size_t index, ki_heap_node *node) {
    for (;;) {
        size_t child = index * 2 + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->less(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (!heap->less(heap->nodes[child], node))
            break;
        set(heap, index, heap->nodes[child]);
        index = child;
    }
    set(heap, index, node);
}

ki_status ki_heap_push(ki_heap *heap, ki_heap_node *node) {
    ki_status status = ki_heap_reserve(heap, heap->count + 1);
    if (status)
        return status;
    heap->count++;
    sift_up(heap, heap->count - 1, node);
    return KI_OK;
}

ki_heap_node *ki_heap_peek(const ki_heap *heap) {
    return heap->count ? heap->nodes[0] : NULL;
}

ki_heap_node *ki_heap_pop(ki_heap *heap) {
    ki_heap_node *node = ki_heap_peek(heap);
    if (node)
        ki_heap_remove(heap, node);
    return node;
}

void ki_heap_remove(ki_heap *heap, ki_heap_node *node) {
    if (node->index == KI_HEAP_OUT)
        return;
    size_t index = (size_t)node->index;
    node->index = KI_HEAP_OUT;
    ki_heap_node *last = heap->nodes[--heap->count];
    if (last == node)
        return;
    set(heap, index, last);
    ki_heap_update(heap, last);
}

void ki_heap_update(ki_heap *heap, ki_heap_node *node) {
    if (node->index == KI_HEAP_OUT)
        return;
    size_t index = (size_t)node->index;
    if (index > 0 && heap->less(node, heap->nodes[(index - 1) / 2]))
        sift_up(heap, index, node);
    else
        sift_down(heap, index, node);
}
