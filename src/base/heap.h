/* heap.h: an intrusive heap, smallest first: by rank, then by sequence. The nodes are linked, so the heap needs no
 * memory of its own and nothing here can fail. Each function takes O(log n) steps at most. One thread. */
#ifndef KI_BASE_HEAP_H
#define KI_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Embedded in the ordered structs. A zeroed node is in no heap. */
typedef struct ki_heap_node {
    struct ki_heap_node *parent, *left, *right;
    int64_t rank;
    uint64_t sequence : 48; /* of nodes with equal ranks, the lower sequence comes first */
    uint64_t distance : 8;  /* nodes on the way down the right side, with this one; 0: in no heap */
    uint64_t left_distance : 8;
} ki_heap_node;

/* A zeroed heap is empty. */
typedef struct ki_heap {
    ki_heap_node *first; /* the smallest node; NULL: empty */
} ki_heap;

bool ki_heap_has(const ki_heap_node *node); /* is the node in a heap? */
/* Adds a node, or moves a node of this heap to a new rank and sequence. */
void ki_heap_put(ki_heap *heap, ki_heap_node *node, int64_t rank, uint64_t sequence);
void ki_heap_remove(ki_heap *heap, ki_heap_node *node); /* does nothing for a node outside the heap */

#endif
