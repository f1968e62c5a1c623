/* json.h: yyjson with the project's allocator and buffers. Every file of testing/ that reads or writes JSON uses
 * these functions. */
#ifndef KT_VALUES_JSON_H
#define KT_VALUES_JSON_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"

#include <yyjson.h>

enum {
    KT_JSON_MAX_DEPTH = 256 /* objects and arrays inside each other; deeper text is an error before it is parsed */
};

/* Returns a yyjson allocator. Borrows `allocator`, which must outlive the result. */
yyjson_alc kt_json_alc(const ki_allocator *allocator);
/* A limit on the memory of one document. Memory that is freed still counts. */
typedef struct kt_json_allowance {
    const ki_allocator *allocator;
    size_t left;   /* bytes */
    bool exceeded; /* an allocation asked for more than was left */
} kt_json_allowance;
/* Returns a yyjson allocator that stops at the limit. Borrows `allowance`. */
yyjson_alc kt_json_limited_alc(kt_json_allowance *allowance);
/* Returns true if `text` is nested deeper than KT_JSON_MAX_DEPTH. yyjson parses any depth, but functions that walk the
 * tree afterwards are recursive. */
bool kt_json_is_too_deep(ki_str text);
/* Parses `text`. Ownership: the caller frees the document.
 * Errors: KI_ERR_PARSE (`*ret_why` is a static text; `ret_why` may be NULL), KI_ERR_NO_MEMORY. */
ki_status kt_json_read(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, const char **ret_why);
/* Parses text that this program wrote. Does not check the depth. */
ki_status kt_json_read_trusted(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, const char **ret_why);
/* Makes a document of its own from a tree, which the caller keeps. Ownership: the caller frees the document.
 * Errors: KI_ERR_NO_MEMORY, also for a NULL `val`: a tree for which there was no memory. */
ki_status kt_json_freeze(const ki_allocator *allocator, yyjson_mut_val *val, yyjson_doc **ret_doc);
/* Appends `val` as JSON. Lack of memory sets `failed` in the buffer. */
ki_status kt_json_append(ki_buffer *out, yyjson_val *val);
ki_status kt_json_append_mut(ki_buffer *out, yyjson_mut_val *val);

/* Returns the text of a string; data is NULL for any other value. */
ki_str kt_json_str(yyjson_val *val);
/* Returns the string at `key`; data is NULL if there is none. */
ki_str kt_json_get_str(yyjson_val *obj, const char *key);
/* Returns true if the object has a value at `key` other than null. */
bool kt_json_has(yyjson_val *obj, const char *key);
/* Returns true for an absent value, null, and an empty list or object. */
bool kt_json_is_nothing(yyjson_val *val);
/* Returns true if `text` is one of the first `end` elements of a list, or their text at `key` if that is not NULL. */
bool kt_json_list_has(yyjson_val *list, size_t end, const char *key, ki_str text);

#endif
