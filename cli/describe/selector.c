/* selector.c: see selector.h. */
#include "selector.h"

#include "print/cells.h"
#include "src/base/memory.h"

#include <string.h>

char *selector_text(yyjson_val *root, const char *path) {
    ki_buffer text;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    ki_cell_selector(&text, root, path, 0);
    char *copy = text.failed ? NULL : strdup(text.size ? text.data : "");
    ki_buffer_free(&text);
    return copy;
}
