/* field_set.h: sets of fields, as metadata.managedFields has them: a tree of path elements (f:spec, k:{"name":"c"}, v:"x"), each of
 * which may be a member itself and may have more below it. They live in an arena; nothing is changed once it is made, but for
 * what kt_set_put builds. One thread. */
#ifndef KT_SCHEMA_FIELD_SET_H
#define KT_SCHEMA_FIELD_SET_H

#include "src/base/buffer.h"
#include "testing/values/arena.h"

#include <yyjson.h>

typedef struct kt_set kt_set;

typedef struct kt_set_entry {
    ki_str element;
    bool member;
    kt_set *below; /* or NULL */
} kt_set_entry;

struct kt_set {
    kt_set_entry *entries; /* sorted by element once kt_set_sort was called */
    size_t count;
    size_t capacity;
};

kt_set *kt_set_new(kt_arena *arena);
/* Adds `prefix` and `name` as one element. Two equal elements become one in kt_set_sort. */
kt_set_entry *kt_set_put(kt_arena *arena, kt_set *set, const char *prefix, ki_str name);
void kt_set_sort(kt_arena *arena, kt_set *set);

bool kt_set_is_empty(const kt_set *set); /* NULL is empty */
const kt_set_entry *kt_set_find(const kt_set *set, const char *prefix, ki_str name);
bool kt_set_equal(const kt_set *a, const kt_set *b);
kt_set *kt_set_union(kt_arena *arena, const kt_set *a, const kt_set *b);
kt_set *kt_set_intersection(kt_arena *arena, const kt_set *a, const kt_set *b);
kt_set *kt_set_difference(kt_arena *arena, const kt_set *a, const kt_set *b);
/* The same set, where every field that has something below it is a member too. */
kt_set *kt_set_with_parents(kt_arena *arena, const kt_set *set);

/* From and to fieldsV1. What is no such set is read as far as it is one. */
kt_set *kt_set_read(kt_arena *arena, yyjson_val *fields);
void kt_set_append(ki_buffer *out, const kt_set *set);
/* Each member as a path, .spec.containers[name="c"].image, to `each`. */
void kt_set_paths(const kt_set *set, ki_buffer *path, void (*each)(void *user, ki_str path), void *user);

#endif
