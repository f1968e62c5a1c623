/* store.c: see store.h. A change is made on a new snapshot, which is published when it is complete. A failure before
 * that drops the new snapshot. */
#include "src/cache/store/store.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/cache/store/index_build.h"
#include "src/cache/store/published.h"
#include "src/object/format.h"

enum {
    CHANGES_UNDER_LOCK = 64 /* objects that a new index takes up while changes wait */
};

struct ki_store {
    /* Constant. */
    ki_allocator allocator;
    uint64_t seed;
    void (*on_index_error)(const ki_error *err, const char *key, void *user);
    void *user;
    ki_published *published; /* a separate block: readers count themselves through a const store */
    /* Held for a whole change by the public functions. */
    ki_mutex call_lock;
    /* The writer's: the staged snapshot, owned; NULL between changes. */
    ki_snapshot *staged;
    ki_index_update update; /* the writer's */
};

static const ki_indexer namespace_indexer = { .name = KI_NAMESPACE_INDEX, .index = ki_index_by_namespace };

static void report_index_error(const ki_indexer *indexer, const ki_object *obj, ki_status status, void *user) {
    ki_store *store = user;
    if (!store->on_index_error)
        return;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, status, "index %s of %s: %s", indexer->name, ki_object_key(obj), ki_status_name(status));
    store->on_index_error(&err, ki_object_key(obj), store->user);
}

void ki_store_init_update(ki_store *store, ki_index_update *update) {
    ki_index_update_init(update, &store->allocator);
    update->on_error = report_index_error;
    update->user = store;
}

ki_status ki_store_new_schema(const ki_store *store, const ki_schema *before, const ki_indexer *indexers, size_t count,
                              ki_schema **ret_schema, ki_error *err) {
    return ki_schema_new(&store->allocator, store->seed, before, indexers, count, ret_schema, err);
}

/* Initializes a zeroed store and what its readers see. On failure nothing is left to free. */
static ki_status init_store(ki_store *store, ki_published *shared, const ki_store_options *options, ki_error *err) {
    ki_schema *schema = NULL;
    ki_snapshot *first = NULL;
    ki_status status = ki_schema_new(&store->allocator, options->seed, NULL, &namespace_indexer,
                                     options->namespaced ? 1 : 0, &schema, NULL);
    if (!status) {
        first = ki_snapshot_new(schema, "");
        ki_schema_unref(schema); /* the snapshot holds a reference now */
    }
    if (!first)
        return ki_error_no_memory(err, "making a store");
    status = ki_mutex_init(&store->call_lock, err);
    if (status)
        goto no_lock;
    status = ki_published_init(shared, first, err);
    if (status)
        goto not_published;
    store->seed = options->seed;
    store->on_index_error = options->on_index_error;
    store->user = options->user;
    store->published = shared;
    ki_store_init_update(store, &store->update);
    return KI_OK;
not_published:
    ki_mutex_destroy(&store->call_lock);
no_lock:
    ki_snapshot_unref(first);
    return status;
}

ki_status ki_store_new(const ki_store_options *options, ki_store **ret_store, ki_error *err) {
    ki_store_options given;
    if (!ret_store)
        return ki_error_missing(err, "ki_store_new");
    if (KI_OPTIONS_TAKE(options, &given, "KI_STORE_OPTIONS", err))
        return KI_ERR_INVALID;
    const ki_allocator *allocator = given.allocator ? given.allocator : &ki_allocator_default;
    ki_store *store = ki_alloc_zero(allocator, sizeof *store);
    ki_published *shared = ki_alloc_zero(allocator, sizeof *shared);
    ki_status status = store && shared ? KI_OK : ki_error_no_memory(err, "making a store");
    if (!status) {
        store->allocator = *allocator;
        status = init_store(store, shared, &given, err);
    }
    if (!status) {
        *ret_store = store;
        return KI_OK;
    }
    ki_free(allocator, shared);
    ki_free(allocator, store);
    return status;
}

void ki_store_free(ki_store *store) {
    if (!store)
        return;
    ki_allocator allocator = store->allocator;
    ki_snapshot_unref(store->staged);
    ki_published_destroy(store->published);
    ki_mutex_destroy(&store->call_lock);
    ki_free(&allocator, store->published);
    ki_index_update_free(&store->update);
    ki_free(&allocator, store);
}

/* ---- writing ---- */

static ki_snapshot *current(const ki_store *store) {
    return atomic_load_explicit(&store->published->now, memory_order_relaxed);
}

void ki_store_publish(ki_store *store, ki_snapshot *next) {
    KI_ASSERT(!next->base || next->base == current(store));
    ki_snapshot_link(next);
    ki_published_swap(store->published, next);
}

static ki_status update_indexes(ki_store *store, ki_snapshot *next, const ki_index_change *change) {
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < next->schema->count; i++)
        status = ki_index_update_one(&store->update, next->schema, i, &next->edit, &next->indexes[i], change);
    return status;
}

