/* write_delete.c: deletions: finalizers, requests to the garbage collector, and the end of a namespace. */
#include "testing/cluster/write.h"

#include "src/base/rfc3339.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/view.h"
#include "testing/values/json.h"

#include <stdio.h>

#define KUBERNETES "kubernetes" /* the namespace controller's finalizer, in spec.finalizers */

static const ki_str no_namespace = { NULL, 0 };

bool kt_write_is_namespace(const kt_write *write) {
    return write->storage->info->resource == KI_NAMESPACES ||
           strcmp(write->storage->info->resource->kind, "Namespace") == 0;
}

static bool is_kind(const kt_write *write, const char *group, const char *plural) {
    const ki_resource *resource = write->storage->info->resource;
    return strcmp(resource->group, group) == 0 && strcmp(resource->plural, plural) == 0;
}

/* ---- finalizers after a deletion ---- */

/* Appends the finalizers after the deletion as an array and sets `*ret_count`. Order and defaults are the real
 * server's: the collector's finalizers come last, replication controllers and jobs orphan their pods, events have no
 * dependents. */
static ki_status append_finalizers(const kt_write *write, yyjson_val *old, ki_buffer *out, size_t *ret_count) {
    static const char *const collector[] = { KT_FINALIZER_ORPHAN, KT_FINALIZER_FOREGROUND };
    bool chosen = write->propagation != KT_PROPAGATE_DEFAULT;
    bool is_event = is_kind(write, "", "events") || is_kind(write, "events.k8s.io", "events");
    bool orphans = is_kind(write, "", "replicationcontrollers") || is_kind(write, "batch", "jobs");
    bool orphaned = kt_json_list_has(old, SIZE_MAX, NULL, KI_STR(KT_FINALIZER_ORPHAN));
    bool foreground = kt_json_list_has(old, SIZE_MAX, NULL, KI_STR(KT_FINALIZER_FOREGROUND));
    bool wanted[2] = {
        chosen ? write->propagation == KT_PROPAGATE_ORPHAN : orphaned || (orphans && !foreground),
        chosen ? write->propagation == KT_PROPAGATE_FOREGROUND : foreground,
    };
    size_t index, count, kept = 0;
    yyjson_val *one;
    ki_buffer_append_char(out, '[');
    yyjson_arr_foreach(old, index, count, one) {
        ki_str name = kt_json_str(one);
        if (!is_event && (ki_str_equals(name, collector[0]) || ki_str_equals(name, collector[1])))
            continue;
        ki_buffer_append_string(out, kept++ ? "," : "");
        ki_buffer_append_json_string(out, name);
    }
    for (size_t i = 0; i < 2 && !is_event; i++) {
        if (wanted[i])
            ki_buffer_printf(out, "%s\"%s\"", kept++ ? "," : "", collector[i]);
    }
    *ret_count = kept;
    return ki_buffer_append_char(out, ']');
}

/* ---- removal ---- */

/* Does the namespace controller's work for an empty namespace: removes its finalizer, and the namespace if no other
 * is left. */
static ki_status finish_spec(const kt_write *write, kt_object *obj) {
    const ki_allocator *allocator = &write->storage->cluster->allocator;
    yyjson_doc *doc = NULL, *made = NULL;
    kt_object *last = NULL;
    ki_buffer json;
    size_t index, count, kept = 0;
    ki_status status = kt_json_read_trusted(allocator, obj->json, &doc, NULL);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(doc), *one;
    yyjson_val *finalizers = yyjson_obj_get(yyjson_obj_get(root, "spec"), "finalizers");
    ki_buffer_init(&json, allocator, 0);
    ki_buffer_append_string(&json, "{\"metadata\":");
    kt_json_append(&json, yyjson_obj_get(root, "metadata"));
    ki_buffer_append_string(&json, ",\"spec\":{");
    yyjson_arr_foreach(finalizers, index, count, one) {
        if (ki_str_equals(kt_json_str(one), KUBERNETES))
            continue;
        ki_buffer_append_string(&json, kept++ ? "," : "\"finalizers\":[");
        ki_buffer_append_json_string(&json, kt_json_str(one));
    }
    status = ki_buffer_append_string(&json, kept ? "]}}" : "}}");
    if (!status && !kept && yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(root, "metadata"), "finalizers")) == 0) {
        status = kt_write_remove(write, obj, &last);
    } else if (!status && kt_json_list_has(finalizers, SIZE_MAX, NULL, KI_STR(KUBERNETES))) {
        status = kt_json_read_trusted(allocator, (ki_str){ json.data, json.size }, &made, NULL);
        if (!status)
            status = kt_write_update(write, obj, root, yyjson_doc_get_root(made), root, &last);
    }
    kt_object_unref(last);
    ki_buffer_free(&json);
    yyjson_doc_free(made);
    yyjson_doc_free(doc);
    return status;
}

