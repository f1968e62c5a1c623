/* memory.h: allocation through the host's allocator. Callers check every result; NULL means KI_ERR_NO_MEMORY. */
#ifndef KI_BASE_MEMORY_H
#define KI_BASE_MEMORY_H

#include "src/base/internal_api.h"

#include <kinformer/allocator.h>

#include <stddef.h>

/* malloc, realloc, free. Static. */
KI_INTERNAL_API extern const ki_allocator ki_allocator_default;

KI_INTERNAL_API void *ki_alloc(const ki_allocator *allocator, size_t size);
KI_INTERNAL_API void *ki_alloc_zero(const ki_allocator *allocator, size_t size);
/* Allocates count * size bytes; returns NULL on overflow. */
KI_INTERNAL_API void *ki_alloc_array(const ki_allocator *allocator, size_t count, size_t size);
KI_INTERNAL_API void *ki_realloc_array(const ki_allocator *allocator, void *memory, size_t count, size_t size);
KI_INTERNAL_API void ki_free(const ki_allocator *allocator, void *memory);
/* Copy a string; the second copies `size` bytes and adds a zero. Return NULL for NULL. */
KI_INTERNAL_API char *ki_strdup(const ki_allocator *allocator, const char *text);
KI_INTERNAL_API char *ki_strndup(const ki_allocator *allocator, const char *text, size_t size);
/* Overwrites secret memory; the compiler does not remove the call. */
void ki_wipe(void *memory, size_t size);

#endif
