/* strict.h: reads an object by its type or structural schema, and notes unknown and duplicate fields. Of a built-in
 * type it drops unknown fields and nulls. A custom resource keeps both: they are pruned later. One thread. */
#ifndef KT_SCHEMA_STRICT_H
#define KT_SCHEMA_STRICT_H

#include "src/base/buffer.h"
#include "testing/schema/schema.h"
#include "testing/values/arena.h"

#include <yyjson.h>

enum {
    KT_STRICT_NOTES_MAX = 100 /* unknown and duplicate fields that are noted */
};

/* The caller sets the first two, initializes the buffers, and frees them. */
typedef struct kt_strict {
    kt_arena *arena;
    yyjson_mut_doc *doc; /* the result goes here */
    ki_buffer notes;     /* lines such as: unknown field "spec.x" */
    ki_buffer error;     /* the error message for a value of the wrong type; empty: none */
    size_t note_count;
} kt_strict;

/* Returns a copy of `root` without duplicates (the last one stays). `spot` is the schema of the whole object; metadata
 * of a custom resource is read by its type. NULL if a value has the wrong type (`error`) or memory ran out (the arena
 * has failed). */
yyjson_mut_val *kt_strict_read(kt_strict *strict, const kt_spot *spot, yyjson_val *root);

#endif
