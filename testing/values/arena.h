/* arena.h: memory that is freed all at once: what one patch or apply needs on its way. One thread.
 * A failure is remembered in `failed`, so that a sequence may be checked once at its end. */
#ifndef KT_VALUES_ARENA_H
#define KT_VALUES_ARENA_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

typedef struct kt_arena_block kt_arena_block;

typedef struct kt_arena {
    const ki_allocator *allocator;
    kt_arena_block *blocks;
    size_t left; /* of the first block */
    bool failed;
} kt_arena;

void kt_arena_init(kt_arena *arena, const ki_allocator *allocator);
void kt_arena_free(kt_arena *arena);
/* Aligned for anything; NULL on failure. */
void *kt_arena_alloc(kt_arena *arena, size_t size);
ki_str kt_arena_copy(kt_arena *arena, ki_str text);

#endif
