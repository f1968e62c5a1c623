/* yaml_write.h: writes JSON as YAML, with the order and the quotes of kubectl's -o yaml. */
#ifndef CLI_YAML_WRITE_H
#define CLI_YAML_WRITE_H

#include <kinformer-print/jsonpath.h>

#include <stdio.h>

/* Writes a JSON text as YAML. `number` is the template "{@}". A failed write is left to ferror(out). Errors:
 * KI_ERR_PARSE, KI_ERR_LIMIT (nested too deeply), KI_ERR_NO_MEMORY. */
ki_status yaml_write(FILE *out, const char *json, size_t size, const ki_jsonpath *number, ki_error *err);

/* Returns true if this text, without quotes, would be read as something else: a number, true, null, a time. */
bool yaml_is_ambiguous(const char *text, size_t size);
/* Compares names as strcmp does: letters by code point, runs of digits by number. */
int yaml_compare_names(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
