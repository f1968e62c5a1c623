/* memory_limits.h: what bounds the memory of objects: the limit of an informer, and the one of all informers of a
 * factory. The cache counts (informer_memory.c); sources read (pack.h). */
#ifndef KI_OBJECT_MEMORY_LIMITS_H
#define KI_OBJECT_MEMORY_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The memory of the objects of all informers of a factory. Any thread reads; the loop writes. */
typedef struct ki_memory_account {
    size_t limit; /* constant; 0: none */
    _Atomic size_t bytes;
    _Atomic bool is_over; /* above the limit, and until a tenth is free */
} ki_memory_account;

typedef struct ki_memory_limits {
    size_t limit;                     /* of the informer, in bytes; 0: none */
    const ki_memory_account *account; /* outlives the informer, not its objects; NULL: none */
    bool drops_content;               /* above a limit objects lose their content */
} ki_memory_limits;

#endif
