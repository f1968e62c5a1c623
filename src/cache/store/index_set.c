/* index_set.c: see index_set.h. */
#include "src/cache/store/index_set.h"

#include "src/base/memory.h"

_Static_assert(offsetof(ki_index_set, only) == KI_TREE_VALUES_AT, "a set with a reference dies as a node of a tree");
_Static_assert(offsetof(ki_index_set, count) == offsetof(ki_index_set, objects) + offsetof(ki_tree, count),
               "a set of one has its count where others have it");

ki_str ki_index_set_value(const void *value) {
    const ki_index_set *set = value;
    return (ki_str){ set->value, set->value_size };
}

bool ki_index_set_has_value(const void *value, ki_str text) {
    const ki_index_set *set = value;
    return set->value_size == text.size && (text.size == 0 || memcmp(set->value, text.data, text.size) == 0);
}

ki_index_set *ki_index_set_get(const ki_schema *schema, const ki_tree *index, ki_str value) {
    return ki_tree_get(&schema->sets, index, value);
}

bool ki_index_set_has(const ki_schema *schema, size_t at, const ki_tree *index, ki_str value, ki_str key) {
    const ki_tree_kind *kind = ki_index_kind(schema, at);
    const ki_index_set *set = ki_index_set_get(schema, index, value);
    if (!set)
        return false;
    return set->count == 1 ? kind->has_key(set->only, key) : ki_tree_get(kind, &set->objects, key) != NULL;
}

/* ---- one version's sets ---- */

/* Makes the set one of `obj` alone, instead of nothing or another object. */
static void set_only(const ki_tree_kind *kind, ki_index_set *set, ki_object *obj) {
    if (kind->ref)
        kind->ref(obj);
    if (set->part.leaf_count)
        kind->unref(set->only);
    set->part.leaf_count = kind->ref != NULL;
    set->only = obj;
    set->count = 1;
}

/* Makes a set with the objects of `before` (NULL: none). Returns NULL without memory. */
static ki_index_set *set_new(const ki_schema *schema, const ki_tree_kind *kind, uint64_t version, ki_str value,
                             const ki_index_set *before) {
    ki_index_set *set = ki_alloc(&schema->allocator, sizeof *set + value.size + 1);
    if (!set)
        return NULL;
    set->part = (ki_tree_part){ .born = version & KI_TREE_VERSION_MAX };
    set->value_size = (uint32_t)value.size;
    set->reserved = 0;
    if (value.size)
        memcpy(set->value, value.data, value.size);
    set->value[value.size] = '\0';
    set->objects = before ? before->objects : (ki_tree){ NULL, 0 };
    if (before && before->count == 1)
        set_only(kind, set, before->only);
    return set;
}

static ki_tree_edit *edit_of(const ki_tree_kind *kind, ki_store_edit *edit) {
    return kind->ref ? &edit->objects : &edit->others;
}

/* Notes a set as dead, or frees it at once if only this version has it. */
static void bury_set(const ki_schema *schema, const ki_tree_kind *kind, ki_store_edit *edit, ki_index_set *set) {
    bool has_reference = set->part.leaf_count;
    if (has_reference && set->part.born == edit->others.version)
        kind->unref(set->only);
    ki_tree_bury(&schema->allocator, has_reference ? &edit->objects : &edit->others, &set->part);
}

/* Returns the set of a value that only this version has: a new one if there is none, without objects; NULL without
 * memory. */
static ki_index_set *own_set(const ki_schema *schema, const ki_tree_kind *kind, ki_store_edit *edit, ki_tree *index,
                             ki_str value, uint64_t hash) {
    void **place;
    if (ki_tree_own(&schema->sets, &edit->others, index, value, hash, &place))
        return NULL;
    ki_index_set *set = place ? *place : NULL;
    if (set && set->part.born == edit->others.version)
        return set;
    ki_index_set *own = set_new(schema, kind, edit->others.version, value, set);
    if (!own)
        return NULL;
    if (set) {
        *place = own;
        bury_set(schema, kind, edit, set);
    } else if (ki_tree_put_hashed(&schema->sets, &edit->others, index, value, hash, own, NULL)) {
        bury_set(schema, kind, edit, own);
        return NULL;
    }
    return own;
}

