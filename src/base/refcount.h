/* refcount.h: an atomic reference count. */
#ifndef KI_BASE_REFCOUNT_H
#define KI_BASE_REFCOUNT_H

#include "src/base/assert.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ki_refcount {
    _Atomic uint32_t count;
} ki_refcount;

static inline void ki_refcount_init(ki_refcount *refs) {
    atomic_init(&refs->count, 1);
}

static inline void ki_refcount_inc(ki_refcount *refs) {
    uint32_t before = atomic_fetch_add_explicit(&refs->count, 1, memory_order_relaxed);
    KI_ASSERT(before > 0 && before < UINT32_MAX);
    (void)before;
}

/* Returns true for the last reference, whose owner frees the object. (Uses no fence: the thread sanitizer does not
 * support fences.) */
static inline bool ki_refcount_dec(ki_refcount *refs) {
    uint32_t before = atomic_fetch_sub_explicit(&refs->count, 1, memory_order_acq_rel);
    KI_ASSERT(before > 0);
    return before == 1;
}

/* Returns true if the caller holds the only reference. */
static inline bool ki_refcount_is_one(const ki_refcount *refs) {
    uint32_t count = atomic_load_explicit(&refs->count, memory_order_acquire);
    KI_ASSERT(count > 0);
    return count == 1;
}

#endif
