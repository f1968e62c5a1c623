/* steady_memory.h: an allocator whose calls all take about the same short time, for the benchmarks of long steps.
 * glibc's malloc defers work, and then does it for 10,000 blocks in one call, which would distort the library's
 * figures. Free blocks of one size form a list; malloc serves sizes above 4 KB. Any thread; one in a program. */
#ifndef BENCH_STEADY_MEMORY_H
#define BENCH_STEADY_MEMORY_H

#include "bench/counting.h"

#include <pthread.h>
#include <string.h>

enum {
    STEADY_STEP = 16,
    STEADY_MAX = 4096,
    STEADY_REGION = 1 << 20
};

typedef union steady_block {
    struct {
        size_t size; /* without this header */
        union steady_block *next;
    } head;
    max_align_t alignment;
} steady_block;

static struct {
    pthread_mutex_t lock;
    steady_block *free[STEADY_MAX / STEADY_STEP + 1];
    char *region;
    size_t left; /* left in the region */
} steady_memory = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline void *steady_alloc(size_t size, void *user) {
    size_t rounded = (size + STEADY_STEP - 1) / STEADY_STEP * STEADY_STEP, whole = rounded + sizeof(steady_block);
    (void)user;
    pthread_mutex_lock(&steady_memory.lock);
    steady_block **list = rounded <= STEADY_MAX ? &steady_memory.free[rounded / STEADY_STEP] : NULL;
    steady_block *block = list ? *list : malloc(whole);
    if (list && block) {
        *list = block->head.next;
    } else if (list) {
        if (steady_memory.left < whole) {
            steady_memory.region = malloc(STEADY_REGION); /* the rest of the last region is lost */
            steady_memory.left = steady_memory.region ? STEADY_REGION : 0;
        }
        if (steady_memory.region) {
            block = (steady_block *)(void *)steady_memory.region;
            steady_memory.region += whole;
            steady_memory.left -= whole;
        }
    }
    if (block) {
        block->head.size = rounded;
        count_change(0, whole);
    }
    counted.allocations++;
    pthread_mutex_unlock(&steady_memory.lock);
    return block ? block + 1 : NULL;
}

static inline void steady_free(void *memory, void *user) {
    (void)user;
    if (!memory)
        return;
    steady_block *block = (steady_block *)memory - 1;
    pthread_mutex_lock(&steady_memory.lock);
    counted.bytes_held -= block->head.size + sizeof *block;
    if (block->head.size <= STEADY_MAX) {
        steady_block **list = &steady_memory.free[block->head.size / STEADY_STEP];
        block->head.next = *list;
        *list = block;
        block = NULL;
    }
    pthread_mutex_unlock(&steady_memory.lock);
    free(block);
}

static inline void *steady_realloc(void *memory, size_t size, void *user) {
    size_t before = memory ? ((steady_block *)memory - 1)->head.size : 0;
    void *moved = steady_alloc(size, user);
    if (!moved || !memory)
        return moved;
    memcpy(moved, memory, before < size ? before : size);
    steady_free(memory, user);
    return moved;
}

static const ki_allocator steady = { steady_alloc, steady_realloc, steady_free, NULL };

#endif
