/* yaml_write.h: JSON as YAML, as kubectl's -o yaml shows it: names in its order, its choice of quotes. */
#ifndef CLI_YAML_WRITE_H
#define CLI_YAML_WRITE_H

#include <kinformer-print/jsonpath.h>

#include <stdio.h>

/* `number` is the template "{@}". A write that fails is left to ferror(out). Errors: KI_ERR_PARSE, KI_ERR_LIMIT for values too deep in one another, KI_ERR_NO_MEMORY. */
ki_status yaml_write(FILE *out, const char *json, size_t size, const ki_jsonpath *number, ki_error *err);

/* Would this text, written without quotes, be read as something else: a number, true, null, a time? */
bool yaml_is_ambiguous(const char *text, size_t size);
/* The order of names: letters by letter, runs of digits by their number. As strcmp. */
int yaml_compare_names(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
