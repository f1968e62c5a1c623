/* view.c: see view.h. Custom resources convert by the strategy None: apiVersion changes and the schema of the new
 * version prunes. Defaults are filled in by writes only. */
#include "testing/cluster/view.h"

#include "testing/cluster/cluster_state.h"
#include "testing/cluster/convert.h"
#include "testing/cluster/write.h"
#include "testing/values/json.h"

#include <stdio.h>

void kt_view_join(kt_storage *view, kt_storage *store) {
    view->store = store;
    view->next_view = store->next_view;
    store->next_view = view;
    view->converts = store->converts = true;
}

kt_storage *kt_view_leader(kt_storage *store) {
    kt_storage *one = store;
    while (one && !one->is_served)
        one = one->next_view;
    return one;
}

bool kt_view_leads(const kt_storage *view) {
    return kt_view_leader(view->store) == view;
}

static bool is_in_version(const kt_storage *view, const kt_object *obj) {
    const ki_resource *resource = view->info->resource;
    const char *parts[] = {
        "{\"kind\":\"",    resource->kind, "\",\"apiVersion\":\"", resource->group, resource->group[0] ? "/" : "",
        resource->version, "\","
    };
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t size = strlen(parts[i]);
        if (at + size > obj->json.size || memcmp(obj->json.data + at, parts[i], size) != 0)
            return false;
        at += size;
    }
    return true;
}

/* Returns `root` in the version of `view`, as a new document. */
static ki_status convert(const kt_storage *view, yyjson_val *root, yyjson_doc **ret_doc) {
    const ki_allocator *allocator = kt_cluster_allocator(view->cluster);
    if (view->custom)
        return kt_custom_prune(view->custom, root, ret_doc);
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    ki_status status = kt_convert(allocator, view->info->resource, root, &text);
    if (!status)
        status = kt_json_read_trusted(allocator, (ki_str){ text.data, text.size }, ret_doc, NULL);
    ki_buffer_free(&text);
    return status;
}

static ki_status make(const kt_storage *view, const kt_object *obj, yyjson_val *root, kt_object **ret_obj) {
    kt_cluster *cluster = view->cluster;
    const ki_allocator *allocator = kt_cluster_allocator(cluster);
    yyjson_val *given = yyjson_obj_get(root, "metadata"), *entries = yyjson_obj_get(given, "managedFields");
    yyjson_val *grace = yyjson_obj_get(given, "deletionGracePeriodSeconds");
    ki_buffer fields, scratch;
    kt_meta meta = { .name = obj->name,
                     .ns = obj->ns,
                     .uid = obj->uid,
                     .generation = obj->generation,
                     .created = kt_json_get_str(given, "creationTimestamp"),
                     .deleted = kt_json_get_str(given, "deletionTimestamp"),
                     .grace = grace ? yyjson_get_sint(grace) : -1 };
    kt_write_meta_from(&meta, given);
    ki_buffer_init(&fields, allocator, 0);
    ki_buffer_init(&scratch, allocator, 0);
    ki_status status = yyjson_arr_size(entries) ? kt_json_append(&fields, entries) : KI_OK;
    meta.managed_fields = (ki_str){ fields.data, fields.size };
    if (!status)
        status = kt_object_new(view, &meta, root, root, obj->revision, &scratch, ret_obj);
    ki_buffer_free(&scratch);
    ki_buffer_free(&fields);
    return status;
}

ki_status kt_view_object(const kt_storage *view, kt_object *obj, kt_object **ret_obj) {
    KT_HOLDS(view->cluster);
    yyjson_doc *doc = NULL, *made = NULL;
    if (!view->converts || is_in_version(view, obj)) {
        *ret_obj = kt_object_ref(obj);
        return KI_OK;
    }
    ki_status status = kt_json_read_trusted(kt_cluster_allocator(view->cluster), obj->json, &doc, NULL);
    if (!status)
        status = convert(view, yyjson_doc_get_root(doc), &made);
    if (!status)
        status = make(view, obj, yyjson_doc_get_root(made), ret_obj);
    yyjson_doc_free(made);
    yyjson_doc_free(doc);
    return status;
}

ki_status kt_view_read(const kt_storage *view, kt_object *obj, yyjson_doc **ret_doc) {
    kt_object *converted = NULL;
    ki_status status = kt_view_object(view, obj, &converted);
    if (!status)
        status = kt_json_read(kt_cluster_allocator(view->cluster), converted->json, ret_doc, NULL);
    kt_object_unref(converted);
    return status;
}
