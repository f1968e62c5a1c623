/* scarce_memory.h: an allocator that fails at a chosen allocation and counts the blocks in use. Thread-safe.
 *
 *     for (size_t n = 0;; n++) {
 *         scarce_memory memory;
 *         scarce_memory_init(&memory, n);             // the allocation after the first n fails, later ones work again
 *         … use &memory.allocator, clean up …
 *         assert_int_equal(scarce_memory_in_use(&memory), 0);
 *         if (!scarce_memory_failed(&memory)) break;  // the code needed at most n
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
/* Returns true if an allocation has failed. */
bool scarce_memory_failed(const scarce_memory *memory);
/* Returns the number of blocks that are not freed. */
size_t scarce_memory_in_use(const scarce_memory *memory);

#endif
