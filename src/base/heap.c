/* heap.c: a leftist tree. The right side of a node is never longer than its left side, so the way down the right side
 * has at most log2(n + 1) nodes. */
#include "src/base/heap.h"

#include <stddef.h>

static unsigned distance_of(const ki_heap_node *node) {
    return node ? node->distance : 0;
}

static bool is_before(const ki_heap_node *a, const ki_heap_node *b) {
    return a->rank < b->rank || (a->rank == b->rank && a->sequence < b->sequence);
}

/* Puts the longer side left. Returns false if the node's distance was right already. */
static bool balance(ki_heap_node *node) {
    unsigned left = node->left_distance, right = distance_of(node->right);
    if (left < right) {
        ki_heap_node *longer = node->right;
        node->right = node->left;
        node->left = longer;
        node->left_distance = right & 0xff;
    }
    unsigned distance = (left < right ? left : right) + 1;
    bool is_changed = node->distance != distance;
    node->distance = distance & 0xff;
    return is_changed;
}

/* Joins two trees, each of which may be NULL, and returns the root. Recursion: down the right sides. */
static ki_heap_node *join(ki_heap_node *a, ki_heap_node *b) {
    if (!a || !b)
        return a ? a : b;
    if (is_before(b, a)) {
        ki_heap_node *first = b;
        b = a;
        a = first;
    }
    a->right = join(a->right, b);
    a->right->parent = a;
    balance(a);
    return a;
}

bool ki_heap_has(const ki_heap_node *node) {
    return node->distance > 0;
}

void ki_heap_put(ki_heap *heap, ki_heap_node *node, int64_t rank, uint64_t sequence) {
    ki_heap_remove(heap, node);
    *node = (ki_heap_node){ .rank = rank, .sequence = sequence & (UINT64_MAX >> 16), .distance = 1 };
    heap->first = join(heap->first, node);
    heap->first->parent = NULL;
}

/* Replaces a child of a node, which is NULL for the root, and restores the distances above. */
static void replace(ki_heap *heap, ki_heap_node *parent, const ki_heap_node *child, ki_heap_node *by) {
    if (by)
        by->parent = parent;
    if (!parent)
        heap->first = by;
    else if (parent->left == child)
        parent->left = by;
    else
        parent->right = by;
    for (ki_heap_node *changed = by; parent; changed = parent, parent = parent->parent) {
        if (parent->left == changed)
            parent->left_distance = distance_of(changed) & 0xff;
        if (!balance(parent))
            break;
    }
}

void ki_heap_remove(ki_heap *heap, ki_heap_node *node) {
    if (!ki_heap_has(node))
        return;
    replace(heap, node->parent, node, join(node->left, node->right));
    node->distance = 0;
}
