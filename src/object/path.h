/* path.h: field paths: spec.containers[0].image, spec.containers[*].image, metadata.labels['app.kubernetes.io/name']. A
 * parsed path is immutable and one allocation. */
#ifndef KI_OBJECT_PATH_H
#define KI_OBJECT_PATH_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>

#include "src/base/string_view.h"

#include <yyjson.h>

enum {
    KI_PATH_MAX_STEPS = 32,
    KI_PATH_MAX_LENGTH = 1024
};

#define KI_PATH_ALL INT64_MIN /* the index of "[*]" */

typedef struct ki_path ki_path;

typedef struct ki_path_step {
    const char *name; /* not zero-terminated; NULL: an index */
    size_t name_size;
    int64_t index; /* negative: from the end; KI_PATH_ALL: each element */
} ki_path_step;

ki_status ki_path_parse(const ki_allocator *allocator, const char *text, ki_path **ret_path, ki_error *err);
void ki_path_free(const ki_allocator *allocator, ki_path *path);
/* Returns true if the path has "[*]". */
bool ki_path_has_all(const ki_path *path);
/* Returns the first value at the path below `root`, or NULL. */
yyjson_val *ki_path_find(const ki_path *path, yyjson_val *root);
/* Calls `visit` with each value at the path below `root`, in order, until it returns false. */
void ki_path_walk(const ki_path *path, yyjson_val *root, bool (*visit)(yyjson_val *value, void *user), void *user);
/* The same for JSON text (json_text.h), without parsing all of it. */
void ki_path_walk_text(const ki_path *path, ki_str json, bool (*visit)(ki_str value, void *user), void *user);
/* Returns true if there is no value at the path because an index is past the end of its array. A path without
 * "[*]". */
bool ki_path_is_past_end(const ki_path *path, ki_str json);
/* Walks an object's body. `visit` must not call the program (ki_body_open_surely); of a packed object, the value is
 * valid in the call only. */
void ki_path_walk_object(const ki_path *path, const ki_object *obj, bool (*visit)(ki_str value, void *user),
                         void *user);
/* Returns the label that the path reads, "metadata.labels.NAME"; empty: it reads something else. Borrowed from `path`;
 * not zero-terminated. */
ki_str ki_path_label(const ki_path *path);
/* Returns true if the path is metadata, apiVersion or kind, or begins with one of them. */
bool ki_path_is_of_metadata(const ki_path *path);
/* The steps of the path, at least one. Borrowed from `path`. */
size_t ki_path_step_count(const ki_path *path);
const ki_path_step *ki_path_step_at(const ki_path *path, size_t number);

#endif
