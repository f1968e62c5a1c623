/* memory.c: allocation through the host's allocator, with the overflow checks. */
#include "src/base/memory.h"

#include "src/base/assert.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *default_alloc(size_t size, void *user) {
    (void)user;
    return malloc(size);
}

static void *default_realloc(void *memory, size_t size, void *user) {
    (void)user;
    return realloc(memory, size);
}

static void default_free(void *memory, void *user) {
    (void)user;
    free(memory);
}

const ki_allocator ki_allocator_default = { default_alloc, default_realloc, default_free, NULL };

/* Size 0 allocates one byte: allocators differ for 0, and NULL must only mean "out of memory". */
void *ki_alloc(const ki_allocator *allocator, size_t size) {
    KI_ASSERT(allocator && allocator->alloc);
    return allocator->alloc(size ? size : 1, allocator->user);
}

void *ki_alloc_zero(const ki_allocator *allocator, size_t size) {
    void *memory = ki_alloc(allocator, size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void *ki_alloc_array(const ki_allocator *allocator, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size)
        return NULL;
    return ki_alloc(allocator, count * size);
}

void *ki_realloc_array(const ki_allocator *allocator, void *memory, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size)
        return NULL;
    size_t bytes = count * size;
    if (!memory)
        return ki_alloc(allocator, bytes);
    return allocator->realloc(memory, bytes ? bytes : 1, allocator->user);
}

void ki_free(const ki_allocator *allocator, void *memory) {
    if (memory)
        allocator->free(memory, allocator->user);
}

char *ki_strdup(const ki_allocator *allocator, const char *text) {
    return text ? ki_strndup(allocator, text, strlen(text)) : NULL;
}

char *ki_strndup(const ki_allocator *allocator, const char *text, size_t size) {
    if (!text || size == SIZE_MAX)
        return NULL;
    char *copy = ki_alloc(allocator, size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void ki_wipe(void *memory, size_t size) {
    volatile unsigned char *byte = memory;
    while (size--)
        *byte++ = 0;
}
