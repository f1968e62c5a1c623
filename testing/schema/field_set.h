/* field_set.h: sets of fields, as metadata.managedFields has them: a tree of path elements (f:spec, k:{"name":"c"},
 * v:"x"). Each element can be a member and can have elements below it. Sets live in an arena. Only a set that
 * kt_set_put builds can change. One thread. */
#ifndef KT_SCHEMA_FIELD_SET_H
#define KT_SCHEMA_FIELD_SET_H

#include "src/base/buffer.h"
#include "testing/values/arena.h"

#include <yyjson.h>

typedef struct kt_set kt_set;

typedef struct kt_set_entry {
    ki_str element;
    bool member;   /* the field itself is in the set, not only fields below it */
    kt_set *below; /* NULL: none */
} kt_set_entry;

struct kt_set {
    kt_set_entry *entries; /* sorted by element after kt_set_sort */
    size_t count;
    size_t capacity;
};

kt_set *kt_set_new(kt_arena *arena);
/* Adds the element `prefix` + `name`. kt_set_sort merges equal elements. NULL on failure (the arena has failed). */
kt_set_entry *kt_set_put(kt_arena *arena, kt_set *set, const char *prefix, ki_str name);
/* Sorts a set after its last kt_set_put. Other functions need sorted sets. */
void kt_set_sort(kt_arena *arena, kt_set *set);

bool kt_set_is_empty(const kt_set *set); /* true for NULL */
const kt_set_entry *kt_set_find(const kt_set *set, const char *prefix, ki_str name);
bool kt_set_equal(const kt_set *a, const kt_set *b);
/* Union, intersection and difference (`a` without `b`). The arguments can be NULL; NULL and an empty set are equal. The
 * result can be one of the arguments. */
kt_set *kt_set_union(kt_arena *arena, kt_set *a, kt_set *b);
kt_set *kt_set_intersection(kt_arena *arena, const kt_set *a, const kt_set *b);
kt_set *kt_set_difference(kt_arena *arena, kt_set *a, const kt_set *b);
/* Returns the set with every field that has a member below it added as a member. */
kt_set *kt_set_with_parents(kt_arena *arena, const kt_set *set);

/* Reads and writes fieldsV1. Reading ignores values that are no objects. `is_member`: the set is below a member. */
kt_set *kt_set_read(kt_arena *arena, yyjson_val *fields);
void kt_set_append(ki_buffer *out, const kt_set *set, bool is_member);
/* Calls `each` for each member with its path, such as .spec.containers[name="c"].image. `path` is working space. */
void kt_set_paths(const kt_set *set, ki_buffer *path, void (*each)(void *user, ki_str path), void *user);

#endif
