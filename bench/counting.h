/* counting.h: an allocator over malloc that counts, for benchmarks. One thread; one in a program. */
#ifndef BENCH_COUNTING_H
#define BENCH_COUNTING_H

#include <kinformer/allocator.h>

#include <malloc.h>
#include <stdlib.h>

static struct {
    size_t allocations;            /* including reallocations */
    size_t bytes_held, bytes_peak; /* allocated bytes with malloc's overhead; may be set to 0 at any time */
} counted;

static inline void count_change(size_t before, size_t after) {
    counted.bytes_held += after - before;
    if (counted.bytes_held > counted.bytes_peak)
        counted.bytes_peak = counted.bytes_held;
}

static void *count_alloc(size_t size, void *user) {
    void *memory = malloc(size);
    (void)user;
    counted.allocations++;
    count_change(0, memory ? malloc_usable_size(memory) : 0);
    return memory;
}

static void count_free(void *memory, void *user) {
    (void)user;
    counted.bytes_held -= memory ? malloc_usable_size(memory) : 0;
    free(memory);
}

static void *count_realloc(void *memory, size_t size, void *user) {
    size_t before = memory ? malloc_usable_size(memory) : 0;
    void *moved = realloc(memory, size);
    (void)user;
    counted.allocations++;
    if (moved)
        count_change(before, malloc_usable_size(moved));
    return moved;
}

static const ki_allocator counting = { count_alloc, count_realloc, count_free, NULL };

#endif