static ki_snapshot *draft(const ki_store *store, const char *resource_version) {
    ki_snapshot *now = current(store);
    return ki_snapshot_new_from(now, now->schema, resource_version ? resource_version : now->resource_version);
}

/* ---- a change: begin, stage, publish or abandon ---- */

ki_status ki_store_begin(ki_store *store, const char *resource_version, ki_error *err) {
    if (!store->staged)
        store->staged = draft(store, resource_version);
    return store->staged ? KI_OK : ki_error_no_memory(err, "changing the store");
}

/* `old` or `obj` can be NULL. */
static void count_change(ki_snapshot *next, const ki_object *old, const ki_object *obj) {
    KI_ASSERT(!old || next->object_bytes >= ki_object_memory(old));
    next->object_bytes += obj ? ki_object_memory(obj) : 0;
    next->object_bytes -= old ? ki_object_memory(old) : 0;
}

ki_status ki_store_stage_put(ki_store *store, ki_object *obj, const ki_object *read) {
    ki_snapshot *next = store->staged;
    KI_ASSERT(next && obj);
    void *old = NULL;
    const ki_tree_kind *kind = &next->schema->objects;
    const ki_str key = ki_str_of(ki_object_key(obj));
    uint64_t hash = ki_tree_hash(kind, key);
    ki_status status = ki_tree_put_hashed(kind, &next->edit.objects, &next->items, key, hash, obj, &old);
    if (!status)
        status = update_indexes(store, next, &(ki_index_change){ old, obj, read, key, hash });
    if (!status)
        count_change(next, old, obj);
    ki_object_unref(old);
    return status;
}

ki_status ki_store_stage_delete(ki_store *store, const char *key) {
    ki_snapshot *next = store->staged;
    KI_ASSERT(next);
    void *old = NULL;
    const ki_str name = ki_str_of(key);
    ki_status status = ki_tree_remove(&next->schema->objects, &next->edit.objects, &next->items, name, &old);
    if (!status && old)
        status = update_indexes(store, next, &(ki_index_change){ .old = old, .key = name });
    if (!status)
        count_change(next, old, NULL);
    ki_object_unref(old);
    return status;
}

ki_snapshot *ki_store_abandon(ki_store *store) {
    ki_snapshot *staged = store->staged;
    store->staged = NULL;
    return staged;
}

bool ki_store_publish_staged(ki_store *store) {
    ki_snapshot *staged = store->staged;
    store->staged = NULL;
    if (staged)
        ki_store_publish(store, staged);
    return staged != NULL;
}

size_t ki_store_object_bytes(const ki_store *store) {
    ki_reading reading;
    size_t bytes = ki_store_enter(store, &reading)->object_bytes;
    ki_store_leave(store, reading);
    return bytes;
}

size_t ki_store_written_bytes(const ki_store *store) {
    return current(store)->object_bytes;
}

ki_object *ki_store_known(const ki_store *store, const char *key) {
    const ki_snapshot *now = current(store);
    return ki_tree_get(&now->schema->objects, &now->items, ki_str_of(key));
}

bool ki_store_is_overtaken(const ki_store *store) {
    return store->staged && store->staged->base != current(store);
}

ki_status ki_store_set_resource_version(ki_store *store, const char *resource_version, ki_error *err) {
    ki_snapshot *next = draft(store, resource_version);
    if (!next)
        return ki_error_no_memory(err, "setting the store's resource version");
    ki_store_publish(store, next);
    return KI_OK;
}

/* ---- whole changes ---- */

/* Publishes what is staged, or abandons it after a failure. `what` names the change in the message. */
static ki_status end_change(ki_store *store, ki_status status, const char *what, ki_error *err) {
    if (!status) {
        (void)ki_store_publish_staged(store);
        return KI_OK;
    }
    ki_snapshot_unref(ki_store_abandon(store));
    return status == KI_ERR_NO_MEMORY ? ki_error_no_memory(err, what) : ki_error_set(err, status, "%s", what);
}

ki_status ki_store_put(ki_store *store, const ki_object *obj, const char *resource_version, ki_error *err) {
    if (!store || !obj)
        return ki_error_missing(err, "ki_store_put");
    ki_object *given = ki_object_ref(obj);
    ki_mutex_lock(&store->call_lock);
    ki_status status = ki_store_begin(store, resource_version, err);
    if (!status)
        status = end_change(store, ki_store_stage_put(store, given, given), "putting an object", err);
    ki_mutex_unlock(&store->call_lock);
    ki_object_unref(given);
    return status;
}

ki_status ki_store_delete(ki_store *store, const char *key, const char *resource_version, ki_error *err) {
    if (!store || !key)
        return ki_error_missing(err, "ki_store_delete");
    ki_mutex_lock(&store->call_lock);
    ki_status status = ki_store_begin(store, resource_version, err);
    if (!status)
        status = end_change(store, ki_store_stage_delete(store, key), "deleting an object", err);
    ki_mutex_unlock(&store->call_lock);
    return status;
}

