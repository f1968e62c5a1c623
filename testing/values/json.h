/* json.h: yyjson with the project's allocator and buffers. Used by every file of the model that reads or writes JSON. */
#ifndef KT_VALUES_JSON_H
#define KT_VALUES_JSON_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"

#include <yyjson.h>

enum {
    KT_JSON_MAX_DEPTH = 256
}; /* of objects and arrays in a body; deeper ones are refused before they are parsed */

/* Borrows `allocator`, which must outlive it. */
yyjson_alc kt_json_alc(const ki_allocator *allocator);
/* So much from `allocator`, and no more: for what may grow beyond all measure. */
typedef struct kt_json_allowance {
    const ki_allocator *allocator;
    size_t left;
    bool exceeded;
} kt_json_allowance;
/* Borrows `allowance`. */
yyjson_alc kt_json_limited_alc(kt_json_allowance *allowance);
/* Parses `text`. On KI_ERR_PARSE `*ret_why` (may be NULL) is a static text. Ownership: the caller frees the document. */
ki_status kt_json_read(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, const char **ret_why);
/* The same for text that a program made: its depth is not looked at. */
ki_status kt_json_read_trusted(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, const char **ret_why);
ki_status kt_json_append(ki_buffer *out, yyjson_val *val);
ki_status kt_json_append_mut(ki_buffer *out, yyjson_mut_val *val);

/* The text of a string; empty with data NULL for anything else. */
ki_str kt_json_str(yyjson_val *val);
/* The string at `key` of an object. */
ki_str kt_json_get_str(yyjson_val *obj, const char *key);
/* What a path of keys, ended by NULL, leads to. */
yyjson_val *kt_json_at(yyjson_val *root, const char *const *keys);

#endif
