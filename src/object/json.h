/* json.h: yyjson with this library's allocator and errors. Any thread. */
#ifndef KI_OBJECT_JSON_H
#define KI_OBJECT_JSON_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/internal_api.h"
#include "src/base/json_scan.h"

#include <yyjson.h>

/* Returns KI_ERR_UNSUPPORTED if the yyjson that the program has loaded has another major or minor version than the
 * headers that this library was compiled with: its structs may differ. A program that exports functions named yyjson_…
 * has its own in place of libyyjson's. The first call asks yyjson; later calls cost one load. */
ki_status ki_json_check_library(ki_error *err);
/* Returns yyjson's interface to `allocator`, which must outlive everything made with it. */
KI_INTERNAL_API yyjson_alc ki_json_allocator(const ki_allocator *allocator);
/* Parses `text`; the caller frees the document with yyjson_doc_free. Errors: KI_ERR_PARSE with yyjson's message and the
 * position, KI_ERR_NO_MEMORY. */
KI_INTERNAL_API ki_status ki_json_parse(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc,
                                        ki_error *err);
/* The same, with numbers as raw text (yyjson's raw values), so that they are written as they were read. */
ki_status ki_json_parse_exact(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, ki_error *err);
/* The same as ki_json_parse for a `text` that may be overwritten and that YYJSON_PADDING_SIZE zeros follow. The
 * document's strings point into it. */
ki_status ki_json_parse_in_place(const ki_allocator *allocator, char *text, size_t size, yyjson_doc **ret_doc,
                                 ki_error *err);
/* Memory for the tree of one text that is parsed in place: yyjson asks for it at once, by the size of the text. */
typedef struct ki_json_room {
    const ki_allocator *allocator; /* for a tree of more values than expected */
    char *tree;
    size_t tree_size;
    bool is_taken; /* yyjson has the tree's memory */
} ki_json_room;

/* Returns the bytes of memory for a text of `size` bytes and its tree. */
size_t ki_json_room_size(size_t size);
/* Parses the text of `size` bytes at the beginning of `memory`, which has ki_json_room_size(size) bytes and is aligned
 * as malloc's is. The caller frees the document before the memory and the room. Errors: as ki_json_parse. */
ki_status ki_json_room_parse(ki_json_room *room, const ki_allocator *allocator, char *memory, size_t size,
                             yyjson_doc **ret_doc, ki_error *err);
/* Returns true if values nest deeper than `limit`, which is at most KI_JSON_DEPTH_MAX. */
bool ki_json_is_deep(yyjson_doc *doc, size_t limit);
/* Returns the string member `name` of `object`; an empty view with data NULL if it is missing or not a string. */
KI_INTERNAL_API ki_str ki_json_string(yyjson_val *object, const char *name);
/* Returns true if the member `name` is missing, null or a string. */
KI_INTERNAL_API bool ki_json_is_string_or_none(yyjson_val *object, const char *name);

#endif
