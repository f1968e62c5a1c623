/* string_view.h: borrowed bytes with a length; not zero-terminated. */
#ifndef KI_BASE_STRING_VIEW_H
#define KI_BASE_STRING_VIEW_H

#include "src/base/internal_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct ki_str {
    const char *data;
    size_t size;
} ki_str;

#define KI_STR(text) ((ki_str){ (text), sizeof(text) - 1 })

static inline ki_str ki_str_of(const char *text) {
    return (ki_str){ text, text ? strlen(text) : 0 };
}

static inline bool ki_str_equal(ki_str a, ki_str b) {
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): data is NULL only where size is 0 */
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool ki_str_equals(ki_str a, const char *text) {
    size_t size = text ? strlen(text) : 0;
    return a.size == size && (size == 0 || memcmp(a.data, text, size) == 0);
}

/* Orders by bytes, as memcmp and qsort do; a beginning comes before what it begins. */
static inline int ki_str_order(ki_str a, ki_str b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

KI_INTERNAL_API bool ki_str_starts_with(ki_str text, ki_str prefix);
/* Splits at the first `separator`. Returns the text before it; `*rest` is the text after it. Without a separator
 * returns all, and `*rest` is empty with data NULL. */
KI_INTERNAL_API ki_str ki_str_split(ki_str text, char separator, ki_str *rest);
/* Parses a decimal integer without sign, at most `max`. Returns false for anything else. */
KI_INTERNAL_API bool ki_str_to_uint64(ki_str text, uint64_t max, uint64_t *ret_value);
/* Returns the size in bytes of the UTF-8 character at the beginning of `text`, which is not empty; 0 if the bytes are
 * not UTF-8. */
KI_INTERNAL_API size_t ki_str_utf8_size(ki_str text);
KI_INTERNAL_API bool ki_str_is_utf8(ki_str text);
/* Returns the size of the character at `text` (UTF-8) if it is a control, or changes the direction of the text around
 * it; else 0. Such a character from outside drives a terminal, or has one line read as another. */
size_t ki_str_control_size(const char *text);
/* Returns a 64-bit hash with a seed. All bits are well mixed, for tables and tries. */
KI_INTERNAL_API uint64_t ki_hash(const void *data, size_t size, uint64_t seed);

/* Returns true for the key of an object in a namespace: "shop/web" in "shop". */
static inline bool ki_key_is_in_namespace(const char *key, const char *namespace_name) {
    size_t size = strlen(namespace_name);
    return strncmp(key, namespace_name, size) == 0 && key[size] == '/';
}

#endif
