/* refcount.h: an atomic count of owners. */
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

/* True for the one that was last: it frees. (Without a fence, which the thread sanitizer does not see.) */
static inline bool ki_refcount_dec(ki_refcount *refs) {
    return atomic_fetch_sub_explicit(&refs->count, 1, memory_order_acq_rel) == 1;
}

/* Is the caller the only owner? Only meaningful for an owner. */
static inline bool ki_refcount_is_one(const ki_refcount *refs) {
    return atomic_load_explicit(&refs->count, memory_order_acquire) == 1;
}

#endif
