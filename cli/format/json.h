/* json.h: JSON as `kubectl get -o json` prints it: names sorted, four blanks a level, Go's escapes and numbers. */
#ifndef CLI_FORMAT_JSON_H
#define CLI_FORMAT_JSON_H

#include <kinformer-print/jsonpath.h>

enum {
    JSON_INDENT = 4
};

/* Prints a JSON value of `size` bytes on stdout, without a newline at the end. Its lines after the first are indented
 * by `level` more levels. Errors: as ki_jsonpath_print, before anything is printed. */
ki_status json_print(const char *json, size_t size, int level, ki_error *err);
/* Prints the values of a template as an array, with a newline. */
ki_status json_print_values(const ki_jsonpath *path, const char *json, size_t size, ki_error *err);

#endif
