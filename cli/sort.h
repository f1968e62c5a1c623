/* sort.h: objects in the order of --sort-by. */
#ifndef CLI_SORT_H
#define CLI_SORT_H

#include <kinformer/kinformer.h>

/* Sorts by what `path` (as kubectl takes it: ".metadata.creationTimestamp") leads to; objects that are equal stay as they were. First those
 * without, then null, false and true, numbers and quantities ("1500m", "2Gi") by their value, then texts.
 * Errors: KI_ERR_PARSE (the path), KI_ERR_NOT_FOUND (no object has it), KI_ERR_INVALID (it leads to arrays or objects),
 * KI_ERR_NO_MEMORY. */
ki_status sort_objects(const ki_object **objects, size_t count, const char *path, ki_error *err);

/* "1500m", "2Gi", "1e3", "-0.5": the number that it is; false for anything else. */
bool read_quantity(const char *text, double *ret_value);

#endif
