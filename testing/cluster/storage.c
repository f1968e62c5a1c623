/* storage.c: see storage.h. */
#include "testing/cluster/storage.h"

#include "src/base/array.h"
#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/owners.h"
#include "testing/cluster/view.h"

void kt_storage_describe(kt_storage *storage, const ki_resource_info *info, ki_str path) {
    const ki_resource *resource = info->resource;
    const kt_custom *custom = kt_custom_of(info);
    ki_str version = { path.data, path.size - strlen(resource->plural) - 1 };
    storage->info = info;
    storage->api_version = resource->group[0] ? version : (ki_str){ version.data + 1, version.size - 1 };
    storage->strategy = kt_strategy_of(info);
    storage->has_status = kt_has_status(info);
    storage->spot = kt_spot_of(info);
    storage->defaults = custom ? NULL : kt_defaults_of(storage->cluster->defaults, resource);
    storage->paths = custom ? custom->paths : kt_object_field_paths(resource);
    storage->converts = storage->converts || custom;
}

size_t kt_objects_bound(kt_object *const *objects, size_t count, ki_str key, bool after) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = ki_str_order(objects[middle]->key, key);
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the index at which `ns` + `closing` would be. */
static size_t namespace_bound(kt_object *const *objects, size_t count, ki_str ns, char closing) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        ki_str key = objects[middle]->key;
        ki_str head = { key.data, key.size < ns.size ? key.size : ns.size };
        int order = ki_str_order(head, ns);
        if (order == 0)
            order = key.size > ns.size ? (unsigned char)key.data[ns.size] - (unsigned char)closing : -1;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void kt_objects_range(kt_object *const *objects, size_t count, ki_str ns, size_t *ret_begin, size_t *ret_end) {
    *ret_begin = ns.size ? namespace_bound(objects, count, ns, '/') : 0;
    *ret_end = ns.size ? namespace_bound(objects, count, ns, '/' + 1) : count;
}

