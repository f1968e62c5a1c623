/* seen.c: see seen.h. */
#include "src/object/seen.h"

#include "src/base/assert.h"

enum {
    OBJECT_BITS = 12,
    COUNT_BITS = 2
};

bool ki_seen_count(ki_seen *seen, uint64_t what, uint64_t object, unsigned objects) {
    KI_ASSERT(objects >= 2 && objects <= KI_SEEN_OBJECTS_MAX);
    _Atomic uint32_t *place = &seen->places[what % KI_SEEN_PLACES];
    uint32_t before = atomic_load_explicit(place, memory_order_relaxed);
    uint32_t now = (uint32_t)(what >> 32) >> (OBJECT_BITS + COUNT_BITS), count = before & ((1u << COUNT_BITS) - 1);
    now = now << OBJECT_BITS | (uint32_t)(object & ((1u << OBJECT_BITS) - 1));
    if (before >> COUNT_BITS == now)
        return false;
    count = before >> (COUNT_BITS + OBJECT_BITS) == now >> OBJECT_BITS ? count + 1 : 1;
    bool is_it = count >= objects;
    atomic_store_explicit(place, is_it ? 0 : now << COUNT_BITS | count, memory_order_relaxed);
    return is_it;
}
