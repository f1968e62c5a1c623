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
 * compared member by member. Each field of a new map is a difference; a map that was removed is one difference, and so
 * is each element that an array gained or lost. Those of an array come after its other differences. Elements with the
 * same name are compared wherever they are in the array: only elements without a name have an order.
 * resourceVersion and managedFields are fields like any other. With KI_KEEP_METADATA a difference of other fields does
 * not show.
 * Threads: any. Blocks: no; parses both bodies.
 * Errors: KI_ERR_STATE (a state has no content, or only one of them has metadata alone: ki_keep), KI_ERR_NO_MEMORY.
 * Fields may have been visited before KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_object_diff(const ki_object *before, const ki_object *after,
                                              bool (*visit)(const ki_field_difference *difference, void *user)
                                                  KI_NOEXCEPT,
                                              void *user, ki_error *err);

KI_END_DECLS

#endif
