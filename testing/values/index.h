/* index.h: finds members of an object or elements of a list by name, in logarithmic time. Also builds the name of a
 * list element as managedFields has it. The index lives in an arena. One thread. */
#ifndef KT_VALUES_INDEX_H
#define KT_VALUES_INDEX_H

#include "testing/values/arena.h"

#include <yyjson.h>

typedef struct kt_entry {
    ki_str name;     /* a member's key, or an element's name: k:{"name":"c"} or v:"x" */
    yyjson_val *key; /* of a member; NULL for an element */
    yyjson_val *val;
    size_t position; /* in the document */
    bool is_first;   /* of its name */
    bool is_last;    /* of its name */
} kt_entry;

typedef struct kt_index {
    kt_entry *entries; /* in document order */
    kt_entry **sorted; /* by name, then position */
    size_t count;
    bool has_nameless; /* an element of the list lacks a key */
} kt_index;

/* Indexes the members of `obj`. The index is empty if `obj` is NULL or no object. */
void kt_index_members(kt_arena *arena, yyjson_val *obj, kt_index *ret_index);
/* Indexes the elements of `list`. `keys`: the comma-separated fields that identify an element; NULL: its value
 * identifies it. */
void kt_index_elements(kt_arena *arena, yyjson_val *list, const char *keys, kt_index *ret_index);
/* Returns the first entry with this name; NULL if there is none. */
const kt_entry *kt_index_find(const kt_index *index, ki_str name);
/* Returns the last entry with this name; NULL if there is none. */
const kt_entry *kt_index_find_last(const kt_index *index, ki_str name);

#endif
