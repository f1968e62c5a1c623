/* diff.h: what has changed between two states of an object, field by field. */
#ifndef KINFORMER_DIFF_H
#define KINFORMER_DIFF_H

#include <kinformer/object.h>

KI_BEGIN_DECLS

/* A field that differs. All is borrowed for the call. ki_value_next may walk the values; do not clear them. */
typedef struct ki_field_difference {
    /* "spec.replicas", "metadata.labels['example.com/a']", "status.conditions[Ready].status", "spec.args[2]". Elements
     * of arrays are named by their member type, name, ip, key or uid, or are strings themselves; else by their
     * index. */
    const char *path;
    ki_value *before; /* NULL: the field was added */
    ki_value *after;  /* NULL: the field was removed */
} ki_field_difference;

/* Calls `visit` with each field in which two states of an object differ, until it returns false. Maps and arrays are
 * compared member by member: fields of a new map are one difference each; a map that was removed, and an element
 * that an array gained or lost, is one, the last of their array. Elements of the same name are the same, wherever
 * they are: a new order alone is no difference, except of elements without a name. resourceVersion and managedFields
 * are fields like any other.
 * Threads: any. Blocks: no; parses both bodies.
 * Errors: KI_ERR_NO_MEMORY. Fields may have been visited before. */
KI_API KI_MUST_CHECK ki_status ki_object_diff(const ki_object *before, const ki_object *after,
                                              bool (*visit)(const ki_field_difference *difference, void *user)
                                                  KI_NOEXCEPT,
                                              void *user, ki_error *err);

KI_END_DECLS

#endif
