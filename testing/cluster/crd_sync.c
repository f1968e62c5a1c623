/* crd_sync.c: see crd_sync.h. */
#include "testing/cluster/crd_sync.h"
#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/view.h"
#include "testing/cluster/write.h"
#include "testing/crd/custom.h"
#include "testing/values/json.h"
#include "testing/values/version.h"

#include <stdio.h>

enum {
    PATH_SIZE = 512
};

static bool make_path(char path[PATH_SIZE], const ki_resource *resource) {
    int size = snprintf(path, PATH_SIZE, "%s/%s/%s", resource->group, resource->version, resource->plural);
    return size > 0 && size < KT_PATH_MAX_SIZE;
}

/* Frees replaced definitions once no watch is open. */
static void free_old(kt_storage *storage) {
    while (!storage->watchers && storage->old_customs) {
        kt_custom *custom = storage->old_customs;
        storage->old_customs = custom->next_old;
        kt_custom_free(custom);
    }
}

static void set_custom(kt_storage *storage, kt_custom *custom) {
    if (storage->custom) {
        storage->custom->next_old = storage->old_customs;
        storage->old_customs = storage->custom;
    }
    storage->custom = custom;
    kt_storage_describe(storage, &custom->info, ki_str_of(storage->path));
    free_old(storage);
}

/* ---- adding ---- */

/* Returns a resource's place in discovery: after the built-in ones, sorted by group, version and plural. */
static size_t place_of(const kt_cluster *cluster, const ki_resource *resource) {
    size_t at = cluster->builtin_count;
    for (; at < cluster->storage_count; at++) {
        const ki_resource *other = cluster->storages[at]->info->resource;
        int order = strcmp(other->group, resource->group);
        if (!order)
            order = kt_version_compare(other->version, resource->version);
        if (!order)
            order = strcmp(other->plural, resource->plural);
        if (order > 0)
            break;
    }
    return at;
}

static ki_status serve(kt_cluster *cluster, kt_storage *storage) {
    size_t at = place_of(cluster, storage->info->resource);
    kt_storage **storages =
        ki_realloc_array(&cluster->allocator, cluster->storages, cluster->storage_count + 1, sizeof(kt_storage *));
    if (!storages)
        return KI_ERR_NO_MEMORY;
    cluster->storages = storages;
    ki_status status = ki_map_put(&cluster->by_path, ki_str_of(storage->path), storage, NULL);
    if (status)
        return status;
    memmove(storages + at + 1, storages + at, (cluster->storage_count - at) * sizeof *storages);
    storages[at] = storage;
    storage->is_served = true;
    cluster->storage_count++;
    return KI_OK;
}

/* Takes back the storage of a resource that was served before, with its history. */
static kt_storage *take_retired(kt_cluster *cluster, const char *path) {
    for (kt_storage **place = &cluster->retired; *place; place = &(*place)->next_retired) {
        kt_storage *storage = *place;
        if (strcmp(storage->path, path) != 0)
            continue;
        *place = storage->next_retired;
        storage->next_retired = NULL;
        return storage;
    }
    return NULL;
}

static void retire(kt_cluster *cluster, kt_storage *storage) {
    KI_ASSERT(!storage->next_retired && cluster->retired != storage);
    storage->next_retired = cluster->retired;
    cluster->retired = storage;
}

static bool is_other_version(const kt_storage *a, const kt_storage *b) {
    const ki_resource *one = a->info->resource, *other = b->info->resource;
    return a != b && b->custom && strcmp(one->group, other->group) == 0 && strcmp(one->plural, other->plural) == 0;
}

/* Gives all versions of a resource, served or not, one store. */
static void join_other_version(kt_cluster *cluster, kt_storage *storage) {
    if (storage->count || storage->history.count)
        return; /* this storage is the store; others join it */
    for (size_t i = cluster->builtin_count; i < cluster->storage_count; i++) {
        if (is_other_version(storage, cluster->storages[i])) {
            kt_view_join(storage, cluster->storages[i]->store);
            return;
        }
    }
    for (kt_storage *other = cluster->retired; other; other = other->next_retired) {
        if (is_other_version(storage, other)) {
            kt_view_join(storage, other->store);
            return;
        }
    }
}

