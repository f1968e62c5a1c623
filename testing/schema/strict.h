/* strict.h: an object as its type: what the type does not have is dropped and told, what it cannot hold is refused. One thread. */
#ifndef KT_SCHEMA_STRICT_H
#define KT_SCHEMA_STRICT_H

#include "src/base/buffer.h"
#include "testing/schema/schema.h"
#include "testing/values/arena.h"

#include <yyjson.h>

enum {
    KT_STRICT_NOTES_MAX = 100
}; /* unknown and duplicate fields that are told */

typedef struct kt_strict {
    kt_arena *arena;
    yyjson_mut_doc *doc;
    ki_buffer notes; /* unknown field "spec.x", one a line */
    size_t note_count;
    ki_buffer refusal; /* why it is no object of its type, or empty */
} kt_strict;

void kt_strict_init(kt_strict *strict, kt_arena *arena, yyjson_mut_doc *doc);
void kt_strict_free(kt_strict *strict);
/* `root` as an object of the type: without unknown fields, nulls, and duplicates (the last one stays). NULL for lack of memory (the
 * arena has failed) or where it is refused. */
yyjson_mut_val *kt_strict_read(kt_strict *strict, const kt_schema *schema, const kt_type *type, yyjson_val *root);

#endif
