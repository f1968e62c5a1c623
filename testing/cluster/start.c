/* start.c: the state to which a test returns (kt_cluster_keep_start): its objects, with their uids. */
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/view.h"
#include "testing/cluster/write.h"

#include "src/base/memory.h"

/* The objects of one resource, in the order of their keys. */
typedef struct kt_start_part {
    char name[KT_PATH_MAX_SIZE]; /* PLURAL.GROUP */
    kt_object **objects;
    size_t count;
} kt_start_part;

static ki_str name_of(const kt_storage *storage, char text[KT_PATH_MAX_SIZE]) {
    const ki_resource *resource = storage->info->resource;
    int size = snprintf(text, KT_PATH_MAX_SIZE, "%s.%s", resource->plural, resource->group);
    return (ki_str){ text, (size_t)size };
}

static void free_parts(const ki_allocator *allocator, kt_start_part *parts, size_t count) {
    for (size_t i = 0; parts && i < count; i++) {
        for (size_t j = 0; j < parts[i].count; j++)
            kt_object_unref(parts[i].objects[j]);
        ki_free(allocator, parts[i].objects);
    }
    ki_free(allocator, parts);
}

void kt_cluster_free_start(kt_cluster *cluster) {
    free_parts(&cluster->allocator, cluster->start.parts, cluster->start.count);
    cluster->start.parts = NULL;
    cluster->start.count = 0;
}

ki_status kt_cluster_keep_start(kt_cluster *cluster) {
    KT_HOLDS(cluster);
    const ki_allocator *allocator = &cluster->allocator;
    kt_start_part *parts = ki_alloc_zero(allocator, cluster->storage_count * sizeof *parts);
    size_t count = 0;
    if (!parts)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < cluster->storage_count; i++) {
        const kt_storage *store = cluster->storages[i]->store;
        if (!kt_view_leads(cluster->storages[i]) || !store->count)
            continue;
        kt_start_part *part = &parts[count];
        part->objects = ki_alloc_array(allocator, store->count, sizeof(kt_object *));
        if (!part->objects) {
            free_parts(allocator, parts, count);
            return KI_ERR_NO_MEMORY;
        }
        name_of(store, part->name);
        for (size_t j = 0; j < store->count; j++)
            part->objects[j] = kt_object_ref(store->objects[j]);
        part->count = store->count;
        count++;
    }
    kt_cluster_free_start(cluster);
    cluster->start.parts = parts;
    cluster->start.count = count;
    kt_auth_keep_start(&cluster->auth);
    kt_faults_keep_start(&cluster->faults);
    return KI_OK;
}

/* Returns the first objects of a resource; NULL: it had none. */
static kt_start_part *part_of(const kt_cluster *cluster, const kt_storage *store) {
    char name[KT_PATH_MAX_SIZE];
    ki_str wanted = name_of(store, name);
    for (size_t i = 0; i < cluster->start.count; i++) {
        if (ki_str_equals(wanted, cluster->start.parts[i].name))
            return &cluster->start.parts[i];
    }
    return NULL;
}

/* Removes the objects that were not there, or have changed. */
static ki_status remove_others(kt_storage *store, int64_t now_ms) {
    const kt_start_part *part = part_of(store->cluster, store);
    const kt_write write = { .storage = store, .now_ms = now_ms, .subresource = "" };
    ki_status status = KI_OK;
    for (size_t i = store->count; !status && i-- > 0;) {
        kt_object *obj = store->objects[i], *last = NULL;
        size_t at = part ? kt_objects_bound(part->objects, part->count, obj->key, false) : 0;
        if (part && at < part->count && part->objects[at] == obj)
            continue;
        status = kt_write_remove(&write, obj, &last);
        kt_object_unref(last);
        if (i > store->count) /* the removal has finished that of a namespace */
            i = store->count;
    }
    return status;
}

/* Adds the objects that are not there, and keeps them in place of the first ones: their resource versions are new. */
static ki_status add_missing(kt_storage *store, int64_t now_ms) {
    kt_start_part *part = part_of(store->cluster, store);
    kt_cluster *cluster = store->cluster;
    for (size_t i = 0; part && i < part->count; i++) {
        kt_object *obj = part->objects[i], *added;
        if (kt_storage_get(store, obj->ns, obj->name))
            continue;
        ki_status status = kt_object_with_revision(obj, cluster->revision + 1, &cluster->scratch, &added);
        if (status)
            return status;
        status = kt_storage_commit(store, KT_ADDED, kt_object_ref(added), now_ms);
        if (status) {
            kt_object_unref(added);
            kt_object_unref(added);
            return status;
        }
        part->objects[i] = added;
        kt_object_unref(obj);
    }
    return KI_OK;
}

/* Does so for all resources but definitions, whose objects follow them; namespaces first or last. */
static ki_status each_other(kt_cluster *cluster, ki_status (*change)(kt_storage *store, int64_t now_ms),
                            bool namespaces_first, int64_t now_ms) {
    kt_storage *namespaces = kt_storage_of(cluster, KI_NAMESPACES);
    ki_status status = namespaces_first ? change(namespaces, now_ms) : KI_OK;
    for (size_t i = 0; !status && i < cluster->storage_count; i++) {
        kt_storage *store = cluster->storages[i]->store;
        if (kt_view_leads(cluster->storages[i]) && store != cluster->definitions && store != namespaces)
            status = change(store, now_ms);
    }
    return !status && !namespaces_first ? change(namespaces, now_ms) : status;
}

/* Serves the custom resources that are defined now. What was removed takes nothing with it: the owners come back. */
static ki_status serve_customs(kt_cluster *cluster, int64_t now_ms) {
    cluster->gc_revision = cluster->revision;
    return kt_cluster_reconcile(cluster, now_ms);
}

ki_status kt_cluster_return_to_start(kt_cluster *cluster, int64_t now_ms) {
    KT_HOLDS(cluster);
    ki_status status = each_other(cluster, remove_others, false, now_ms);
    if (!status)
        status = remove_others(cluster->definitions, now_ms);
    if (!status)
        status = serve_customs(cluster, now_ms);
    if (!status)
        status = add_missing(cluster->definitions, now_ms);
    if (!status)
        status = serve_customs(cluster, now_ms);
    if (!status)
        status = each_other(cluster, add_missing, true, now_ms);
    cluster->gc_revision = cluster->revision;
    kt_auth_return_to_start(&cluster->auth);
    kt_faults_return_to_start(&cluster->faults, now_ms);
    kt_request_log_clear(&cluster->requests);
    return status;
}
