/* direct.c: reads and writes without HTTP, for the embedded server, the load, tests and the simulation. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/view.h"
#include "testing/cluster/write.h"
#include "testing/crd/custom.h"
#include "testing/schema/secret.h"
#include "testing/values/json.h"

enum {
    NAME_MAX_SIZE = 253
};

static ki_status need_namespace(kt_cluster *cluster, ki_str ns, int64_t now_ms) {
    kt_storage *storage = kt_storage_of(cluster, KI_NAMESPACES);
    if (kt_storage_get(storage, (ki_str){ NULL, 0 }, ns))
        return KI_OK;
    ki_buffer json;
    ki_buffer_init(&json, &cluster->allocator, 0);
    ki_buffer_append_string(&json, "{\"metadata\":{\"name\":");
    ki_buffer_append_json_string(&json, ns);
    ki_buffer_append_string(&json, "}}");
    ki_status status = json.failed;
    if (!status)
        status = kt_cluster_put_json(cluster, KI_NAMESPACES, (ki_str){ json.data, json.size }, now_ms, NULL, NULL);
    ki_buffer_free(&json);
    return status;
}

/* Gives a namespace without status the phase Active, which clients and rest/ read. */
static ki_status put_namespace(const kt_write *write, ki_str name, kt_object **ret_obj) {
    const ki_allocator *allocator = &write->storage->cluster->allocator;
    ki_buffer json;
    ki_buffer_init(&json, allocator, 0);
    ki_buffer_append_string(&json, "{\"metadata\":{\"labels\":{\"kubernetes.io/metadata.name\":");
    ki_buffer_append_json_string(&json, name);
    ki_buffer_append_string(&json, "}},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
    yyjson_doc *doc = NULL;
    ki_status status = json.failed;
    if (!status)
        status = kt_json_read(allocator, (ki_str){ json.data, json.size }, &doc, NULL);
    if (!status) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        status = kt_write_create(write, (ki_str){ NULL, 0 }, name, NULL, root, root, ret_obj);
    }
    yyjson_doc_free(doc);
    ki_buffer_free(&json);
    return status;
}

/* Returns true if both differ only in their resource versions. */
static bool is_same(const kt_object *a, const kt_object *b) {
    size_t a_tail = a->revision_offset, b_tail = b->revision_offset;
    if (a_tail != b_tail || memcmp(a->json.data, b->json.data, a_tail) != 0)
        return false;
    a_tail += strcspn(a->json.data + a_tail, "\"");
    b_tail += strcspn(b->json.data + b_tail, "\"");
    return ki_str_equal((ki_str){ a->json.data + a_tail, a->json.size - a_tail },
                        (ki_str){ b->json.data + b_tail, b->json.size - b_tail });
}

static bool is_same_spec(const kt_object *a, const kt_object *b) {
    return ki_str_equal((ki_str){ a->json.data + a->meta_end, a->status_start - a->meta_end },
                        (ki_str){ b->json.data + b->meta_end, b->status_start - b->meta_end });
}

/* Creates the new version of `old` (NULL: a new object). Compares the JSON of both as text, so that the old one is
 * not parsed. */
static ki_status make(kt_storage *storage, const kt_object *old, kt_meta *meta, yyjson_val *root, kt_object **ret_obj) {
    kt_cluster *cluster = storage->cluster;
    uint64_t revision = cluster->revision + 1;
    ki_status status = kt_object_new(storage, meta, root, root, revision, &cluster->scratch, ret_obj);
    if (status || !old || !meta->generation || is_same_spec(old, *ret_obj))
        return status;
    kt_object_unref(*ret_obj);
    meta->generation++;
    return kt_object_new(storage, meta, root, root, revision, &cluster->scratch, ret_obj);
}

static ki_status put(const kt_write *write, ki_str ns, ki_str name, yyjson_val *root, kt_object **ret_obj) {
    kt_storage *storage = write->storage;
    kt_cluster *cluster = storage->cluster;
    kt_object *old = kt_storage_get(storage, ns, name);
    if (!old && strcmp(storage->info->resource->kind, "Namespace") == 0 && !yyjson_obj_get(root, "status"))
        return put_namespace(write, name, ret_obj);
    yyjson_val *given = yyjson_obj_get(root, "metadata"), *managed = yyjson_obj_get(given, "managedFields");
    yyjson_val *grace = yyjson_obj_get(given, "deletionGracePeriodSeconds");
    char uid[KT_UID_SIZE], created[KI_RFC3339_SIZE];
    kt_meta meta = { .name = name, .ns = ns, .deleted = kt_json_get_str(given, "deletionTimestamp") };
    kt_write_meta_from(&meta, given);
    meta.grace = grace ? yyjson_get_sint(grace) : -1;
    if (old) {
        meta.uid = old->uid;
        meta.created = old->created;
        meta.generation = old->generation;
    } else {
        kt_write_make_uid(cluster, uid);
        ki_rfc3339_seconds(write->now_ms / 1000, created);
        meta.uid = ki_str_of(uid);
        meta.created = ki_str_of(created);
        meta.generation = kt_write_first_generation(storage, given);
    }
    ki_buffer fields;
    ki_buffer_init(&fields, &cluster->allocator, 0);
    ki_status status = yyjson_arr_size(managed) ? kt_json_append(&fields, managed) : KI_OK;
    meta.managed_fields = (ki_str){ fields.data, fields.size };
    kt_object *obj = NULL;
    if (!status)
        status = make(storage, old, &meta, root, &obj);
    ki_buffer_free(&fields);
    if (status)
        return status;
    if (old && is_same(old, obj)) {
        kt_object_unref(obj);
        *ret_obj = kt_object_ref(old);
        return KI_OK;
    }
    status = kt_storage_commit(storage, old ? KT_MODIFIED : KT_ADDED, kt_object_ref(obj), write->now_ms);
    if (status) {
        kt_object_unref(obj);
        kt_object_unref(obj);
        return status;
    }
    *ret_obj = obj;
    return KI_OK;
}

