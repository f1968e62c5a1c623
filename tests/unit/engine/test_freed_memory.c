/* test_freed_memory.c: the engine makes glibc's malloc sort freed blocks in small portions. */

#include "src/engine/engine.h"
#include "tests/support/test.h"

#include <stdlib.h>

enum {
    LARGE_MIN = 1100, /* bytes; malloc's caches of small blocks end below */
    BLOCKS = 8
};

/* The large blocks since the last reset. */
typedef struct large_blocks {
    size_t sizes[BLOCKS], count, freed;
    void *last;
} large_blocks;

static void *note_alloc(size_t size, void *user) {
    large_blocks *large = user;
    void *memory = malloc(size);
    if (size > LARGE_MIN && large->count < BLOCKS) {
        large->sizes[large->count++] = size;
        large->last = memory;
    }
    return memory;
}

static void *note_realloc(void *memory, size_t size, void *user) {
    (void)user;
    return realloc(memory, size);
}

static void note_free(void *memory, void *user) {
    large_blocks *large = user;
    large->freed += memory && memory == large->last;
    free(memory);
}

static void do_much(ki_task *task, void *user) {
    (void)task;
    (void)ki_engine_work(user, 300);
}

/* Else one later call of malloc sorts the blocks of thousands of steps. */
TEST(much_work_makes_malloc_sort_what_was_freed) {
    large_blocks large = { .count = 0 };
    const ki_allocator allocator = { note_alloc, note_realloc, note_free, &large };
    ki_engine *engine = NULL;
    ki_task task;
    assert_int_equal(ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = &allocator, .seed = 1), &engine, NULL), KI_OK);
    ki_task_init(&task, engine, do_much, engine);
    large.count = large.freed = 0;
    for (int i = 0; i < 2; i++) {
        ki_task_post(&task);
        assert_int_equal(ki_engine_step(engine, 0, NULL), KI_OK);
        assert_int_equal(ki_engine_step(engine, 0, NULL), KI_OK); /* without work */
    }
    assert_int_equal(large.count, 2);
    assert_int_equal(large.freed, 2);
    /* Two sizes: a free block of the same size would be found before the others are sorted. */
    assert_true(large.sizes[0] != large.sizes[1]);
    ki_engine_free(engine);
}
