/* yaml_text.h: texts that need quotes in YAML 1.1, and the order of names. Any thread. */
#ifndef KI_PRINT_YAML_TEXT_H
#define KI_PRINT_YAML_TEXT_H

#include <kinformer/allocator.h>

#include <stdbool.h>
#include <stddef.h>

/* Returns true if this text, without quotes, would be read as something else: a number, true, null, a time. Also
 * without memory, because quotes are always valid. */
bool ki_yaml_is_ambiguous(const ki_allocator *allocator, const char *text, size_t size);
/* Compares names as strcmp does: letters by code point, runs of digits by number. */
int ki_yaml_compare_names(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
