/* arena.h: an arena: memory that is freed all at once. Holds what one patch or apply needs while it runs. One
 * thread.
 * The arena records a failed allocation in `failed`, so that a caller can check once after several calls. */
#ifndef KT_VALUES_ARENA_H
#define KT_VALUES_ARENA_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

typedef struct kt_arena_block kt_arena_block;

typedef struct kt_arena {
    const ki_allocator *allocator;
    kt_arena_block *blocks;
    size_t left; /* bytes free in the first block */
    bool failed; /* an allocation has failed; all later ones fail too */
} kt_arena;

/* Borrows `allocator`. */
void kt_arena_init(kt_arena *arena, const ki_allocator *allocator);
void kt_arena_free(kt_arena *arena);
/* Returns memory aligned for any type; NULL on failure. */
void *kt_arena_alloc(kt_arena *arena, size_t size);
/* Returns a copy of `text` that ends with a zero byte; empty on failure. */
ki_str kt_arena_copy(kt_arena *arena, ki_str text);

#endif
