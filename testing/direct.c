/* direct.c: objects in and out of a cluster without HTTP, for load and tests. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "testing/cluster_state.h"
#include "testing/json.h"
#include "testing/write.h"

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

/* A namespace without status is made active: clients and the REST layer look at its phase. */
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
        status = kt_write_create(write, (ki_str){ NULL, 0 }, name, root, root, ret_obj);
    }
    yyjson_doc_free(doc);
    ki_buffer_free(&json);
    return status;
}

static ki_status put(const kt_write *write, ki_str ns, ki_str name, yyjson_val *root, kt_object **ret_obj) {
    kt_object *old = kt_storage_get(write->storage, ns, name);
    if (!old && strcmp(write->storage->info->resource->kind, "Namespace") == 0 && !yyjson_obj_get(root, "status"))
        return put_namespace(write, name, ret_obj);
    if (!old)
        return kt_write_create(write, ns, name, root, root, ret_obj);
    yyjson_doc *doc = NULL;
    ki_status status = kt_json_read(&write->storage->cluster->allocator, old->json, &doc, NULL);
    if (status)
        return status;
    kt_object_ref(old);
    status = kt_write_update(write, old, yyjson_doc_get_root(doc), root, root, root, ret_obj);
    kt_object_unref(old);
    yyjson_doc_free(doc);
    return status;
}

ki_status kt_cluster_put_json(kt_cluster *cluster, const ki_resource *resource, ki_str json, int64_t now_ms,
                              uint64_t *ret_revision, ki_error *err) {
    kt_write write = { .storage = kt_storage_of(cluster, resource), .now_ms = now_ms, .subresource = "" };
    if (!write.storage)
        return ki_error_set(err, KI_ERR_INVALID, "the cluster has no resource %s", resource->plural);
    yyjson_doc *doc = NULL;
    const char *why = NULL;
    ki_status status = kt_json_read(&cluster->allocator, json, &doc, &why);
    if (status == KI_ERR_PARSE)
        return ki_error_set(err, status, "the object is not JSON: %s", why);
    if (status)
        return ki_error_no_memory(err, "parsing the object");
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
    }
    yyjson_doc_free(doc);
    return status;
}

ki_status kt_cluster_delete(kt_cluster *cluster, const ki_resource *resource, const char *ns, const char *name,
                            int64_t now_ms, ki_error *err) {
    kt_storage *storage = kt_storage_of(cluster, resource);
    kt_object *old = storage ? kt_storage_get(storage, ki_str_of(ns), ki_str_of(name)) : NULL;
    if (!old)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "%s \"%s\" not found", resource->plural, name);
    kt_write write = { .storage = storage, .now_ms = now_ms, .subresource = "" };
    kt_object *last = NULL;
    bool gone = false;
    ki_status status = strcmp(resource->kind, "Namespace") == 0 ? kt_write_delete(&write, old, &last, &gone)
                                                                : kt_write_remove(&write, old, &last);
    if (status)
        return ki_error_no_memory(err, "deleting the object");
    kt_object_unref(last);
    return KI_OK;
}
