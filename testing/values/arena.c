/* arena.c: blocks in a list, the newest first. */
#include "testing/values/arena.h"

#include "src/base/assert.h"
#include "src/base/memory.h"

enum {
    BLOCK_SIZE = 16 * 1024,
    ALIGNMENT = 16
};

struct kt_arena_block {
    kt_arena_block *next;
    size_t size;
    char data[];
};

void kt_arena_init(kt_arena *arena, const ki_allocator *allocator) {
    *arena = (kt_arena){ .allocator = allocator };
}

void kt_arena_free(kt_arena *arena) {
    while (arena->blocks) {
        kt_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        ki_free(arena->allocator, block);
    }
}

void *kt_arena_alloc(kt_arena *arena, size_t size) {
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (arena->failed)
        return NULL;
    if (size > arena->left) {
        size_t room = size > BLOCK_SIZE / 4 ? size : BLOCK_SIZE;
        kt_arena_block *block = ki_alloc(arena->allocator, sizeof *block + room + ALIGNMENT);
        if (!block) {
            arena->failed = true;
            return NULL;
        }
        block->size = room;
        if (room == size && arena->blocks) { /* keep using the newest block after a large allocation */
            block->next = arena->blocks->next;
            arena->blocks->next = block;
            return block->data + (ALIGNMENT - (uintptr_t)block->data % ALIGNMENT) % ALIGNMENT;
        }
        block->next = arena->blocks;
        arena->blocks = block;
        arena->left = room;
    }
    kt_arena_block *block = arena->blocks;
    char *start = block->data + (ALIGNMENT - (uintptr_t)block->data % ALIGNMENT) % ALIGNMENT;
    KI_ASSERT(arena->left <= block->size && size <= arena->left);
    char *piece = start + (block->size - arena->left);
    arena->left -= size;
    return piece;
}

ki_str kt_arena_copy(kt_arena *arena, ki_str text) {
    char *copy = kt_arena_alloc(arena, text.size + 1);
    if (!copy)
        return (ki_str){ "", 0 };
    if (text.size)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return (ki_str){ copy, text.size };
}
