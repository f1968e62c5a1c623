/* allocator.h: where the library's memory comes from. */
#ifndef KINFORMER_ALLOCATOR_H
#define KINFORMER_ALLOCATOR_H

#include <kinformer/export.h>

#include <stddef.h>

KI_BEGIN_DECLS

/* Three functions with malloc's, realloc's and free's meaning, so that a host can count and bound what an engine and all that
 * belongs to it use. NULL from `alloc` or `realloc` makes the call at hand fail with KI_ERR_NO_MEMORY and nothing else.
 *
 * Ownership: the struct is copied; what `user` points to must outlive every object that came from the engine.
 * Threads: called from every thread that uses the library, at once: must be thread-safe. */
typedef struct ki_allocator {
    void *(*alloc)(size_t size, void *user);
    void *(*realloc)(void *memory, size_t size, void *user);
    void (*free)(void *memory, void *user);
    void *user;
} ki_allocator;

KI_END_DECLS

#endif
