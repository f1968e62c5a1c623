/* unstructured.h: what the files of ki_unstructured share, and what those that write one need.
 *
 * The object is a yyjson mutable document with numbers as raw text: they are written as they were read. The memory of a
 * replaced value is freed with the document; a document with much such memory is copied and freed. */
#ifndef KI_OBJECT_UNSTRUCTURED_H
#define KI_OBJECT_UNSTRUCTURED_H

#include <kinformer/allocator.h>
#include <kinformer/unstructured.h>

#include "src/base/buffer.h"
#include "src/base/internal_api.h"
#include "src/base/map.h"
#include "src/base/string_view.h"

#include <yyjson.h>

struct ki_unstructured {
    ki_allocator allocator;
    yyjson_mut_doc *doc; /* NULL: `failure` has the cause */
    size_t held;         /* bytes of the document's memory */
    size_t held_by_copy; /* bytes right after the last copy */
    ki_map indexes;      /* of maps with many members, by the map's address */
    char *json;          /* the last written text; NULL: changed since */
    bool is_read;        /* made from an object of the server */
    bool is_fenced;      /* has a fencing token */
    bool is_partial;     /* made from an object with metadata alone: only a patch leaves the other fields alone */
    ki_error failure;    /* the first failure; code KI_OK: none */
};

/* Creates an object from JSON text, with an allocator, which is copied. Returns NULL if out of memory. */
ki_unstructured *ki_unstructured_new_of(const ki_allocator *allocator, ki_str json);
/* Creates an object from YAML or JSON. Returns NULL if out of memory. */
ki_unstructured *ki_unstructured_read(const ki_allocator *allocator, const char *text);
/* Returns true if a text of an object begins with a brace: it is JSON, or a short map of YAML. */
bool ki_unstructured_is_json(ki_str text);
/* Appends the object of a YAML text as JSON. Errors: KI_ERR_PARSE with line and column (also for a second document, and
 * for what is no map), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_unstructured_yaml_to_json(ki_str text, ki_buffer *json, ki_error *err);
/* Creates an object that has failed. Returns NULL if out of memory. */
ki_unstructured *ki_unstructured_new_failed(const ki_allocator *allocator, const ki_error *failure);
/* Returns a text of the metadata, such as "name"; NULL: there is none, or the object has failed. Borrowed until the
 * next change. */
KI_INTERNAL_API const char *ki_unstructured_metadata(const ki_unstructured *object, const char *name);
/* The same, also of an object that has failed, for messages. */
KI_INTERNAL_API const char *ki_unstructured_known_metadata(const ki_unstructured *object, const char *name);
/* Returns true if the metadata has a field. */
KI_INTERNAL_API bool ki_unstructured_has_metadata(const ki_unstructured *object, const char *name);

/* Returns the document for a change of any kind, and frees the written text; NULL after a failure. */
yyjson_mut_doc *ki_unstructured_change(ki_unstructured *object);

/* Returns the array `name` of the root's map `parent`; creates both if they are missing or null. Both names are static.
 * Returns NULL after a failure, which is kept. After ki_unstructured_change. */
yyjson_mut_val *ki_unstructured_array(ki_unstructured *object, const char *parent, const char *name, const char *path);

/* Keeps the first failure. `what` is the path or member it is about. Returns false. */
KI_INTERNAL_API bool ki_unstructured_fail(ki_unstructured *object, ki_status code, const char *what, const char *why);
bool ki_unstructured_fail_no_memory(ki_unstructured *object, const char *what);

/* The members of a map, in constant time. Lack of memory is kept as a failure about `path`. All other changes of maps
 * come after ki_members_forget. */
yyjson_mut_val *ki_members_get(ki_unstructured *object, yyjson_mut_val *map, ki_str name, const char *path);
/* Adds or replaces a member. Returns false after a failure. */
bool ki_members_put(ki_unstructured *object, yyjson_mut_val *map, ki_str name, yyjson_mut_val *value, const char *path);
void ki_members_remove(ki_unstructured *object, yyjson_mut_val *map, ki_str name, const char *path);
void ki_members_forget(ki_unstructured *object);

#endif
