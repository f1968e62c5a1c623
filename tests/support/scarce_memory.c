/* scarce_memory.c: counts allocations and lets one fail. */
#include "tests/support/scarce_memory.h"

#include "tests/support/test.h"

#include <malloc.h>
#include <stdlib.h>

static void note(scarce_memory *memory, size_t size) {
    size_t now = atomic_fetch_add(&memory->bytes, size) + size, before = atomic_load(&memory->peak);
    while (now > before && !atomic_compare_exchange_weak(&memory->peak, &before, now)) {}
}

static bool fails(scarce_memory *memory) {
    size_t number = atomic_fetch_add(&memory->calls, 1);
    return number == memory->fail_at || (memory->forever && number > memory->fail_at);
}

static void *scarce_alloc(size_t size, void *user) {
    scarce_memory *memory = user;
    void *block = fails(memory) ? NULL : malloc(size);
    if (block) {
        atomic_fetch_add(&memory->in_use, 1);
        note(memory, malloc_usable_size(block));
    }
    return block;
}

static void *scarce_realloc(void *block, size_t size, void *user) {
    scarce_memory *memory = user;
    if (!block)
        return scarce_alloc(size, user);
    size_t before = malloc_usable_size(block);
    void *moved = fails(memory) ? NULL : realloc(block, size);
    if (moved) {
        atomic_fetch_sub(&memory->bytes, before);
        note(memory, malloc_usable_size(moved));
    }
    return moved;
}

static void scarce_free(void *block, void *user) {
    scarce_memory *memory = user;
    if (block) {
        atomic_fetch_sub(&memory->in_use, 1);
        atomic_fetch_sub(&memory->bytes, malloc_usable_size(block));
    }
    free(block);
}

void scarce_memory_init(scarce_memory *memory, size_t fail_at) {
    memory->allocator = (ki_allocator){ scarce_alloc, scarce_realloc, scarce_free, memory };
    memory->fail_at = fail_at;
    atomic_init(&memory->calls, 0);
    atomic_init(&memory->in_use, 0);
    atomic_init(&memory->bytes, 0);
    atomic_init(&memory->peak, 0);
    memory->before = 0;
    memory->forever = false;
}

bool scarce_memory_failed(const scarce_memory *memory) {
    return atomic_load(&memory->calls) > memory->fail_at;
}

size_t scarce_memory_in_use(const scarce_memory *memory) {
    return atomic_load(&memory->in_use);
}

void scarce_memory_begin_peak(scarce_memory *memory) {
    memory->before = atomic_load(&memory->bytes);
    atomic_store(&memory->peak, memory->before);
}

size_t scarce_memory_peak(const scarce_memory *memory) {
    return atomic_load(&memory->peak) - memory->before;
}

bool scarce_memory_next(scarce_memory *memory) {
    if (memory->allocator.alloc) { /* not the first round */
        if (scarce_memory_in_use(memory))
            fail_msg("%zu blocks are in use after allocation %zu failed", scarce_memory_in_use(memory), memory->round);
        if (!scarce_memory_failed(memory))
            return false;
    }
    memory->round++;
    scarce_memory_init(memory, memory->is_later ? SIZE_MAX : memory->round);
    return true;
}

void scarce_memory_begin(scarce_memory *memory) {
    memory->fail_at = atomic_load(&memory->calls) + memory->round;
}
