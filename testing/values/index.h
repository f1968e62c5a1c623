/* index.h: the members of an object, or the elements of a list, found by name: in logarithmic time, so that large ones cost no
 * square of their size. Also how an element is named in a set of fields. Lives in an arena. One thread. */
#ifndef KT_VALUES_INDEX_H
#define KT_VALUES_INDEX_H

#include "testing/values/arena.h"

#include <yyjson.h>

typedef struct kt_entry {
    ki_str name;     /* of a member: its key; of an element: k:{"name":"c"} or v:"x" */
    yyjson_val *key; /* of a member */
    yyjson_val *val;
    size_t position;
} kt_entry;

typedef struct kt_index {
    kt_entry *entries; /* in their order in the document */
    kt_entry **sorted; /* by name, then position */
    size_t count;
    bool has_duplicates;
    bool has_nameless; /* a list's element has not all of its keys */
} kt_index;

/* `obj` may be NULL or no object: then the index is empty. */
void kt_index_members(kt_arena *arena, yyjson_val *obj, kt_index *ret_index);
/* `keys`: comma-separated; NULL: the values themselves are the names. */
void kt_index_elements(kt_arena *arena, yyjson_val *list, const char *keys, kt_index *ret_index);
/* The first with this name; NULL where there is none. */
const kt_entry *kt_index_find(const kt_index *index, ki_str name);
const kt_entry *kt_index_find_last(const kt_index *index, ki_str name);

#endif
