/* index_build.c: see index_build.h. Two snapshots share all unchanged nodes, so the walk over the changes skips the
 * unchanged objects (tree.h). */
#include "src/cache/store/index_build.h"

#include "src/base/error.h"

static const char what[] = "adding an index";

static const ki_tree *items_of(const ki_snapshot *snapshot) {
    static const ki_tree none = { NULL, 0 };
    return snapshot ? &snapshot->items : &none;
}

static ki_object *object_in(const ki_index_build *build, const ki_snapshot *snapshot, const ki_object *obj) {
    return ki_tree_get(&build->made->schema->objects, items_of(snapshot), ki_str_of(ki_object_key(obj)));
}

static void drop(ki_index_build *build) {
    ki_snapshot *dropped[] = { build->made, build->indexed, build->target, build->unused, build->prepared };
    build->made = build->indexed = build->target = build->unused = build->prepared = NULL;
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        ki_snapshot_unref(dropped[i]);
}

/* Sets the store's schema without the new indexes. What is built moves to its places behind these indexes. */
static ki_status set_base(ki_index_build *build, ki_schema *base, ki_error *err) {
    ki_schema *schema = NULL;
    ki_status status = ki_store_new_schema(build->store, base, build->indexers, build->count, &schema, err);
    if (status)
        return status;
    ki_snapshot *next = ki_snapshot_new(schema, ""), *made = build->made;
    ki_schema_unref(schema);
    if (!next)
        return ki_error_no_memory(err, what);
    for (size_t i = 0; made && i < build->count; i++) {
        ki_tree *from = &made->indexes[build->base->count + i];
        next->indexes[base->count + i] = *from;
        *from = (ki_tree){ NULL, 0 };
    }
    if (made)
        next->edit = made->edit; /* its version has made the nodes */
    ki_snapshot_unref(made);
    build->made = next;
    build->base = base; /* `target`, later `indexed`, has the reference */
    return KI_OK;
}

/* Sets the target and begins the walk. Takes over the reference to `target`. */
static void begin_walk(ki_index_build *build, ki_snapshot *target) {
    build->target = target;
    build->walks_target = false;
    ki_tree_changes_begin(&build->changes, items_of(build->indexed), items_of(target));
}

static ki_status update(ki_index_build *build, const ki_object *old, ki_object *obj) {
    ki_snapshot *made = build->made;
    const ki_str key = ki_str_of(ki_object_key(obj ? obj : old));
    const ki_index_change change = { old, obj, obj, key, ki_tree_hash(&made->schema->objects, key) };
    ki_status status = KI_OK;
    for (size_t i = build->base->count; !status && i < made->schema->count; i++)
        status = ki_index_update_one(&build->update, made->schema, i, &made->edit, &made->indexes[i], &change);
    return status;
}

/* Applies one change. */
static ki_status apply_next(ki_index_build *build) {
    ki_object *obj = ki_tree_changes_next(&build->changes);
    if (obj && build->walks_target)
        return object_in(build, build->indexed, obj) ? KI_OK : update(build, NULL, obj);
    if (obj) {
        ki_object *now = object_in(build, build->target, obj);
        return now == obj ? KI_OK : update(build, obj, now);
    }
    if (!build->walks_target) {
        build->walks_target = true;
        ki_tree_changes_begin(&build->changes, items_of(build->target), items_of(build->indexed));
        return KI_OK;
    }
    build->unused = build->indexed;
    build->indexed = build->target;
    build->target = NULL;
    return KI_OK;
}

static ki_status catch_up(ki_index_build *build, size_t units, ki_error *err) {
    ki_status status = KI_OK;
    for (; !status && units > 0 && build->target; units--)
        status = apply_next(build);
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(err, what);
    return status ? ki_error_set(err, status, "%s", what) : KI_OK;
}

ki_status ki_index_build_begin(ki_index_build *build, ki_store *store, const ki_indexer *indexers, size_t count,
                               ki_error *err) {
    *build = (ki_index_build){ .store = store, .indexers = indexers, .count = count };
    ki_store_init_update(store, &build->update);
    ki_snapshot *now = ki_store_snapshot(store);
    ki_status status = set_base(build, now->schema, err);
    if (status) {
        ki_snapshot_unref(now);
        ki_index_build_end(build);
        return status;
    }
    begin_walk(build, now);
    return KI_OK;
}

ki_status ki_index_build_catch_up(ki_index_build *build, ki_error *err) {
    ki_snapshot_unref(build->prepared);
    ki_snapshot_unref(build->unused);
    build->prepared = build->unused = NULL;
    if (!build->target) {
        ki_snapshot *now = ki_store_snapshot(build->store);
        ki_status status = now->schema == build->base ? KI_OK : set_base(build, now->schema, err);
        if (status) {
            ki_snapshot_unref(now);
            return status;
        }
        begin_walk(build, now);
    }
    ki_status status = catch_up(build, SIZE_MAX, err);
    ki_snapshot_unref(build->unused);
    build->unused = NULL;
    return status;
}

ki_status ki_index_build_prepare(ki_index_build *build, size_t units, bool *ret_ready, ki_error *err) {
    ki_snapshot *now = ki_store_snapshot(build->store);
    *ret_ready = false;
    if (now->schema != build->base) { /* another index was added meanwhile: ki_index_build_catch_up takes it up */
        ki_snapshot_unref(now);
        return KI_OK;
    }
    begin_walk(build, now);
    ki_status status = catch_up(build, units, err);
    if (status || build->target)
        return status;
    build->prepared = ki_snapshot_new_from(build->indexed, build->made->schema, build->indexed->resource_version);
    *ret_ready = build->prepared != NULL;
    return build->prepared ? KI_OK : ki_error_no_memory(err, what);
}

void ki_index_build_publish_prepared(ki_index_build *build) {
    ki_snapshot *made = build->made, *next = build->prepared;
    build->prepared = NULL;
    for (size_t i = build->base->count; i < made->schema->count; i++) {
        next->indexes[i] = made->indexes[i];
        made->indexes[i] = (ki_tree){ NULL, 0 };
    }
    ki_store_publish(build->store, next);
}

ki_status ki_index_build_publish(ki_index_build *build, size_t units, bool *ret_done, ki_error *err) {
    ki_status status = ki_index_build_prepare(build, units, ret_done, err);
    if (!status && *ret_done)
        ki_index_build_publish_prepared(build);
    return status;
}

void ki_index_build_end(ki_index_build *build) {
    drop(build);
    ki_index_update_free(&build->update);
}
