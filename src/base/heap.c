/* heap.c: a binary tree that joins at random. The way from the root down to an empty place, with a coin for each turn,
 * has log2(n + 1) nodes at most on average, in a tree of any shape: nothing needs to be balanced. */
#include "src/base/heap.h"

#include "src/base/assert.h"

#include <stddef.h>

static bool is_before(const ki_heap_node *a, const ki_heap_node *b) {
    return a->rank < b->rank || (a->rank == b->rank && a->sequence < b->sequence);
}

/* Is the node below its parent in order, and above its children? */
static bool is_in_order(const ki_heap *heap, const ki_heap_node *node) {
    const ki_heap_node *parent = node->parent;
    if (parent ? is_before(node, parent) || (parent->children[0] != node && parent->children[1] != node)
               : heap->first != node)
        return false;
    for (int i = 0; i < 2; i++)
        if (node->children[i] && (node->children[i]->parent != node || is_before(node->children[i], node)))
            return false;
    return true;
}

static unsigned toss(ki_heap *heap) {
    heap->coins = heap->coins * 6364136223846793005U + 1442695040888963407U; /* Knuth's MMIX */
    return (unsigned)(heap->coins >> 63);
}

/* Joins two trees, each of which may be NULL, below `parent`, and returns the root. */
static ki_heap_node *join(ki_heap *heap, ki_heap_node *a, ki_heap_node *b, ki_heap_node *parent) {
    KI_ASSERT(!a || a != b);
    ki_heap_node *root = NULL, **place = &root;
    while (a && b) {
        unsigned side = toss(heap);
        /* One of both is next. With many nodes the memory's latency is most of the cost. */
        __builtin_prefetch(a->children[side]);
        __builtin_prefetch(b->children[side]);
        if (is_before(b, a)) {
            ki_heap_node *first = b;
            b = a;
            a = first;
        }
        *place = a;
        a->parent = parent;
        parent = a;
        place = &a->children[side];
        a = *place;
    }
    *place = a ? a : b;
    if (*place)
        (*place)->parent = parent;
    return root;
}

void ki_heap_put(ki_heap *heap, ki_heap_node *node, int64_t rank, uint64_t sequence) {
    ki_heap_remove(heap, node);
    *node = (ki_heap_node){ .rank = rank, .sequence = sequence & (UINT64_MAX >> 1), .is_in = true };
    ki_heap_node *last = heap->last;
    heap->last = node;
    if (last && !last->children[0] && is_before(last, node)) { /* in order: no way down from the root */
        last->children[0] = node;
        node->parent = last;
    } else {
        heap->first = join(heap, heap->first, node, NULL);
    }
    KI_ASSERT(is_in_order(heap, node));
    KI_ASSERT(is_in_order(heap, heap->first));
}

void ki_heap_remove(ki_heap *heap, ki_heap_node *node) {
    if (!node->is_in)
        return;
    KI_ASSERT(is_in_order(heap, node));
    ki_heap_node *parent = node->parent, *rest = join(heap, node->children[0], node->children[1], parent);
    if (parent)
        parent->children[parent->children[1] == node] = rest;
    else
        heap->first = rest;
    if (heap->last == node)
        heap->last = NULL;
    KI_ASSERT(!rest || is_in_order(heap, rest));
    KI_ASSERT(heap->first || !heap->last);
    node->is_in = false;
}
