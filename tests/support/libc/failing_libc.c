/* failing_libc.c: see failing_libc.h. The program is linked so that the functions below are called in place of
 * libc's. */
#include "failing_libc.h"

#include <search.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

size_t libc_allocations = SIZE_MAX;
bool libc_has_failed;

static bool fails(void) {
    libc_has_failed = libc_has_failed || libc_allocations == 0;
    return libc_allocations != SIZE_MAX && libc_allocations-- == 0;
}

#define REPLACES(function) __asm__("__wrap_" #function)
#define REPLACED(function) __asm__("__real_" #function)
void *real_malloc(size_t size) REPLACED(malloc);
void *real_calloc(size_t count, size_t size) REPLACED(calloc);
void *real_realloc(void *block, size_t size) REPLACED(realloc);
char *real_strdup(const char *text) REPLACED(strdup);
void *real_tsearch(const void *key, void **root, int (*compare)(const void *a, const void *b)) REPLACED(tsearch);
FILE *real_open_memstream(char **text, size_t *size) REPLACED(open_memstream);
int real_vasprintf(char **text, const char *format, va_list args) REPLACED(vasprintf);
void *scarce_malloc(size_t size) REPLACES(malloc);
void *scarce_calloc(size_t count, size_t size) REPLACES(calloc);
void *scarce_realloc(void *block, size_t size) REPLACES(realloc);
char *scarce_strdup(const char *text) REPLACES(strdup);
void *scarce_tsearch(const void *key, void **root, int (*compare)(const void *a, const void *b)) REPLACES(tsearch);
FILE *scarce_open_memstream(char **text, size_t *size) REPLACES(open_memstream);
int scarce_vasprintf(char **text, const char *format, va_list args) REPLACES(vasprintf);

void *scarce_malloc(size_t size) {
    return fails() ? NULL : real_malloc(size);
}

void *scarce_calloc(size_t count, size_t size) {
    return fails() ? NULL : real_calloc(count, size);
}

void *scarce_realloc(void *block, size_t size) {
    return fails() ? NULL : real_realloc(block, size);
}

char *scarce_strdup(const char *text) {
    return fails() ? NULL : real_strdup(text);
}

void *scarce_tsearch(const void *key, void **root, int (*compare)(const void *a, const void *b)) {
    return fails() ? NULL : real_tsearch(key, root, compare);
}

FILE *scarce_open_memstream(char **text, size_t *size) {
    return fails() ? NULL : real_open_memstream(text, size);
}

int scarce_vasprintf(char **text, const char *format, va_list args) {
    return fails() ? -1 : real_vasprintf(text, format, args);
}
