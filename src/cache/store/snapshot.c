/* snapshot.c: see snapshot.h. Makes, shares, links, releases and walks a snapshot. */
#include "src/cache/store/snapshot.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/cache/store/index_set.h"

ki_snapshot *ki_snapshot_new(ki_schema *schema, const char *resource_version) {
    size_t trees = schema->count * sizeof(ki_tree), version_size = strlen(resource_version) + 1;
    ki_snapshot *snapshot = ki_alloc(&schema->allocator, sizeof *snapshot + trees + version_size);
    if (!snapshot)
        return NULL;
    uint64_t version = atomic_fetch_add(&schema->versions->last, 1) + 1;
    *snapshot = (ki_snapshot){ .schema = schema, .edit.objects.version = version, .edit.others.version = version };
    ki_refcount_inc(&schema->refs);
    ki_refcount_init(&snapshot->refs);
    for (size_t i = 0; i < schema->count; i++)
        snapshot->indexes[i] = (ki_tree){ NULL, 0 };
    snapshot->resource_version = memcpy(snapshot->indexes + schema->count, resource_version, version_size);
    return snapshot;
}

ki_snapshot *ki_snapshot_new_from(ki_snapshot *base, ki_schema *schema, const char *resource_version) {
    ki_snapshot *next = ki_snapshot_new(schema, resource_version);
    if (!next)
        return NULL;
    next->base = ki_snapshot_ref(base);
    next->items = base->items;
    next->object_bytes = base->object_bytes;
    for (size_t i = 0; i < base->schema->count; i++)
        next->indexes[i] = base->indexes[i];
    return next;
}

void ki_snapshot_link(ki_snapshot *snapshot) {
    ki_snapshot *base = snapshot->base;
    if (!base)
        return;
    ki_mutex_lock(&snapshot->schema->versions->lock);
    KI_ASSERT(!base->after && !snapshot->before && base->edit.objects.version < snapshot->edit.objects.version);
    base->after = snapshot;
    base->edit.objects.dead = snapshot->edit.objects.dead;
    base->edit.others.dead = snapshot->edit.others.dead;
    snapshot->edit.objects.dead = snapshot->edit.others.dead = NULL;
    snapshot->before = base;
    snapshot->base = NULL;
    ki_mutex_unlock(&snapshot->schema->versions->lock);
    ki_snapshot_unref(base);
}

static size_t index_memory(const ki_tree *index) {
    size_t size = ki_tree_memory(index);
    ki_cursor cursor = KI_CURSOR_INIT;
    for (const ki_index_set *set; (set = ki_tree_next(index, &cursor)) != NULL;)
        size += ki_index_set_memory(set);
    return size;
}

size_t ki_snapshot_tree_memory(const ki_snapshot *snapshot) {
    size_t size = ki_tree_memory(&snapshot->items);
    for (size_t i = 0; i < snapshot->schema->count; i++)
        size += index_memory(&snapshot->indexes[i]);
    return size;
}

ki_snapshot *ki_snapshot_ref(ki_snapshot *snapshot) {
    ki_refcount_inc(&snapshot->refs);
    return snapshot;
}

/* ---- release ---- */

void ki_snapshot_unref(ki_snapshot *snapshot) {
    ki_snapshot_drain drain;
    size_t all = SIZE_MAX;
    ki_snapshot_drain_begin(&drain, snapshot);
    if (drain.snapshot)
        (void)ki_snapshot_drain_some(&drain, &all);
}

static void begin_whole(ki_snapshot_drain *drain, ki_snapshot *snapshot, uint64_t born) {
    *drain = (ki_snapshot_drain){ .snapshot = snapshot, .is_whole = true, .born = born };
}

void ki_snapshot_drain_begin(ki_snapshot_drain *drain, ki_snapshot *snapshot) {
    *drain = (ki_snapshot_drain){ .snapshot = NULL };
    if (!snapshot || !ki_refcount_dec(&snapshot->refs))
        return;
    drain->snapshot = snapshot;
    if (snapshot->base) /* it was dropped: `base` has the rest */
        begin_whole(drain, snapshot, snapshot->edit.objects.version);
}

static void free_block(ki_snapshot *snapshot) {
    ki_schema *schema = snapshot->schema;
    ki_free(&schema->allocator, snapshot);
    ki_schema_unref(schema);
}

/* Moves some parts of `*dead` to `*ret_free`, and those that the snapshot before has to its own list. */
static void sort_dead(const ki_snapshot *snapshot, ki_tree_part **dead, ki_tree_part **dead_before,
                      ki_tree_part **ret_free, size_t *units) {
    const ki_snapshot *before = snapshot->before;
    while (*dead && *units > 0) {
        ki_tree_part *part = *dead;
        size_t cost = 1 + (size_t)part->leaf_count;
        bool is_in_before = before && part->born <= before->edit.objects.version;
        ki_tree_part **to = is_in_before ? dead_before : ret_free;
        *dead = part->next_dead;
        part->next_dead = *to;
        *to = part;
        *units -= cost < *units ? cost : *units;
    }
}

/* Takes the snapshot out of its chain. Returns the last one of the chain if only this is left, and nobody reads it. */
static ki_snapshot *unlink_snapshot(const ki_snapshot *snapshot) {
    KI_HELD(&snapshot->schema->versions->lock);
    KI_ASSERT(snapshot->after && snapshot->after->before == snapshot);
    KI_ASSERT(!snapshot->before || snapshot->before->after == snapshot);
    ki_snapshot *before = snapshot->before, *after = snapshot->after;
    after->before = before;
    if (before)
        before->after = after;
    return after->is_released && !before && !after->after ? after : NULL;
}

