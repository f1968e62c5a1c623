/* snapshot.c: see snapshot.h. Makes, shares, releases and walks a snapshot. */
#include "src/cache/store/snapshot.h"

#include "src/base/memory.h"

ki_snapshot *ki_snapshot_new(ki_schema *schema, ki_str resource_version) {
    size_t trees = schema->count * sizeof(ki_tree);
    ki_snapshot *snapshot = ki_alloc(&schema->allocator, sizeof *snapshot + trees + resource_version.size + 1);
    if (!snapshot)
        return NULL;
    ki_refcount_init(&snapshot->refs);
    snapshot->schema = ki_schema_ref(schema);
    snapshot->items = (ki_tree){ NULL, 0 };
    snapshot->object_bytes = 0;
    snapshot->next_deferred = NULL;
    for (size_t i = 0; i < schema->count; i++)
        snapshot->indexes[i] = (ki_tree){ NULL, 0 };
    char *text = (char *)(snapshot->indexes + schema->count);
    if (resource_version.size)
        memcpy(text, resource_version.data, resource_version.size);
    text[resource_version.size] = '\0';
    snapshot->resource_version = text;
    return snapshot;
}

ki_snapshot *ki_snapshot_new_from(const ki_snapshot *before, ki_schema *schema, ki_str resource_version) {
    ki_snapshot *next = ki_snapshot_new(schema, resource_version);
    if (!next)
        return NULL;
    next->items = ki_tree_ref(&before->items);
    next->object_bytes = before->object_bytes;
    for (size_t i = 0; i < before->schema->count; i++)
        next->indexes[i] = ki_tree_ref(&before->indexes[i]);
    return next;
}

ki_snapshot *ki_snapshot_ref(ki_snapshot *snapshot) {
    ki_refcount_inc(&snapshot->refs);
    return snapshot;
}

void ki_snapshot_free(ki_snapshot *snapshot) {
    if (!snapshot || !ki_refcount_dec(&snapshot->refs))
        return;
    ki_schema *schema = snapshot->schema;
    for (size_t i = 0; i < schema->count; i++)
        ki_tree_unref(&schema->sets, &snapshot->indexes[i]);
    ki_tree_unref(&schema->objects, &snapshot->items);
    ki_free(&schema->allocator, snapshot);
    ki_schema_unref(schema);
}

void ki_snapshot_drain_begin(ki_snapshot_drain *drain, ki_snapshot *snapshot) {
    *drain = (ki_snapshot_drain){ .snapshot = NULL };
    if (snapshot && ki_refcount_dec(&snapshot->refs))
        drain->snapshot = snapshot;
}

/* Releases the next object or set. Releases the last reference to a set object by object. Returns false once nothing is
 * left. */
static bool release_next(ki_snapshot_drain *drain) {
    ki_snapshot *snapshot = drain->snapshot;
    ki_schema *schema = snapshot->schema;
    ki_object *obj = ki_tree_drain_next(&schema->objects, &drain->set);
    if (obj) {
        ki_object_unref(obj);
        return true;
    }
    bool is_index = drain->next <= schema->count;
    void *value = ki_tree_drain_next(is_index ? &schema->sets : &schema->objects, &drain->tree);
    if (!value && !is_index)
        return false;
    if (!value) {
        ki_tree *next = drain->next < schema->count ? &snapshot->indexes[drain->next] : &snapshot->items;
        ki_tree_drain_begin(&drain->tree, next);
        drain->next++;
    } else if (is_index) {
        ki_index_set_drain(schema, value, &drain->set);
    } else {
        ki_object_unref(value);
    }
    return true;
}

bool ki_snapshot_drain_some(ki_snapshot_drain *drain, size_t *units) {
    while (drain->snapshot && *units > 0) {
        --*units;
        if (release_next(drain))
            continue;
        ki_schema *schema = drain->snapshot->schema;
        ki_free(&schema->allocator, drain->snapshot);
        ki_schema_unref(schema);
        drain->snapshot = NULL;
    }
    return !drain->snapshot;
}

size_t ki_snapshot_count(const ki_snapshot *snapshot) {
    return snapshot ? snapshot->items.count : 0;
}

const char *ki_snapshot_resource_version(const ki_snapshot *snapshot) {
    return snapshot ? snapshot->resource_version : "";
}

const ki_object *ki_snapshot_get(const ki_snapshot *snapshot, const char *key) {
    if (!snapshot || !key)
        return NULL;
    return ki_tree_get(&snapshot->schema->objects, &snapshot->items, ki_str_of(key));
}

const ki_object *ki_snapshot_next(const ki_snapshot *snapshot, ki_cursor *cursor) {
    return snapshot && cursor ? ki_tree_next(&snapshot->items, cursor) : NULL;
}

static const ki_tree *find_index(const ki_snapshot *snapshot, const char *name) {
    if (!snapshot || !name)
        return NULL;
    size_t at = ki_schema_find(snapshot->schema, name);
    return at < snapshot->schema->count ? &snapshot->indexes[at] : NULL;
}

static const ki_index_set *find_set(const ki_snapshot *snapshot, const char *index, const char *value) {
    const ki_tree *sets = find_index(snapshot, index);
    return sets ? ki_index_get(snapshot->schema, sets, ki_str_of(value)) : NULL;
}

bool ki_snapshot_has_index(const ki_snapshot *snapshot, const char *index) {
    return find_index(snapshot, index) != NULL;
}

/* Continues a walk. After its first step a walk needs only the cursor, without another lookup of index and value. */
static void *next_in(const ki_tree *tree, ki_cursor *cursor) {
    static const ki_tree none = { NULL, 0 };
    return ki_tree_next(tree ? tree : &none, cursor);
}

const ki_object *ki_snapshot_next_by_index(const ki_snapshot *snapshot, const char *index, const char *value,
                                           ki_cursor *cursor) {
    if (!cursor)
        return NULL;
    const ki_index_set *set = cursor->depth == 0 ? find_set(snapshot, index, value) : NULL;
    return next_in(set ? &set->objects : NULL, cursor);
}

size_t ki_snapshot_count_by_index(const ki_snapshot *snapshot, const char *index, const char *value) {
    const ki_index_set *set = find_set(snapshot, index, value);
    return set ? set->objects.count : 0;
}

const char *ki_snapshot_next_index_value(const ki_snapshot *snapshot, const char *index, ki_cursor *cursor) {
    if (!cursor)
        return NULL;
    const ki_index_set *set = next_in(cursor->depth == 0 ? find_index(snapshot, index) : NULL, cursor);
    return set ? set->value : NULL;
}
