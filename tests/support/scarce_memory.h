/* scarce_memory.h: an allocator that fails at a chosen allocation and counts what is still out. Thread-safe.
 *
 *     for (size_t n = 0;; n++) {
 *         scarce_memory memory;
 *         scarce_memory_init(&memory, n);             // the first n allocations work, the next one fails, later ones work again
 *         … use &memory.allocator, clean up …
 *         assert_int_equal(scarce_memory_in_use(&memory), 0);
 *         if (!scarce_memory_failed(&memory)) break;  // it needed no more than n
 *     } */
#ifndef TESTS_SUPPORT_SCARCE_MEMORY_H
#define TESTS_SUPPORT_SCARCE_MEMORY_H

#include <kinformer/allocator.h>

#include <stdatomic.h>
#include <stdbool.h>

typedef struct scarce_memory {
    ki_allocator allocator;
    size_t fail_at;
    _Atomic size_t calls;
    _Atomic size_t in_use;
    bool forever; /* every later allocation fails too */
} scarce_memory;

void scarce_memory_init(scarce_memory *memory, size_t fail_at);
/* Is the failing allocation behind us? */
bool scarce_memory_failed(const scarce_memory *memory);
/* Blocks that were not freed. */
size_t scarce_memory_in_use(const scarce_memory *memory);

#endif
