/* kept_error.c: see kept_error.h. */
#include "src/base/kept_error.h"

#include "src/base/memory.h"

#include <stdint.h>

static const ki_error lost = { KI_ERR_NO_MEMORY, KI_CATEGORY_FATAL, 0, -1, { 0 }, "out of memory" };

void ki_error_keep(const ki_allocator *allocator, ki_error **kept, const ki_error *err) {
    if (err == *kept)
        return;
    ki_error *copy = NULL;
    if (err && err->code) {
        copy = *kept && *kept != &lost ? *kept : ki_alloc(allocator, sizeof *copy);
        if (copy)
            *copy = *err;
        else
            copy = (ki_error *)(uintptr_t)&lost;
    }
    if (copy != *kept && *kept != &lost)
        ki_free(allocator, *kept);
    *kept = copy;
}

ki_error ki_error_kept(const ki_error *kept) {
    static const ki_error none = KI_ERROR_INIT;
    return kept ? *kept : none;
}