/* Finishes the deletion of a namespace if it is now empty. */
static ki_status finish_namespace(const kt_write *write, ki_str ns) {
    kt_cluster *cluster = write->storage->cluster;
    kt_storage *namespaces = kt_storage_of(cluster, KI_NAMESPACES);
    kt_object *obj = kt_storage_get(namespaces, no_namespace, ns);
    if (!obj || !ki_str_equals(kt_object_field(obj, KI_STR("status.phase")), "Terminating"))
        return KI_OK;
    for (size_t i = 0; i < cluster->storage_count; i++) {
        const kt_storage *storage = cluster->storages[i]->store;
        size_t begin = 0, end = 0;
        if (storage->info->resource->namespaced && kt_view_leads(cluster->storages[i]))
            kt_objects_range(storage->objects, storage->count, ns, &begin, &end);
        if (begin != end)
            return KI_OK;
    }
    const kt_write own = { .storage = namespaces, .now_ms = write->now_ms, .subresource = "" };
    kt_object_ref(obj);
    ki_status status = finish_spec(&own, obj);
    kt_object_unref(obj);
    return status;
}

ki_status kt_write_remove(const kt_write *write, kt_object *old, kt_object **ret_obj) {
    kt_cluster *cluster = write->storage->cluster;
    kt_object *last;
    if (write->dry_run) {
        *ret_obj = kt_object_ref(old);
        return KI_OK;
    }
    ki_status status = kt_object_with_revision(old, cluster->revision + 1, &cluster->scratch, &last);
    if (status)
        return status;
    status = kt_storage_commit(write->storage, KT_DELETED, kt_object_ref(last), write->now_ms);
    if (status)
        kt_object_unref(last);
    else
        status = finish_namespace(write, last->ns);
    if (status) {
        kt_object_unref(last);
        return status;
    }
    *ret_obj = last;
    return KI_OK;
}

/* ---- deletionTimestamp ---- */

/* Updates an object with these finalizers and a deletionTimestamp. A namespace gets the phase Terminating. */
static ki_status mark_deleted(const kt_write *write, const kt_object *old, yyjson_val *root, yyjson_val *finalizers,
                              kt_object **ret_obj) {
    const ki_allocator *allocator = &write->storage->cluster->allocator;
    yyjson_val *old_meta = yyjson_obj_get(root, "metadata"), *entries = yyjson_obj_get(old_meta, "managedFields");
    char deleted[KI_RFC3339_SIZE];
    ki_rfc3339_seconds(write->now_ms / 1000, deleted);
    kt_meta meta = { .name = old->name, .ns = old->ns, .uid = old->uid, .generation = old->generation };
    kt_write_meta_from(&meta, old_meta);
    meta.finalizers = finalizers;
    meta.created = kt_json_get_str(old_meta, "creationTimestamp");
    meta.deleted = kt_json_get_str(old_meta, "deletionTimestamp");
    if (!meta.deleted.size) {
        meta.deleted = ki_str_of(deleted);
        meta.generation += meta.generation > 0;
    }
    yyjson_doc *terminating = NULL;
    yyjson_val *status_root = root;
    if (kt_write_is_namespace(write)) {
        ki_status status =
            kt_json_read(allocator, KI_STR("{\"status\":{\"phase\":\"Terminating\"}}"), &terminating, NULL);
        if (status)
            return status;
        status_root = yyjson_doc_get_root(terminating);
        meta.grace = -1;
    }
    ki_buffer fields;
    ki_buffer_init(&fields, allocator, 0);
    ki_status status = yyjson_arr_size(entries) ? kt_json_append(&fields, entries) : KI_OK;
    meta.managed_fields = (ki_str){ fields.data, fields.size };
    if (!status)
        status = kt_write_store(write, KT_MODIFIED, &meta, root, status_root, ret_obj);
    ki_buffer_free(&fields);
    yyjson_doc_free(terminating);
    return status;
}

