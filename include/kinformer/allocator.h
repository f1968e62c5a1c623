/* allocator.h: the memory functions of an engine, a configuration or a client. */
#ifndef KINFORMER_ALLOCATOR_H
#define KINFORMER_ALLOCATOR_H

#include <kinformer/export.h>

#include <stddef.h>

KI_BEGIN_DECLS

/* Three functions that work as malloc, realloc and free. With them a program counts or limits the memory of an engine
 * and of everything made with that engine. When `alloc` or `realloc` returns NULL, the current call fails with
 * KI_ERR_NO_MEMORY and changes nothing.
 * Ownership: the struct is copied. `user` must stay valid until every object of the engine is released.
 * Threads: the functions are called from all threads that use the library, also at the same time. */
typedef struct ki_allocator {
    void *(*alloc)(size_t size, void *user);
    void *(*realloc)(void *memory, size_t size, void *user);
    void (*free)(void *memory, void *user);
    void *user;
} ki_allocator;

KI_END_DECLS

#endif
