/* scarce_memory.h: an allocator that fails at a chosen allocation and counts the blocks and bytes in use. Thread-safe.
 *
 *     scarce_memory memory = SCARCE_MEMORY_FROM(0);
 *     while (scarce_memory_next(&memory)) {  // the first allocation fails; in the next round the second; and so on
 *         … use &memory.allocator, clean up …
 *     } */
#ifndef TESTS_SUPPORT_SCARCE_MEMORY_H
#define TESTS_SUPPORT_SCARCE_MEMORY_H

#include <kinformer/allocator.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct scarce_memory {
    ki_allocator allocator;
    size_t fail_at; /* the number of allocations before the one that fails; later ones work again */
    size_t round;
    bool is_later;
    _Atomic size_t calls;
    _Atomic size_t in_use;
    _Atomic size_t bytes, peak;
    size_t before; /* bytes at scarce_memory_begin_peak */
    bool forever;  /* every later allocation fails too */
} scarce_memory;

/* Starts before the round whose first `n` allocations work. */
#define SCARCE_MEMORY_FROM(n) \
    { .round = (size_t)(n)-1 }
/* The same, but allocations fail and count only after scarce_memory_begin in each round. */
#define SCARCE_MEMORY_LATER \
    { .round = SIZE_MAX, .is_later = true }

/* Begins a round: initializes the allocator so that one allocation more works than in the round before. Returns false
 * after a round in which no allocation failed. Fails the test if a round leaves a block in use. */
bool scarce_memory_next(scarce_memory *memory);
void scarce_memory_begin(scarce_memory *memory);
void scarce_memory_init(scarce_memory *memory, size_t fail_at);
/* Returns true if an allocation has failed. */
bool scarce_memory_failed(const scarce_memory *memory);
/* Returns the number of blocks that are not freed. */
size_t scarce_memory_in_use(const scarce_memory *memory);
/* Makes the bytes in use now the peak. */
void scarce_memory_begin_peak(scarce_memory *memory);
/* Returns how many bytes were in use at most, above those of the last scarce_memory_begin_peak. */
size_t scarce_memory_peak(const scarce_memory *memory);

#endif
