/* heap.h: an intrusive heap, smallest first: by rank, then by sequence. The nodes are linked, so the heap needs no
 * memory of its own and nothing here can fail. Each function takes O(log n) steps on average, in whatever order the
 * nodes come and go. Putting a node that comes after the one that was put last takes one step. One thread. */
#ifndef KI_BASE_HEAP_H
#define KI_BASE_HEAP_H

#include "src/base/internal_api.h"

#include <stdbool.h>
#include <stdint.h>

/* Embedded in the ordered structs. A zeroed node is in no heap. */
typedef struct ki_heap_node {
    struct ki_heap_node *parent, *children[2];
    int64_t rank;
    uint64_t sequence : 63; /* of nodes with equal ranks, the lower sequence comes first */
    bool is_in : 1;         /* the node is in a heap */
} ki_heap_node;

/* A zeroed heap is empty. */
typedef struct ki_heap {
    ki_heap_node *first; /* the smallest node; NULL: empty */
    ki_heap_node *last;  /* the node that was put last; NULL: removed */
    uint64_t coins;      /* state of the generator of random numbers */
} ki_heap;

/* Adds a node, or moves a node of this heap to a new rank and sequence. */
KI_INTERNAL_API void ki_heap_put(ki_heap *heap, ki_heap_node *node, int64_t rank, uint64_t sequence);
KI_INTERNAL_API void ki_heap_remove(ki_heap *heap, ki_heap_node *node); /* does nothing for a node outside the heap */

#endif
