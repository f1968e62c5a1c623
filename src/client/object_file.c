/* object_file.c: makes a ki_unstructured from a file. Here and not beside ki_unstructured, because src/auth has the one
 * reader of files. */
#include <kinformer/unstructured.h>

#include "src/auth/config.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/unstructured.h"

ki_unstructured *ki_unstructured_from_file(const char *path) {
    ki_secret text = { NULL, 0 };
    ki_error err = KI_ERROR_INIT;
    ki_status status = path ? ki_secret_read_file(&ki_allocator_default, path, "an object", &text, &err)
                            : ki_error_set(&err, KI_ERR_INVALID, "the path of an object's file is NULL");
    if (status == KI_ERR_NO_MEMORY)
        return NULL;
    if (!status && text.size && memchr(text.data, '\0', text.size))
        status = ki_error_set(&err, KI_ERR_PARSE, "%s: a zero byte", path);
    ki_unstructured *object =
        status ? ki_unstructured_new_failed(&ki_allocator_default, &err) : ki_unstructured_new(text.data);
    if (!status && object && object->failure.code)
        ki_error_prefix(&object->failure, "%s", path);
    ki_secret_clear(&ki_allocator_default, &text);
    return object;
}