/* Serves a version. Takes ownership of `custom`, also on failure. */
static ki_status add_version(kt_cluster *cluster, const char *path, kt_custom *custom) {
    kt_storage *storage = take_retired(cluster, path);
    if (!storage && cluster->custom_count >= KT_CRD_MAX) {
        kt_custom_free(custom);
        return KI_OK; /* the limit is reached; the definition stays without the condition Established */
    }
    if (!storage) {
        storage = ki_alloc_zero(&cluster->allocator, sizeof *storage);
        if (storage)
            storage->path = ki_strdup(&cluster->allocator, path);
        if (!storage || !storage->path) {
            ki_free(&cluster->allocator, storage);
            kt_custom_free(custom);
            return KI_ERR_NO_MEMORY;
        }
        storage->cluster = cluster;
        storage->first_seq = 1;
        storage->store = storage;
        ki_ring_init(&storage->history, &cluster->allocator, sizeof(kt_event));
        cluster->custom_count++;
    }
    set_custom(storage, custom);
    if (storage->store == storage && !storage->next_view)
        join_other_version(cluster, storage);
    ki_status status = serve(cluster, storage);
    if (status)
        retire(cluster, storage);
    return status;
}

/* Serves or updates one version of a definition. `*ret_full`: the cluster has no room for it. */
static ki_status sync_version(kt_cluster *cluster, kt_object *crd, size_t index, bool *ret_full) {
    char path[PATH_SIZE];
    kt_custom *custom = NULL;
    ki_status status = kt_custom_new(&cluster->allocator, crd->json, index, &custom);
    if (status)
        return status == KI_ERR_NOT_FOUND ? KI_OK : status;
    if (!make_path(path, &custom->resource)) {
        kt_custom_free(custom);
        return KI_OK;
    }
    kt_storage *storage = ki_map_get(&cluster->by_path, ki_str_of(path));
    if (storage && !storage->custom) { /* a built-in resource has this path */
        kt_custom_free(custom);
        return KI_OK;
    }
    if (storage) {
        set_custom(storage, custom);
    } else {
        status = add_version(cluster, path, custom);
        storage = ki_map_get(&cluster->by_path, ki_str_of(path));
    }
    if (storage)
        storage->sync_round = cluster->crd.round;
    else
        *ret_full = true;
    return status;
}

/* ---- removing ---- */

static bool has_served_version(const kt_storage *store) {
    for (const kt_storage *view = store; view; view = view->next_view) {
        if (view->is_served)
            return true;
    }
    return false;
}

static ki_status remove_version(kt_cluster *cluster, size_t at, int64_t now_ms) {
    kt_storage *storage = cluster->storages[at];
    kt_write write = { .storage = storage, .now_ms = now_ms, .subresource = "" };
    storage->is_served = false;
    while (storage->store->count && !has_served_version(storage->store)) {
        kt_object *last = NULL;
        ki_status status = kt_write_remove(&write, storage->store->objects[storage->store->count - 1], &last);
        if (status)
            return status;
        kt_object_unref(last);
    }
    kt_watchers_close_all(storage);
    ki_map_remove(&cluster->by_path, ki_str_of(storage->path));
    memmove(cluster->storages + at, cluster->storages + at + 1,
            (cluster->storage_count - at - 1) * sizeof *cluster->storages);
    cluster->storage_count--;
    retire(cluster, storage);
    return KI_OK;
}

/* ---- conditions ---- */

/* Returns false for a definition that only a load can have stored, which names nothing that can be served. */
static bool has_names(yyjson_val *root) {
    return yyjson_is_obj(yyjson_obj_get(yyjson_obj_get(root, "spec"), "names"));
}

static bool is_established(yyjson_val *root) {
    yyjson_val *conditions = yyjson_obj_get(yyjson_obj_get(root, "status"), "conditions"), *condition;
    size_t index, count;
    yyjson_arr_foreach(conditions, index, count, condition) {
        if (ki_str_equals(kt_json_get_str(condition, "type"), "Established"))
            return true;
    }
    return false;
}

