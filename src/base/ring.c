/* ring.c: the block of the FIFO has a power of two of elements; indices wrap by a mask. */
#include "src/base/ring.h"

#include "src/base/assert.h"
#include "src/base/memory.h"

#include <stdint.h>
#include <string.h>

enum {
    RING_FIRST_CAPACITY = 8,
    RING_KEEP_CAPACITY = 4096 /* elements; an empty ring larger than this frees its block */
};

void ki_ring_init(ki_ring *ring, const ki_allocator *allocator, size_t element_size) {
    KI_ASSERT(allocator && element_size > 0);
    *ring = (ki_ring){ .allocator = allocator, .element_size = element_size };
}

void ki_ring_free(ki_ring *ring) {
    ki_free(ring->allocator, ring->data);
    ki_ring_init(ring, ring->allocator, ring->element_size);
}

static bool is_sound(const ki_ring *ring) {
    return (ring->capacity & (ring->capacity - 1)) == 0 && ring->count <= ring->capacity &&
           (ring->head < ring->capacity || ring->head == 0) && (ring->data != NULL) == (ring->capacity > 0);
}

static char *place(const ki_ring *ring, size_t index) {
    KI_ASSERT(ring->capacity > 0 && index < ring->capacity);
    return ring->data + ((ring->head + index) & (ring->capacity - 1)) * ring->element_size;
}

ki_status ki_ring_reserve(ki_ring *ring, size_t more) {
    if (more > SIZE_MAX / 4 - ring->count)
        return KI_ERR_NO_MEMORY;
    size_t need = ring->count + more;
    if (need <= ring->capacity)
        return KI_OK;
    size_t capacity = ring->capacity ? ring->capacity : RING_FIRST_CAPACITY;
    while (capacity < need)
        capacity *= 2;
    char *data = ki_alloc_array(ring->allocator, capacity, ring->element_size);
    if (!data)
        return KI_ERR_NO_MEMORY;
    if (ring->count) {
        size_t to_end = ring->capacity - ring->head;
        size_t first = ring->count < to_end ? ring->count : to_end;
        memcpy(data, place(ring, 0), first * ring->element_size);
        memcpy(data + first * ring->element_size, ring->data, (ring->count - first) * ring->element_size);
    }
    ki_free(ring->allocator, ring->data);
    ring->data = data;
    ring->capacity = capacity;
    ring->head = 0;
    KI_ASSERT(is_sound(ring));
    return KI_OK;
}

ki_status ki_ring_push(ki_ring *ring, const void *element) {
    ki_status status = ki_ring_reserve(ring, 1);
    if (status)
        return status;
    memcpy(place(ring, ring->count), element, ring->element_size);
    ring->count++;
    KI_ASSERT(is_sound(ring));
    return KI_OK;
}

bool ki_ring_pop(ki_ring *ring, void *ret_element) {
    if (ring->count == 0)
        return false;
    memcpy(ret_element, place(ring, 0), ring->element_size);
    ring->head = (ring->head + 1) & (ring->capacity - 1);
    ring->count--;
    if (ring->count == 0 && ring->capacity > RING_KEEP_CAPACITY)
        ki_ring_free(ring);
    KI_ASSERT(is_sound(ring));
    return true;
}

void *ki_ring_at(const ki_ring *ring, size_t index) {
    return index < ring->count ? place(ring, index) : NULL;
}
