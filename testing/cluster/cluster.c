/* cluster.c: a cluster's storages, revision and random numbers. */
#include "testing/cluster/cluster.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/convert.h"
#include "testing/cluster/crd_sync.h"
#include "testing/cluster/owners.h"
#include "testing/cluster/view.h"

#include <stdio.h>

enum {
    DEFAULT_EVENTS = 100000,
    DEFAULT_BYTES = 256 * 1024 * 1024,
    DEFAULT_BOOKMARK_MS = 60000
};

static const char *const first_namespaces[] = { "default", "kube-node-lease", "kube-public", "kube-system" };

bool kt_cluster_is_first_namespace(ki_str name) {
    for (size_t i = 0; i < sizeof first_namespaces / sizeof first_namespaces[0]; i++) {
        if (ki_str_equals(name, first_namespaces[i]))
            return true;
    }
    return false;
}

#ifdef KI_ASSERTIONS
bool kt_cluster_is_held(const kt_cluster *cluster) {
    return !cluster->lock || ki_mutex_is_held(cluster->lock);
}
#endif

void kt_cluster_set_lock(kt_cluster *cluster, const ki_mutex *lock) {
    cluster->lock = lock;
}

uint64_t kt_cluster_random(kt_cluster *cluster) { /* splitmix64 */
    KT_HOLDS(cluster);
    if (cluster->options.random)
        return cluster->options.random();
    uint64_t z = cluster->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static ki_status add_storages(kt_cluster *cluster) {
    size_t count = 0;
    while (ki_resource_info_at((unsigned)count))
        count++;
    cluster->storages = ki_alloc_array(&cluster->allocator, count, sizeof *cluster->storages);
    cluster->builtins = ki_alloc_array(&cluster->allocator, count, sizeof *cluster->builtins);
    cluster->paths = ki_alloc_zero(&cluster->allocator, count * KT_PATH_MAX_SIZE);
    if (!cluster->storages || !cluster->builtins || !cluster->paths)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const ki_resource_info *info = ki_resource_info_at((unsigned)i);
        const ki_resource *resource = info->resource;
        kt_storage *storage = cluster->storages[i] = &cluster->builtins[i];
        *storage = (kt_storage){ .cluster = cluster, .first_seq = 1, .store = storage, .is_served = true };
        ki_ring_init(&storage->history, &cluster->allocator, sizeof(kt_event));
        cluster->storage_count = cluster->builtin_count = i + 1;
        char *path = cluster->paths + i * KT_PATH_MAX_SIZE;
        int length = snprintf(path, KT_PATH_MAX_SIZE, "%s/%s/%s", resource->group, resource->version, resource->plural);
        size_t size = (size_t)length;
        KI_ASSERT(size < KT_PATH_MAX_SIZE);
        kt_storage_describe(storage, info, (ki_str){ path, size });
        ki_status status = ki_map_put(&cluster->by_path, (ki_str){ path, size }, storage, NULL);
        if (status)
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        const ki_resource *store = kt_convert_store_of(cluster->storages[i]->info->resource);
        if (store)
            kt_view_join(cluster->storages[i], kt_storage_of(cluster, store));
    }
    cluster->definitions = kt_storage_of(cluster, KI_CUSTOMRESOURCEDEFINITIONS);
    cluster->namespaces = kt_storage_of(cluster, KI_NAMESPACES);
    cluster->priority_classes = kt_storage_of(cluster, KI_PRIORITYCLASSES);
    return KI_OK;
}

ki_status kt_cluster_add_namespaces(kt_cluster *cluster, ki_error *err) {
    for (size_t i = 0; i < sizeof first_namespaces / sizeof first_namespaces[0]; i++) {
        char json[128];
        int size = snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%s\"}}", first_namespaces[i]);
        ki_status status = kt_cluster_put_json(cluster, KI_NAMESPACES, (ki_str){ json, (size_t)size },
                                               cluster->options.start_ms, NULL, err);
        if (status)
            return status;
    }
    return KI_OK;
}

