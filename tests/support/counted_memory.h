/* counted_memory.h: malloc that counts the bytes in use. One count for a whole test program. Thread-safe. */
#ifndef TESTS_SUPPORT_COUNTED_MEMORY_H
#define TESTS_SUPPORT_COUNTED_MEMORY_H

#include <kinformer/allocator.h>

extern const ki_allocator counted_memory;

size_t counted_memory_in_use(void);
/* Returns the most bytes that were in use since the last call of counted_memory_restart. */
size_t counted_memory_peak(void);
/* Makes the bytes in use now the peak. */
void counted_memory_restart(void);

#endif