/* Stages a snapshot of these objects alone. */
static ki_status stage_all(ki_store *store, ki_object *const *objects, size_t count, const char *resource_version) {
    const ki_snapshot *now = current(store);
    store->staged = ki_snapshot_new(now->schema, resource_version ? resource_version : now->resource_version);
    ki_status status = store->staged ? KI_OK : KI_ERR_NO_MEMORY;
    for (size_t i = 0; !status && i < count; i++) {
        ki_object *obj = ki_object_ref(objects[i]);
        status = obj ? ki_store_stage_put(store, obj, obj) : KI_ERR_INVALID;
        ki_object_unref(obj);
    }
    return status;
}

ki_status ki_store_replace(ki_store *store, ki_object *const *objects, size_t count, const char *resource_version,
                           ki_error *err) {
    if (!store || (!objects && count > 0))
        return ki_error_missing(err, "ki_store_replace");
    ki_mutex_lock(&store->call_lock);
    ki_status status = stage_all(store, objects, count, resource_version);
    status = end_change(store, status, "replacing all objects", err);
    ki_mutex_unlock(&store->call_lock);
    return status;
}

/* Does most of the work without the lock, so that no other thread waits for it. */
static ki_status build_indexes(ki_store *store, ki_index_build *build, ki_error *err) {
    ki_status status = KI_OK;
    bool is_done = false;
    while (!status && !is_done) {
        status = ki_index_build_catch_up(build, err);
        if (status)
            break;
        ki_mutex_lock(&store->call_lock);
        status = ki_index_build_publish(build, CHANGES_UNDER_LOCK, &is_done, err);
        ki_mutex_unlock(&store->call_lock);
    }
    return status;
}

ki_status ki_store_add_indexers(ki_store *store, const ki_indexer *indexers, size_t count, ki_error *err) {
    if (!store || !indexers)
        return ki_error_missing(err, "ki_store_add_indexers");
    ki_index_build build;
    ki_status status = ki_index_build_begin(&build, store, indexers, count, err);
    if (status)
        return status;
    status = build_indexes(store, &build, err);
    ki_index_build_end(&build);
    return status;
}

/* ---- reading ---- */

ki_status ki_store_new_empty(const ki_store *store, ki_snapshot **ret_empty, ki_error *err) {
    *ret_empty = ki_snapshot_new(current(store)->schema, "");
    return *ret_empty ? KI_OK : ki_error_no_memory(err, "clearing a store");
}

ki_snapshot *ki_store_snapshot(const ki_store *store) {
    return store ? ki_published_take(store->published) : NULL;
}

const ki_snapshot *ki_store_enter(const ki_store *store, ki_reading *ret_reading) {
    return ki_published_enter(store->published, ret_reading);
}

void ki_store_leave(const ki_store *store, ki_reading reading) {
    ki_published_leave(store->published, reading);
}

ki_object *ki_store_get(const ki_store *store, const char *key) {
    if (!store || !key)
        return NULL;
    ki_reading reading;
    const ki_snapshot *now = ki_published_enter(store->published, &reading);
    ki_object *obj = ki_object_ref(ki_tree_get(&now->schema->objects, &now->items, ki_str_of(key)));
    ki_published_leave(store->published, reading);
    return obj;
}

size_t ki_store_count(const ki_store *store) {
    if (!store)
        return 0;
    ki_reading reading;
    size_t count = ki_store_enter(store, &reading)->items.count;
    ki_store_leave(store, reading);
    return count;
}

/* ---- as known objects ---- */

static ki_object *known_get(const char *key, void *user) {
    return ki_store_get(user, key);
}

static ki_object *known_next(ki_known_walk *walk, void *user) {
    if (!walk->snapshot) {
        walk->snapshot = ki_store_snapshot(user);
        walk->cursor = (ki_cursor)KI_CURSOR_INIT;
    }
    if (!walk->namespace_name || !ki_snapshot_has_index(walk->snapshot, KI_NAMESPACE_INDEX))
        return ki_tree_next(&walk->snapshot->items, &walk->cursor);
    const ki_object *constant =
        ki_snapshot_next_by_index(walk->snapshot, KI_NAMESPACE_INDEX, walk->namespace_name, &walk->cursor);
    ki_object *obj;
    memcpy(&obj, &constant, sizeof obj); /* not const: who walks takes references */
    return obj;
}

static void known_end(ki_known_walk *walk, void *user) {
    (void)user;
    ki_snapshot_free(walk->snapshot);
}

ki_known_objects ki_store_known_objects(const ki_store *store) {
    if (!store)
        return (ki_known_objects){ .get = NULL };
    return (
        ki_known_objects){ .get = known_get, .next = known_next, .end = known_end, .user = (void *)(uintptr_t)store };
}