ki_status kt_cluster_new(const ki_allocator *allocator, const kt_cluster_options *options, kt_cluster **ret_cluster,
                         ki_error *err) {
    if (!allocator)
        allocator = &ki_allocator_default;
    kt_cluster *cluster = ki_alloc_zero(allocator, sizeof *cluster);
    if (!cluster)
        return ki_error_no_memory(err, "making the cluster");
    cluster->allocator = *allocator;
    if (options)
        cluster->options = *options;
    if (!cluster->options.compact_after)
        cluster->options.compact_after = DEFAULT_EVENTS;
    if (!cluster->options.compact_bytes)
        cluster->options.compact_bytes = DEFAULT_BYTES;
    if (!cluster->options.bookmark_every_ms)
        cluster->options.bookmark_every_ms = DEFAULT_BOOKMARK_MS;
    cluster->revision = cluster->options.first_revision ? cluster->options.first_revision : 1;
    cluster->compacted = cluster->revision;
    cluster->random = cluster->options.seed;
    ki_map_init(&cluster->dependents, &cluster->allocator, cluster->options.seed);
    ki_map_init(&cluster->by_path, &cluster->allocator, cluster->options.seed);
    ki_ring_init(&cluster->log, &cluster->allocator, sizeof(kt_storage *));
    ki_buffer_init(&cluster->scratch, &cluster->allocator, 0);
    kt_auth_init(&cluster->auth, &cluster->allocator);
    kt_faults_init(&cluster->faults, &cluster->allocator, cluster->options.seed);
    kt_request_log_init(&cluster->requests, &cluster->allocator);
    ki_status status = kt_defaults_new(&cluster->allocator, &cluster->defaults);
    if (!status)
        status = add_storages(cluster);
    if (status)
        ki_error_no_memory(err, "making the cluster");
    else
        status = kt_cluster_add_namespaces(cluster, err);
    if (!status && kt_cluster_keep_start(cluster))
        status = ki_error_no_memory(err, "making the cluster");
    if (status) {
        kt_cluster_free(cluster);
        return status;
    }
    *ret_cluster = cluster;
    return KI_OK;
}

static void free_storage(kt_cluster *cluster, kt_storage *storage) {
    bool is_custom = storage->custom != NULL;
    kt_snapshot_unref(storage->present);
    for (size_t n = 0; n < storage->count; n++) {
        kt_owners_remove(cluster, storage->objects[n]);
        kt_object_unref(storage->objects[n]);
    }
    ki_free(&cluster->allocator, storage->objects);
    ki_ring_free(&storage->history);
    kt_storage_free_customs(storage);
    if (!is_custom)
        return;
    ki_free(&cluster->allocator, storage->path);
    ki_free(&cluster->allocator, storage);
}

void kt_cluster_free(kt_cluster *cluster) {
    if (!cluster)
        return;
    kt_cluster_compact(cluster, 0);
    kt_cluster_free_start(cluster);
    for (size_t i = 0; i < cluster->storage_count; i++)
        free_storage(cluster, cluster->storages[i]);
    while (cluster->retired) {
        kt_storage *storage = cluster->retired;
        cluster->retired = storage->next_retired;
        free_storage(cluster, storage);
    }
    ki_map_free(&cluster->dependents);
    ki_free(&cluster->allocator, cluster->storages);
    ki_free(&cluster->allocator, cluster->builtins);
    ki_free(&cluster->allocator, cluster->paths);
    ki_map_free(&cluster->by_path);
    ki_ring_free(&cluster->log);
    ki_buffer_free(&cluster->scratch);
    kt_defaults_free(cluster->defaults);
    kt_auth_free(&cluster->auth);
    kt_faults_clear(&cluster->faults);
    kt_request_log_clear(&cluster->requests);
    ki_allocator allocator = cluster->allocator;
    ki_free(&allocator, cluster);
}

kt_storage *kt_storage_find(const kt_cluster *cluster, ki_str group, ki_str version, ki_str plural) {
    KT_HOLDS(cluster);
    const ki_str parts[] = { group, version, plural };
    char path[KT_PATH_MAX_SIZE];
    size_t size = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) { /* no printf: every change calls this */
        if (parts[i].size >= sizeof path - size - 1)
            return NULL;
        if (i)
            path[size++] = '/';
        if (parts[i].size)
            memcpy(path + size, parts[i].data, parts[i].size);
        size += parts[i].size;
    }
    return ki_map_get(&cluster->by_path, (ki_str){ path, size });
}