ki_status kt_cluster_put_json(kt_cluster *cluster, const ki_resource *resource, ki_str json, int64_t now_ms,
                              uint64_t *ret_revision, ki_error *err) {
    KT_HOLDS(cluster);
    kt_write write = { .storage = kt_storage_of(cluster, resource), .now_ms = now_ms, .subresource = "" };
    if (!write.storage)
        return ki_error_set(err, KI_ERR_INVALID, "the cluster has no resource %s", resource->plural);
    yyjson_doc *doc = NULL;
    const char *why = NULL;
    ki_status status = kt_json_read_trusted(&cluster->allocator, json, &doc, &why);
    if (status == KI_ERR_PARSE)
        return ki_error_set(err, status, "the object is not JSON: %s", why);
    if (!status && write.storage->info->resource == KI_SECRETS)
        status = kt_secret_merge_string_data(&cluster->allocator, &doc);
    if (status) {
        yyjson_doc_free(doc);
        return ki_error_no_memory(err, "parsing the object");
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *meta = yyjson_obj_get(root, "metadata");
    ki_str name = kt_json_get_str(meta, "name");
    ki_str ns = resource->namespaced ? kt_json_get_str(meta, "namespace") : (ki_str){ NULL, 0 };
    if (!name.size || name.size > NAME_MAX_SIZE || ns.size > NAME_MAX_SIZE || (resource->namespaced && !ns.size)) {
        status = ki_error_set(err, KI_ERR_INVALID, "the object has no valid metadata.name%s",
                              resource->namespaced ? " and metadata.namespace" : "");
    } else {
        kt_object *obj = NULL;
        status = ns.size ? need_namespace(cluster, ns, now_ms) : KI_OK;
        if (!status)
            status = put(&write, ns, name, root, &obj);
        if (status)
            ki_error_no_memory(err, "storing the object");
        else if (ret_revision)
            *ret_revision = obj->revision;
        kt_object_unref(obj);
        if (!status && kt_cluster_reconcile(cluster, now_ms))
            status = ki_error_no_memory(err, "serving a custom resource");
    }
    yyjson_doc_free(doc);
    return status;
}

ki_status kt_cluster_delete(kt_cluster *cluster, const ki_resource *resource, const char *ns, const char *name,
                            int64_t now_ms, ki_error *err) {
    KT_HOLDS(cluster);
    kt_storage *storage = kt_storage_of(cluster, resource);
    kt_object *old = storage ? kt_storage_get(storage, ki_str_of(ns), ki_str_of(name)) : NULL;
    if (!old)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "%s \"%s\" not found", resource->plural, name);
    kt_write write = { .storage = storage, .now_ms = now_ms, .subresource = "" };
    kt_object *last = NULL;
    bool is_removed = false;
    ki_status status = strcmp(resource->kind, "Namespace") == 0 ? kt_write_delete(&write, old, &last, &is_removed)
                                                                : kt_write_remove(&write, old, &last);
    if (status)
        return ki_error_no_memory(err, "deleting the object");
    kt_object_unref(last);
    return kt_cluster_reconcile(cluster, now_ms) ? ki_error_no_memory(err, "removing a custom resource") : KI_OK;
}

/* Removes the objects of a storage in a namespace (empty: all), the last first. */
static ki_status remove_all(kt_storage *storage, ki_str ns, int64_t now_ms) {
    kt_write write = { .storage = storage, .now_ms = now_ms, .subresource = "" };
    const bool are_namespaces = strcmp(storage->info->resource->kind, "Namespace") == 0;
    size_t begin = 0, end = 0;
    ki_status status = KI_OK;
    kt_objects_range(storage->objects, storage->count, ns, &begin, &end);
    while (end-- > begin && !status) {
        kt_object *old = storage->objects[end], *last = NULL;
        bool is_removed = false;
        if (!are_namespaces)
            status = kt_write_remove(&write, old, &last);
        else if (!kt_cluster_is_first_namespace(old->name))
            status = kt_write_delete(&write, old, &last, &is_removed);
        kt_object_unref(last);
    }
    return status;
}

ki_status kt_cluster_delete_all(kt_cluster *cluster, const ki_resource *resource, const char *ns, int64_t now_ms,
                                ki_error *err) {
    KT_HOLDS(cluster);
    kt_storage *only = resource ? kt_storage_of(cluster, resource) : NULL;
    ki_status status = KI_OK;
    if (resource && !only)
        return ki_error_set(err, KI_ERR_INVALID, "the cluster has no resource %s", resource->plural);
    if (only)
        status = remove_all(only->store, ki_str_of(ns), now_ms);
    for (size_t i = 0; !only && i < cluster->storage_count && !status; i++) {
        kt_storage *storage = cluster->storages[i];
        if (kt_view_leads(storage) && (!ns || storage->info->resource->namespaced))
            status = remove_all(storage, ki_str_of(ns), now_ms);
    }
    if (!status)
        status = kt_cluster_reconcile(cluster, now_ms);
    return status ? ki_error_no_memory(err, "deleting objects") : KI_OK;
}
