/* refcount.h: an atomic reference count. */
#ifndef KI_BASE_REFCOUNT_H
#define KI_BASE_REFCOUNT_H

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
    atomic_fetch_add_explicit(&refs->count, 1, memory_order_relaxed);
}

/* Returns true for the last reference, whose owner frees the object. (Uses no fence: the thread sanitizer does not
 * support fences.) */
static inline bool ki_refcount_dec(ki_refcount *refs) {
    return atomic_fetch_sub_explicit(&refs->count, 1, memory_order_acq_rel) == 1;
}

/* Returns true if the caller holds the only reference. */
static inline bool ki_refcount_is_one(const ki_refcount *refs) {
    return atomic_load_explicit(&refs->count, memory_order_acquire) == 1;
}

#endif
