/* counted_memory.c: see counted_memory.h. */
#include "tests/support/counted_memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic size_t used, peak;

static void note(size_t size) {
    size_t now = atomic_fetch_add(&used, size) + size, before = atomic_load(&peak);
    while (now > before && !atomic_compare_exchange_weak(&peak, &before, now)) {}
}

static void *counted_alloc(size_t size, void *user) {
    (void)user;
    void *block = malloc(size);
    note(block ? malloc_usable_size(block) : 0);
    return block;
}

static void counted_free(void *block, void *user) {
    (void)user;
    atomic_fetch_sub(&used, block ? malloc_usable_size(block) : 0);
    free(block);
}

static void *counted_realloc(void *block, size_t size, void *user) {
    size_t before = block ? malloc_usable_size(block) : 0;
    (void)user;
    void *now = realloc(block, size);
    if (now) {
        atomic_fetch_sub(&used, before);
        note(malloc_usable_size(now));
    }
    return now;
}

const ki_allocator counted_memory = { counted_alloc, counted_realloc, counted_free, NULL };

size_t counted_memory_in_use(void) {
    return atomic_load(&used);
}

size_t counted_memory_peak(void) {
    return atomic_load(&peak);
}

void counted_memory_restart(void) {
    atomic_store(&peak, atomic_load(&used));
}