/* Frees some of what the successor lacks. At its end, also frees the snapshot. The last one of its chain has no
 * successor: its predecessors have most of it, and the last of these frees it. */
static void release_dead(ki_snapshot_drain *drain, size_t *units) {
    enum {
        UNDER_LOCK = 64 /* units */
    };
    ki_snapshot *snapshot = drain->snapshot, *last = NULL;
    ki_schema *schema = snapshot->schema;
    ki_tree_part *nodes = NULL, *others = NULL;
    ki_tree_part *none = NULL;
    size_t slice = *units < UNDER_LOCK ? *units : UNDER_LOCK, left = slice;
    ki_mutex_lock(&schema->versions->lock);
    snapshot->is_released = true;
    ki_snapshot *before = snapshot->before;
    if (!snapshot->after) {
        ki_mutex_unlock(&schema->versions->lock);
        drain->snapshot = NULL;
        if (!before)
            begin_whole(drain, snapshot, 0);
        return;
    }
    sort_dead(snapshot, &snapshot->edit.objects.dead, before ? &before->edit.objects.dead : &none, &nodes, &left);
    sort_dead(snapshot, &snapshot->edit.others.dead, before ? &before->edit.others.dead : &none, &others, &left);
    bool is_done = !snapshot->edit.objects.dead && !snapshot->edit.others.dead;
    if (is_done)
        last = unlink_snapshot(snapshot);
    ki_mutex_unlock(&schema->versions->lock);
    for (ki_tree_part *next; nodes; nodes = next) {
        next = nodes->next_dead;
        ki_tree_free_node(&schema->objects, nodes);
    }
    for (ki_tree_part *next; others; others = next) {
        next = others->next_dead;
        ki_free(&schema->allocator, others);
    }
    *units -= slice - left;
    if (!is_done)
        return;
    drain->snapshot = NULL;
    free_block(snapshot);
    if (last)
        begin_whole(drain, last, 0);
}

/* Frees a set, if it is to be freed, object by object. */
static void drain_set(ki_snapshot_drain *drain, ki_index_set *set) {
    if (!drain->born || set->part.born == drain->born)
        ki_index_set_drain(drain->snapshot->schema, set, drain->born, &drain->set);
}

/* Releases the next object of the set being freed. Returns false if there is none. */
static bool release_indexed(const ki_tree_kind *kind, ki_snapshot_drain *drain) {
    ki_object *obj = ki_tree_drain_next(kind, &drain->set);
    if (obj && kind->unref)
        kind->unref(obj);
    return obj != NULL;
}

/* Frees the next object or set of the trees. Returns false once nothing is left. */
static bool release_next(ki_snapshot_drain *drain) {
    ki_snapshot *snapshot = drain->snapshot;
    ki_schema *schema = snapshot->schema;
    if (drain->next > 0 && drain->next <= schema->count &&
        release_indexed(ki_index_kind(schema, drain->next - 1), drain))
        return true;
    bool is_index = drain->next <= schema->count;
    void *value = ki_tree_drain_next(is_index ? &schema->sets : &schema->objects, &drain->tree);
    if (!value && !is_index)
        return false;
    if (!value) {
        ki_tree *next = drain->next < schema->count ? &snapshot->indexes[drain->next] : &snapshot->items;
        ki_tree_drain_begin(&drain->tree, next, drain->born);
        drain->next++;
    } else if (is_index) {
        drain_set(drain, value);
    } else {
        ki_object_unref(value);
    }
    return true;
}

static void release_whole(ki_snapshot_drain *drain, size_t *units) {
    while (*units > 0) {
        --*units;
        if (release_next(drain))
            continue;
        ki_snapshot *base = drain->snapshot->base;
        free_block(drain->snapshot);
        ki_snapshot_drain_begin(drain, base);
        return;
    }
}

bool ki_snapshot_drain_some(ki_snapshot_drain *drain, size_t *units) {
    while (drain->snapshot && *units > 0) {
        if (drain->is_whole)
            release_whole(drain, units);
        else
            release_dead(drain, units);
    }
    return !drain->snapshot;
}

/* ---- reading ---- */

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
    return sets ? ki_index_set_get(snapshot->schema, sets, ki_str_of(value)) : NULL;
}

bool ki_snapshot_has_index(const ki_snapshot *snapshot, const char *index) {
    return find_index(snapshot, index) != NULL;
}

static const ki_tree no_tree = { NULL, 0 };

/* After its first step a walk needs only the cursor, without another lookup of index and value. */
const ki_object *ki_snapshot_next_by_index(const ki_snapshot *snapshot, const char *index, const char *value,
                                           ki_cursor *cursor) {
    if (!cursor)
        return NULL;
    return cursor->depth == 0 ? ki_index_set_first(find_set(snapshot, index, value), cursor)
                              : ki_tree_next(&no_tree, cursor);
}

size_t ki_snapshot_count_by_index(const ki_snapshot *snapshot, const char *index, const char *value) {
    const ki_index_set *set = find_set(snapshot, index, value);
    return set ? set->count : 0;
}

const char *ki_snapshot_next_index_value(const ki_snapshot *snapshot, const char *index, ki_cursor *cursor) {
    if (!cursor)
        return NULL;
    const ki_tree *sets = cursor->depth == 0 ? find_index(snapshot, index) : NULL;
    const ki_index_set *set = ki_tree_next(sets ? sets : &no_tree, cursor);
    return set ? set->value : NULL;
}