/* ---- changes ---- */

/* Makes the set of one object a set of two. */
static ki_status add_second(const ki_tree_kind *kind, ki_tree_edit *edit, ki_index_set *set, ki_object *obj) {
    ki_tree both = { NULL, 0 };
    ki_status status = ki_tree_put(kind, edit, &both, set->only, NULL);
    if (status)
        return status;
    status = ki_tree_put(kind, edit, &both, obj, NULL);
    if (status) {
        ki_tree_remove_last(kind, edit, &both);
        return status;
    }
    if (set->part.leaf_count)
        kind->unref(set->only);
    set->part.leaf_count = 0;
    set->objects = both;
    return KI_OK;
}

ki_status ki_index_set_add(const ki_schema *schema, size_t at, ki_store_edit *edit, ki_tree *index, ki_str value,
                           uint64_t value_hash, const ki_index_change *change) {
    const ki_tree_kind *kind = ki_index_kind(schema, at);
    ki_index_set *set = own_set(schema, kind, edit, index, value, value_hash);
    if (!set)
        return KI_ERR_NO_MEMORY;
    if (set->count > 1)
        return ki_tree_put_hashed(kind, edit_of(kind, edit), &set->objects, change->key, change->hash, change->obj,
                                  NULL);
    if (set->count == 1 && !kind->has_key(set->only, change->key))
        return add_second(kind, edit_of(kind, edit), set, change->obj);
    set_only(kind, set, change->obj);
    return KI_OK;
}

/* Removes an object from a set of several, which this version alone has. */
static ki_status remove_from_tree(const ki_tree_kind *kind, ki_tree_edit *edit, ki_index_set *set, ki_str key) {
    ki_status status = ki_tree_remove(kind, edit, &set->objects, key, NULL);
    if (status || set->count > 1)
        return status;
    ki_tree last = set->objects;
    ki_cursor cursor = KI_CURSOR_INIT;
    set_only(kind, set, ki_tree_next(&last, &cursor));
    ki_tree_remove_last(kind, edit, &last);
    return KI_OK;
}

ki_status ki_index_set_remove(const ki_schema *schema, size_t at, ki_store_edit *edit, ki_tree *index, ki_str value,
                              uint64_t value_hash, ki_str key) {
    const ki_tree_kind *kind = ki_index_kind(schema, at);
    ki_index_set *set = ki_index_set_get(schema, index, value);
    if (!set)
        return KI_OK;
    if (set->count > 1) {
        if (!ki_tree_get(kind, &set->objects, key))
            return KI_OK;
        set = own_set(schema, kind, edit, index, value, value_hash);
        return set ? remove_from_tree(kind, edit_of(kind, edit), set, key) : KI_ERR_NO_MEMORY;
    }
    if (!kind->has_key(set->only, key))
        return KI_OK;
    ki_status status = ki_tree_remove(&schema->sets, &edit->others, index, value, NULL);
    if (!status)
        bury_set(schema, kind, edit, set);
    return status;
}

/* ---- the rest ---- */

size_t ki_index_set_memory(const ki_index_set *set) {
    return sizeof *set + set->value_size + 1 + (set->count > 1 ? ki_tree_memory(&set->objects) : 0);
}

ki_object *ki_index_set_first(const ki_index_set *set, ki_cursor *cursor) {
    if (set && set->count > 1)
        return ki_tree_next(&set->objects, cursor);
    cursor->depth = -1; /* the end */
    return set ? set->only : NULL;
}

void ki_index_set_drain(const ki_schema *schema, ki_index_set *set, uint64_t born, ki_tree_drain *drain) {
    if (set->count > 1)
        ki_tree_drain_begin(drain, &set->objects, born);
    else if (set->part.leaf_count)
        schema->objects.unref(set->only);
    ki_free(&schema->allocator, set);
}
