/* unstructured_members.c: finds, adds, replaces and removes the members of maps in constant time. A map of yyjson is a
 * ring of key, value, key, value, … without an index, and the map has the last key. So a map with many members is
 * indexed once: the index has the key before each key, and the ring leads from there to the key and its value. */
#include "src/base/memory.h"
#include "src/object/unstructured.h"

enum {
    FEW = 32 /* a map of at most this many members has no index */
};

typedef struct member_index {
    yyjson_mut_val *map;
    bool has_equal_names; /* such a map has no index; yyjson replaces and removes all of them */
    ki_map before;        /* name → the key before it */
} member_index;

static yyjson_mut_val *next_key(yyjson_mut_val *key) {
    return key->next->next;
}

static ki_str name_of(yyjson_mut_val *key) {
    return (ki_str){ yyjson_mut_get_str(key), yyjson_mut_get_len(key) };
}

static ki_str key_of(yyjson_mut_val *const *map) {
    return (ki_str){ (const char *)map, sizeof *map };
}

static void free_index(ki_unstructured *object, member_index *index) {
    ki_map_free(&index->before);
    ki_free(&object->allocator, index);
}

void ki_members_forget(ki_unstructured *object) {
    size_t cursor = 0;
    ki_str key;
    void *index;
    while (ki_map_next(&object->indexes, &cursor, &key, &index))
        free_index(object, index);
    ki_map_clear(&object->indexes);
}

static ki_status fill(member_index *index) {
    size_t count = yyjson_mut_obj_size(index->map);
    yyjson_mut_val *before = index->map->uni.ptr;
    ki_status status = ki_map_reserve(&index->before, count);
    for (size_t i = 0; i < count && !status && !index->has_equal_names; i++) {
        ki_str name = name_of(next_key(before));
        index->has_equal_names = ki_map_has(&index->before, name);
        status = ki_map_put(&index->before, name, before, NULL);
        before = next_key(before);
    }
    return status;
}

/* Returns the index of a map that has many members; NULL for others, and if out of memory, which is kept. */
static member_index *index_of(ki_unstructured *object, yyjson_mut_val *map, const char *path) {
    member_index *index = ki_map_get(&object->indexes, key_of(&map));
    if (!index && yyjson_mut_obj_size(map) > FEW) {
        index = ki_alloc_zero(&object->allocator, sizeof *index);
        if (index) {
            index->map = map;
            ki_map_init(&index->before, &object->allocator, 0);
        }
        if (!index || fill(index) || ki_map_put(&object->indexes, key_of(&index->map), index, NULL)) {
            if (index)
                free_index(object, index);
            ki_unstructured_fail_no_memory(object, path);
            return NULL;
        }
    }
    return index && !index->has_equal_names ? index : NULL;
}

static yyjson_mut_val *find(const member_index *index, ki_str name) {
    yyjson_mut_val *before = ki_map_get(&index->before, name);
    return before ? next_key(before) : NULL;
}

yyjson_mut_val *ki_members_get(ki_unstructured *object, yyjson_mut_val *map, ki_str name, const char *path) {
    const member_index *index = index_of(object, map, path);
    if (!index)
        return yyjson_mut_obj_getn(map, name.data, name.size);
    yyjson_mut_val *key = find(index, name);
    return key ? key->next : NULL;
}

/* Adds a member at the end of an indexed map. */
static bool append(member_index *index, yyjson_mut_val *key, yyjson_mut_val *value) {
    yyjson_mut_val *last = index->map->uni.ptr, *first = next_key(last);
    return yyjson_mut_obj_add(index->map, key, value) && !ki_map_put(&index->before, name_of(key), last, NULL) &&
           !ki_map_put(&index->before, name_of(first), key, NULL);
}

bool ki_members_put(ki_unstructured *object, yyjson_mut_val *map, ki_str name, yyjson_mut_val *value,
                    const char *path) {
    member_index *index = index_of(object, map, path);
    yyjson_mut_val *key = index ? find(index, name) : NULL;
    if (key) {
        value->next = next_key(key);
        key->next = value;
        return true;
    }
    key = yyjson_mut_strncpy(object->doc, name.data, name.size);
    if (!key || object->failure.code || !(index ? append(index, key, value) : yyjson_mut_obj_put(map, key, value)))
        return ki_unstructured_fail_no_memory(object, path);
    return true;
}

/* Removes the member after `before` from an indexed map that has more members. */
static void unlink_after(member_index *index, yyjson_mut_val *before) {
    yyjson_mut_val *key = next_key(before), *after = next_key(key);
    before->next->next = after;
    if (index->map->uni.ptr == key)
        index->map->uni.ptr = before;
    unsafe_yyjson_set_len(index->map, yyjson_mut_obj_size(index->map) - 1);
    (void)ki_map_remove(&index->before, name_of(key));
    (void)ki_map_put(&index->before, name_of(after), before, NULL); /* it is there: no memory is needed */
}

void ki_members_remove(ki_unstructured *object, yyjson_mut_val *map, ki_str name, const char *path) {
    member_index *index = index_of(object, map, path);
    yyjson_mut_val *before = index ? ki_map_get(&index->before, name) : NULL;
    if (before && yyjson_mut_obj_size(map) > 1) {
        unlink_after(index, before);
    } else if (before) {
        (void)ki_map_remove(&object->indexes, key_of(&map));
        free_index(object, index);
        yyjson_mut_obj_clear(map);
    } else if (!index && !object->failure.code) {
        yyjson_mut_obj_remove_keyn(map, name.data, name.size);
    }
}
