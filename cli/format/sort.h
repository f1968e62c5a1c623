/* sort.h: sorts objects for --sort-by. */
#ifndef CLI_FORMAT_SORT_H
#define CLI_FORMAT_SORT_H

#include <kinformer/kinformer.h>

/* Sorts by the value at `path` (as in kubectl: ".metadata.creationTimestamp"). The sort is stable. Order: objects
 * without a value, null, false and true, numbers and quantities ("1500m", "2Gi") by value, texts. Errors: KI_ERR_PARSE
 * (the path), KI_ERR_NOT_FOUND (no object has a value), KI_ERR_INVALID (the values are arrays or objects),
 * KI_ERR_NO_MEMORY. */
ki_status sort_objects(const ki_object **objects, size_t count, const char *path, ki_error *err);

#endif