static ki_status append_status(yyjson_val *root, int64_t now_ms, ki_buffer *out) {
    char now[KI_RFC3339_SIZE];
    yyjson_val *spec = yyjson_obj_get(root, "spec"), *version;
    size_t index, count;
    ki_rfc3339_seconds(now_ms / 1000, now);
    ki_buffer_printf(out,
                     "{\"status\":{\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":\"True\","
                     "\"lastTransitionTime\":\"%s\",\"reason\":\"NoConflicts\",\"message\":\"no conflicts found\"},{"
                     "\"type\":\"Established\",\"status\":\"True\",\"lastTransitionTime\":\"%s\",\"reason\":"
                     "\"InitialNamesAccepted\",\"message\":\"the initial names have been accepted\"}],"
                     "\"acceptedNames\":",
                     now, now);
    kt_json_append(out, yyjson_obj_get(spec, "names"));
    ki_buffer_append_string(out, ",\"storedVersions\":[");
    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), index, count, version) {
        if (yyjson_get_bool(yyjson_obj_get(version, "storage")))
            ki_buffer_append_json_string(out, kt_json_get_str(version, "name"));
    }
    return ki_buffer_append_string(out, "]}}");
}

static ki_status establish(kt_storage *crds, kt_object *crd, yyjson_val *root, int64_t now_ms) {
    const kt_write write = { .storage = crds, .now_ms = now_ms, .subresource = "status" };
    yyjson_doc *made = NULL;
    ki_buffer json;
    ki_buffer_init(&json, &crds->cluster->allocator, 0);
    kt_object *obj = NULL;
    ki_status status = append_status(root, now_ms, &json);
    if (!status)
        status = kt_json_read_trusted(&crds->cluster->allocator, (ki_str){ json.data, json.size }, &made, NULL);
    if (!status)
        status = kt_write_update(&write, crd, root, root, yyjson_doc_get_root(made), &obj);
    kt_object_unref(obj);
    yyjson_doc_free(made);
    ki_buffer_free(&json);
    return status;
}

static ki_status sync_one(kt_storage *crds, kt_object *crd, int64_t now_ms) {
    kt_cluster *cluster = crds->cluster;
    yyjson_doc *doc = NULL;
    ki_status status = kt_json_read_trusted(&cluster->allocator, crd->json, &doc, NULL);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(doc);
    size_t count = yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(root, "spec"), "versions"));
    bool is_full = false;
    for (size_t i = 0; i < count && !status; i++)
        status = sync_version(cluster, crd, i, &is_full);
    if (!status && !is_full && has_names(root) && !is_established(root))
        status = establish(crds, crd, root, now_ms);
    yyjson_doc_free(doc);
    return status;
}

ki_status kt_crd_sync(kt_cluster *cluster, int64_t now_ms) {
    KT_HOLDS(cluster);
    kt_storage *crds = cluster->definitions;
    if (cluster->crd.synced == crds->first_seq + crds->history.count)
        return KI_OK;
    cluster->crd.round++;
    ki_status status = KI_OK;
    for (size_t i = 0; i < crds->count && !status; i++) {
        kt_object *crd = kt_object_ref(crds->objects[i]);
        status = sync_one(crds, crd, now_ms);
        kt_object_unref(crd);
    }
    for (size_t i = cluster->storage_count; i-- > cluster->builtin_count && !status;) {
        if (cluster->storages[i]->sync_round != cluster->crd.round)
            status = remove_version(cluster, i, now_ms);
    }
    for (kt_storage *storage = cluster->retired; storage; storage = storage->next_retired)
        free_old(storage);
    if (!status)
        cluster->crd.synced = crds->first_seq + crds->history.count;
    return status;
}

void kt_storage_free_customs(kt_storage *storage) {
    storage->watchers = NULL;
    free_old(storage);
    kt_custom_free(storage->custom);
    storage->custom = NULL;
}
