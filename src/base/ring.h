/* ring.h: a FIFO of fixed-size elements in one growing block. One thread. No allocation in the steady state. */
#ifndef KI_BASE_RING_H
#define KI_BASE_RING_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <stdbool.h>

typedef struct ki_ring {
    const ki_allocator *allocator;
    char *data;
    size_t element_size;
    size_t capacity; /* elements; a power of two, or 0 */
    size_t head;
    size_t count;
} ki_ring;

void ki_ring_init(ki_ring *ring, const ki_allocator *allocator, size_t element_size);
void ki_ring_free(ki_ring *ring);
/* Copies one element to the back. KI_ERR_NO_MEMORY leaves the ring as it was. */
ki_status ki_ring_push(ki_ring *ring, const void *element);
/* Makes room, so that the next `more` pushes cannot fail. */
ki_status ki_ring_reserve(ki_ring *ring, size_t more);
/* Copies the front element out and drops it; false where empty. A ring that was large and is now empty gives memory back. */
bool ki_ring_pop(ki_ring *ring, void *ret_element);
/* The element number `index` from the front, in place; NULL past the end. */
void *ki_ring_at(const ki_ring *ring, size_t index);

#endif