kt_storage *kt_storage_of(const kt_cluster *cluster, const ki_resource *resource) {
    return kt_storage_find(cluster, ki_str_of(resource->group), ki_str_of(resource->version),
                           ki_str_of(resource->plural));
}

kt_storage *kt_storage_at(const kt_cluster *cluster, size_t index) {
    return index < cluster->storage_count ? cluster->storages[index] : NULL;
}

ki_status kt_cluster_reconcile(kt_cluster *cluster, int64_t now_ms) {
    KT_HOLDS(cluster);
    const kt_storage *definitions = cluster->definitions;
    bool collects = cluster->options.collects_garbage;
    if (!collects && cluster->crd.synced == definitions->first_seq + definitions->history.count)
        return KI_OK;
    ki_status status = kt_crd_sync(cluster, now_ms);
    if (!status && collects)
        status = kt_cluster_collect_garbage(cluster, now_ms);
    return status ? status : kt_crd_sync(cluster, now_ms);
}

kt_auth *kt_cluster_auth(kt_cluster *cluster) {
    return &cluster->auth;
}

kt_faults *kt_cluster_faults(kt_cluster *cluster) {
    return &cluster->faults;
}

kt_request_log *kt_cluster_requests(kt_cluster *cluster) {
    return &cluster->requests;
}

const ki_allocator *kt_cluster_allocator(const kt_cluster *cluster) {
    return &cluster->allocator;
}

uint64_t kt_cluster_revision(const kt_cluster *cluster) {
    return cluster->revision;
}

void kt_cluster_close_watches(kt_cluster *cluster) {
    KT_HOLDS(cluster);
    for (size_t i = 0; i < cluster->storage_count; i++)
        kt_watchers_close_all(cluster->storages[i]);
}

void kt_cluster_cut_watches(kt_cluster *cluster) {
    KT_HOLDS(cluster);
    for (size_t i = 0; i < cluster->storage_count; i++)
        kt_watchers_cut_all(cluster->storages[i]);
}

size_t kt_cluster_open_watches(const kt_cluster *cluster, const ki_resource *resource) {
    KT_HOLDS(cluster);
    const kt_storage *of = resource ? kt_storage_of(cluster, resource) : NULL;
    size_t count = 0;
    for (size_t i = 0; i < cluster->storage_count; i++) {
        const kt_storage *storage = cluster->storages[i];
        if (!resource || (of && of->store == storage->store))
            count += kt_watchers_count(storage);
    }
    return count;
}

size_t kt_cluster_count(const kt_cluster *cluster, const ki_resource *resource) {
    const kt_storage *storage = kt_storage_of(cluster, resource);
    return storage ? storage->store->count : 0;
}

/* Returns an object in the version of `storage`. The present snapshot owns a converted object. */
static const kt_object *in_version(kt_storage *storage, const kt_object *obj) {
    kt_snapshot *snapshot = NULL;
    if (!obj || !storage->converts)
        return obj;
    if (kt_storage_present(storage, &snapshot))
        return NULL;
    size_t index = kt_objects_bound(snapshot->objects, snapshot->count, obj->key, false);
    obj = index < snapshot->count ? snapshot->objects[index] : NULL;
    kt_snapshot_unref(snapshot);
    return obj;
}

ki_status kt_cluster_get(const kt_cluster *cluster, const ki_resource *resource, const char *ns, const char *name,
                         ki_str *ret_json) {
    kt_storage *storage = kt_storage_of(cluster, resource);
    const kt_object *obj =
        storage ? in_version(storage, kt_storage_get(storage, ki_str_of(ns), ki_str_of(name))) : NULL;
    if (!obj)
        return KI_ERR_NOT_FOUND;
    *ret_json = obj->json;
    return KI_OK;
}

bool kt_cluster_next(const kt_cluster *cluster, const ki_resource *resource, size_t *cursor, ki_str *ret_key,
                     ki_str *ret_json) {
    KT_HOLDS(cluster);
    kt_storage *storage = kt_storage_of(cluster, resource);
    if (!storage || *cursor >= storage->store->count)
        return false;
    const kt_object *obj = in_version(storage, storage->store->objects[(*cursor)++]);
    if (!obj)
        return false;
    *ret_key = obj->key;
    *ret_json = obj->json;
    return true;
}
