/* array.h: room in arrays that grow at their end. The owner's struct has a pointer, a count and a capacity; all zero is
 * an empty array. The owner frees the pointer. One thread. */
#ifndef KI_BASE_ARRAY_H
#define KI_BASE_ARRAY_H

#include "src/base/assert.h"
#include "src/base/memory.h"

#include <kinformer/error.h>

#include <stdint.h>
#include <string.h>

enum {
    KI_ARRAY_FIRST = 8 /* the capacity of an array with its first item */
};

/* Makes room for one more item after `count`; the capacity doubles, and the items may move. `items` and `capacity` are
 * variables. Errors: KI_ERR_NO_MEMORY, which changes nothing. */
#define KI_ARRAY_RESERVE(allocator, items, count, capacity) \
    ki_array_reserve(allocator, &(items), sizeof *(items), count, &(capacity))

/* `array` is the address of the pointer to the items, of whatever type they are. */
static inline ki_status ki_array_reserve(const ki_allocator *allocator, void *array, size_t size, size_t count,
                                         size_t *capacity) {
    KI_ASSERT(count <= *capacity);
    if (count < *capacity)
        return KI_OK;
    if (*capacity > SIZE_MAX / 2)
        return KI_ERR_NO_MEMORY;
    size_t larger = *capacity ? 2 * *capacity : KI_ARRAY_FIRST;
    void *items;
    memcpy(&items, array, sizeof items);
    items = ki_realloc_array(allocator, items, larger, size);
    if (!items)
        return KI_ERR_NO_MEMORY;
    memcpy(array, &items, sizeof items);
    *capacity = larger;
    return KI_OK;
}

#endif