/* Deletes all objects of the namespace, as its controller does. */
static ki_status empty_namespace(const kt_write *write, ki_str ns) {
    kt_cluster *cluster = write->storage->cluster;
    for (size_t i = 0; i < cluster->storage_count; i++) {
        const kt_storage *storage = cluster->storages[i]->store;
        const kt_write own = { .storage = cluster->storages[i],
                               .now_ms = write->now_ms,
                               .subresource = "",
                               .propagation = KT_PROPAGATE_BACKGROUND };
        size_t begin, end, kept = 0;
        while (storage->info->resource->namespaced && kt_view_leads(cluster->storages[i]) &&
               (kt_objects_range(storage->objects, storage->count, ns, &begin, &end), begin + kept < end)) {
            kt_object *obj;
            bool is_removed = false;
            ki_status status = kt_write_delete(&own, storage->objects[begin + kept], &obj, &is_removed);
            if (status)
                return status;
            kt_object_unref(obj);
            kept += !is_removed;
        }
    }
    return KI_OK;
}

static ki_status mark(const kt_write *write, kt_object *old, yyjson_val *root, yyjson_val *finalizers,
                      kt_object **ret_obj) {
    kt_object *marked = NULL;
    kt_object_ref(old); /* the commit moves the reference into the history, which can drop it at once */
    ki_status status = mark_deleted(write, old, root, finalizers, &marked);
    if (!status && kt_write_is_namespace(write) && !write->dry_run) {
        status = empty_namespace(write, marked->name);
        if (!status)
            status = finish_namespace(write, marked->name);
    }
    if (status)
        kt_object_unref(marked);
    else
        *ret_obj = marked;
    kt_object_unref(old);
    return status;
}

ki_status kt_write_delete(const kt_write *write, kt_object *old, kt_object **ret_obj, bool *ret_is_removed) {
    const ki_allocator *allocator = &write->storage->cluster->allocator;
    yyjson_doc *doc = NULL, *made = NULL;
    ki_buffer text;
    size_t kept = 0;
    ki_buffer_init(&text, allocator, 0);
    ki_status status = kt_view_read(write->storage, old, &doc);
    yyjson_val *root = yyjson_doc_get_root(doc), *meta = yyjson_obj_get(root, "metadata");
    yyjson_val *finalizers = yyjson_obj_get(meta, "finalizers");
    bool is_marked = yyjson_obj_get(meta, "deletionTimestamp") != NULL;
    if (!status)
        status = append_finalizers(write, finalizers, &text, &kept);
    if (!status)
        status = kt_json_read_trusted(allocator, (ki_str){ text.data, text.size }, &made, NULL);
    if (!status) {
        *ret_is_removed = !kept && !kt_write_is_namespace(write);
        if (*ret_is_removed)
            status = kt_write_remove(write, old, ret_obj);
        else if (is_marked && yyjson_equals(yyjson_doc_get_root(made), finalizers))
            *ret_obj = kt_object_ref(old);
        else if (is_marked && !kept && !yyjson_arr_size(finalizers))
            *ret_obj = kt_object_ref(old);
        else
            status = mark(write, old, root, kept ? yyjson_doc_get_root(made) : NULL, ret_obj);
    }
    ki_buffer_free(&text);
    yyjson_doc_free(made);
    yyjson_doc_free(doc);
    return status;
}
