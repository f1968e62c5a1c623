/* memory.h: allocation through the host's allocator. Every result is checked by the caller; NULL means KI_ERR_NO_MEMORY. */
#ifndef KI_BASE_MEMORY_H
#define KI_BASE_MEMORY_H

#include <kinformer/allocator.h>

#include <stddef.h>

/* malloc, realloc, free. Static. */
extern const ki_allocator ki_allocator_default;

void *ki_alloc(const ki_allocator *allocator, size_t size);
void *ki_alloc_zero(const ki_allocator *allocator, size_t size);
/* count * size bytes, or NULL on overflow. */
void *ki_alloc_array(const ki_allocator *allocator, size_t count, size_t size);
void *ki_realloc_array(const ki_allocator *allocator, void *memory, size_t count, size_t size);
void ki_free(const ki_allocator *allocator, void *memory);
/* Copies of a string; the second takes `size` bytes and closes them with a zero. NULL in gives NULL out. */
char *ki_strdup(const ki_allocator *allocator, const char *text);
char *ki_strndup(const ki_allocator *allocator, const char *text, size_t size);
/* Overwrites memory that held a secret; not optimised away. */
void ki_wipe(void *memory, size_t size);

#endif