kt_object *kt_storage_get(const kt_storage *storage, ki_str ns, ki_str name) {
    storage = storage->store;
    size_t low = 0, high = storage->count;
    while (low < high) { /* compare the parts, to avoid building a key */
        size_t middle = low + (high - low) / 2;
        const kt_object *obj = storage->objects[middle];
        int order = 0;
        if (ki_str_equal(obj->ns, ns)) {
            order = ki_str_order(obj->name, name);
        } else { /* "a-b/x" sorts before "a/x" */
            size_t shared = obj->ns.size < ns.size ? obj->ns.size : ns.size;
            order = shared ? memcmp(obj->ns.data, ns.data, shared) : 0;
            if (order == 0)
                order = obj->ns.size > ns.size ? (unsigned char)obj->ns.data[shared] - '/'
                                               : '/' - (unsigned char)ns.data[shared];
        }
        if (order == 0)
            return storage->objects[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Is the object at an index between its neighbours? */
static bool is_sorted_at(kt_object *const *objects, size_t count, size_t index) {
    return (index == 0 || index >= count || ki_str_order(objects[index - 1]->key, objects[index]->key) < 0) &&
           (index + 1 >= count || ki_str_order(objects[index]->key, objects[index + 1]->key) < 0);
}

/* Inserts (KT_ADDED), replaces (KT_MODIFIED) or removes (KT_DELETED) `obj` in a sorted array with room for one more.
 * Returns the replaced or removed object. Does not change reference counts. */
static kt_object *apply(kt_object **objects, size_t *count, kt_event_type type, kt_object *obj) {
    size_t index = kt_objects_bound(objects, *count, obj->key, false);
    KI_ASSERT((type != KT_ADDED) == (index < *count && ki_str_equal(objects[index]->key, obj->key)));
    kt_object *old = type == KT_ADDED ? NULL : objects[index];
    if (type == KT_ADDED) {
        memmove(objects + index + 1, objects + index, (*count - index) * sizeof *objects);
        ++*count;
    }
    if (type == KT_DELETED) {
        memmove(objects + index, objects + index + 1, (*count - index - 1) * sizeof *objects);
        --*count;
    } else {
        objects[index] = obj;
    }
    KI_ASSERT(is_sorted_at(objects, *count, index));
    return old;
}

static void wake(kt_watcher *watcher) {
    if (watcher->woken || !watcher->wake)
        return;
    watcher->woken = true;
    watcher->wake(watcher->user);
}

/* Wakes the readers of a storage whose history has grown. Skips readers that are woken already. */
static void notify_watchers(kt_storage *storage) {
    KT_HOLDS(storage->cluster);
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next)
        wake(watcher);
}

ki_status kt_storage_commit(kt_storage *storage, kt_event_type type, kt_object *obj, int64_t now_ms) {
    kt_cluster *cluster = storage->cluster;
    KT_HOLDS(cluster);
    KI_ASSERT(obj->revision == cluster->revision + 1 && obj->refs > 0);
    storage = storage->store;
    ki_status status = KI_ARRAY_RESERVE(&cluster->allocator, storage->objects, storage->count, storage->capacity);
    if (!status)
        status = ki_ring_reserve(&storage->history, 1);
    if (!status)
        status = ki_ring_reserve(&cluster->log, 1);
    if (!status && type != KT_DELETED && cluster->options.collects_garbage)
        status = kt_owners_add(storage, obj);
    if (status)
        return status;
    for (kt_storage *view = storage; view; view = view->next_view) {
        kt_snapshot_unref(view->present);
        view->present = NULL;
    }
    kt_object *old = apply(storage->objects, &storage->count, type, obj);
    if (old && old->owners)
        kt_owners_remove(cluster, old);
    cluster->revision = obj->revision;
    /* The event gets the storage's reference to the old object. Only the event refers to a deletion's object. */
    kt_event event = { type, obj->revision, now_ms, type == KT_DELETED ? obj : kt_object_ref(obj), old };
    (void)ki_ring_push(&storage->history, &event); /* there is room for both */
    (void)ki_ring_push(&cluster->log, &storage);
    cluster->history_bytes += obj->json.size;
    KI_ASSERT(cluster->log.count >= storage->history.count);
    kt_cluster_trim(cluster, now_ms);
    for (kt_storage *view = storage; view; view = view->next_view)
        notify_watchers(view);
    return KI_OK;
}

/* Converts the objects of a snapshot to the version of `view`. The snapshot owns a reference to each. */
static ki_status convert_snapshot(const kt_storage *view, kt_snapshot *snapshot) {
    for (size_t i = 0; view->converts && i < snapshot->count; i++) {
        kt_object *converted = NULL;
        ki_status status = kt_view_object(view, snapshot->objects[i], &converted);
        if (status)
            return status;
        kt_object_unref(snapshot->objects[i]);
        snapshot->objects[i] = converted;
    }
    return KI_OK;
}

/* Creates a snapshot of a store's objects, with room for `more`. Takes no references. */
static ki_status snapshot_new(const kt_storage *storage, size_t more, kt_snapshot **ret_snapshot) {
    const ki_allocator *allocator = &storage->cluster->allocator;
    kt_snapshot *snapshot =
        ki_alloc(allocator, sizeof *snapshot + (storage->count + more) * sizeof snapshot->objects[0]);
    if (!snapshot)
        return KI_ERR_NO_MEMORY;
    *snapshot = (kt_snapshot){
        .refs = 1, .allocator = allocator, .revision = storage->cluster->revision, .count = storage->count
    };
    if (storage->count)
        memcpy(snapshot->objects, storage->objects, storage->count * sizeof snapshot->objects[0]);
    *ret_snapshot = snapshot;
    return KI_OK;
}

ki_status kt_storage_present(kt_storage *storage, kt_snapshot **ret_snapshot) {
    KT_HOLDS(storage->cluster);
    KI_ASSERT(!storage->present || storage->present->refs > 0);
    if (!storage->present) {
        kt_snapshot *snapshot;
        ki_status status = snapshot_new(storage->store, 0, &snapshot);
        if (status)
            return status;
        for (size_t i = 0; i < snapshot->count; i++)
            kt_object_ref(snapshot->objects[i]);
        status = convert_snapshot(storage, snapshot);
        if (status) {
            kt_snapshot_unref(snapshot);
            return status;
        }
        storage->present = snapshot;
    }
    storage->present->revision = storage->cluster->revision; /* changes of other resources advance the revision */
    storage->present->refs++;
    *ret_snapshot = storage->present;
    return KI_OK;
}

ki_status kt_storage_past(kt_storage *storage, uint64_t revision, kt_snapshot **ret_snapshot) {
    KT_HOLDS(storage->cluster);
    KI_ASSERT(revision <= storage->cluster->revision);
    if (revision < storage->cluster->compacted)
        return KI_ERR_EXPIRED;
    const kt_storage *store = storage->store;
    uint64_t first = kt_storage_seq_after(store, revision);
    uint64_t end = store->first_seq + store->history.count;
    kt_snapshot *snapshot;
    ki_status status = snapshot_new(store, (size_t)(end - first), &snapshot);
    if (status)
        return status;
    for (uint64_t seq = end; seq-- > first;) { /* undo, newest first */
        const kt_event *event = kt_storage_event(store, seq);
        if (event->type == KT_ADDED)
            apply(snapshot->objects, &snapshot->count, KT_DELETED, event->obj);
        else
            apply(snapshot->objects, &snapshot->count, event->type == KT_DELETED ? KT_ADDED : KT_MODIFIED, event->old);
    }
    for (size_t i = 0; i < snapshot->count; i++)
        kt_object_ref(snapshot->objects[i]);
    snapshot->revision = revision;
    status = convert_snapshot(storage, snapshot);
    if (status)
        kt_snapshot_unref(snapshot);
    else
        *ret_snapshot = snapshot;
    return status;
}

void kt_snapshot_unref(kt_snapshot *snapshot) {
    KI_ASSERT(!snapshot || snapshot->refs > 0);
    if (!snapshot || --snapshot->refs)
        return;
    for (size_t i = 0; i < snapshot->count; i++)
        kt_object_unref(snapshot->objects[i]);
    ki_free(snapshot->allocator, snapshot);
}

/* ---- history: the events of a cluster ---- */

uint64_t kt_storage_seq_after(const kt_storage *storage, uint64_t revision) {
    storage = storage->store;
    size_t low = 0, high = storage->history.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const kt_event *event = ki_ring_at(&storage->history, middle);
        if (event->revision <= revision)
            low = middle + 1;
        else
            high = middle;
    }
    return storage->first_seq + low;
}

const kt_event *kt_storage_event(const kt_storage *storage, uint64_t seq) {
    storage = storage->store;
    return ki_ring_at(&storage->history, (size_t)(seq - storage->first_seq));
}

/* Drops the cluster's oldest event. */
static void drop_oldest(kt_cluster *cluster) {
    kt_storage *storage = NULL;
    kt_event event;
    KT_HOLDS(cluster);
    if (!ki_ring_pop(&cluster->log, &storage) || !ki_ring_pop(&storage->history, &event))
        return;
    storage->first_seq++;
    KI_ASSERT(event.revision > cluster->compacted && event.revision <= cluster->revision);
    KI_ASSERT(cluster->history_bytes >= event.obj->json.size);
    cluster->compacted = event.revision;
    cluster->history_bytes -= event.obj->json.size;
    kt_object_unref(event.obj);
    kt_object_unref(event.old);
}

static const kt_event *oldest(const kt_cluster *cluster) {
    kt_storage *const *storage = ki_ring_at(&cluster->log, 0);
    return storage ? ki_ring_at(&(*storage)->history, 0) : NULL;
}

void kt_cluster_trim(kt_cluster *cluster, int64_t now_ms) {
    const kt_cluster_options *options = &cluster->options;
    const kt_event *event;
    while ((event = oldest(cluster)) != NULL &&
           (cluster->log.count > options->compact_after || cluster->history_bytes > options->compact_bytes ||
            (options->compact_age_ms && now_ms - event->time_ms > options->compact_age_ms)))
        drop_oldest(cluster);
}

void kt_cluster_compact(kt_cluster *cluster, uint64_t revision) {
    KT_HOLDS(cluster);
    if (revision == 0 || revision > cluster->revision)
        revision = cluster->revision;
    const kt_event *event;
    while ((event = oldest(cluster)) != NULL && event->revision <= revision)
        drop_oldest(cluster);
    if (cluster->compacted < revision)
        cluster->compacted = revision;
    for (size_t i = 0; i < cluster->storage_count; i++)
        notify_watchers(cluster->storages[i]); /* watches behind it must send 410 */
}

/* ---- watches ---- */

void kt_watcher_add(kt_watcher *watcher, kt_storage *storage) {
    watcher->storage = storage;
    KI_LIST_PREPEND(storage->watchers, watcher);
}

void kt_watcher_remove(kt_watcher *watcher) {
    KT_HOLDS(watcher->storage->cluster);
    KI_LIST_REMOVE(watcher->storage->watchers, watcher);
}

size_t kt_watchers_count(const kt_storage *storage) {
    size_t count = 0;
    for (const kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next)
        count += !watcher->closed && !watcher->ended && !(watcher->is_gone && watcher->is_gone(watcher->user));
    return count;
}

void kt_watchers_close_all(kt_storage *storage) {
    KT_HOLDS(storage->cluster);
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next) {
        if (!watcher->closed)
            watcher->closed_seq = storage->store->first_seq + storage->store->history.count;
        watcher->closed = true;
        wake(watcher);
    }
}

void kt_watchers_end_all(kt_storage *storage) {
    KT_HOLDS(storage->cluster);
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next) {
        watcher->ended = true;
        wake(watcher);
    }
}

void kt_watchers_cut_all(kt_storage *storage) {
    for (kt_watcher *watcher = storage->watchers; watcher; watcher = watcher->next)
        watcher->is_cut = true;
    kt_watchers_end_all(storage);
}
