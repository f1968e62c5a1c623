/* writes.c: frequent writes of reconcilers: finalizers, status, children. All wait for the response, as
 * ki_client_do. */
#include <kinformer/controller.h>

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/client/client.h"
#include "src/object/json.h"
#include "src/object/resource_table.h"

#include <string.h>

/* --- finalizers --------------------------------------------------------------------------------------------------- */

static void append_text(ki_buffer *out, const char *text) {
    ki_buffer_append_json_string(out, (ki_str){ text, strlen(text) });
}

/* Appends an object's finalizers as a JSON array, without `left_out` and with `added` at the end; each may be NULL. */
static ki_status append_finalizers(ki_buffer *out, const ki_object *obj, const char *left_out, const char *added,
                                   ki_error *err) {
    ki_value value = KI_VALUE_INIT;
    yyjson_doc *doc = NULL;
    bool is_first = true;
    ki_status status = ki_object_field(obj, "metadata.finalizers", &value, err);
    if (!status && value.type == KI_VALUE_ARRAY)
        status = ki_json_parse(out->allocator, (ki_str){ value.text, value.text_size }, &doc, err);
    ki_value_clear(&value);
    if (status && status != KI_ERR_NOT_FOUND)
        return status;
    size_t index, count;
    yyjson_val *finalizer;
    ki_buffer_append_char(out, '[');
    yyjson_arr_foreach(yyjson_doc_get_root(doc), index, count, finalizer) {
        const char *name = yyjson_get_str(finalizer);
        if (!name || (left_out && strcmp(name, left_out) == 0))
            continue;
        if (!is_first)
            ki_buffer_append_char(out, ',');
        append_text(out, name);
        is_first = false;
    }
    if (added) {
        if (!is_first)
            ki_buffer_append_char(out, ',');
        append_text(out, added);
    }
    ki_buffer_append_char(out, ']');
    yyjson_doc_free(doc);
    return KI_OK;
}

/* Writes the finalizers as a merge patch with the resource version. If the object has changed, the server responds 409
 * (Conflict), as to an update. */
static ki_status write_finalizers(ki_client *client, const ki_resource *resource, const ki_object *obj,
                                  const char *left_out, const char *added, ki_object **ret_obj, ki_error *err) {
    ki_buffer patch;
    ki_buffer_init(&patch, client->allocator, 0);
    ki_buffer_append_string(&patch, "{\"metadata\":{\"uid\":");
    append_text(&patch, ki_object_uid(obj));
    ki_buffer_append_string(&patch, ",\"resourceVersion\":");
    append_text(&patch, ki_object_resource_version(obj));
    ki_buffer_append_string(&patch, ",\"finalizers\":");
    ki_error cause = KI_ERROR_INIT; /* `err` stays unchanged on success, also if the object has no finalizers yet */
    ki_status status = append_finalizers(&patch, obj, left_out, added, &cause);
    ki_buffer_append_string(&patch, "}}");
    if (!status && patch.failed)
        status = ki_error_no_memory(&cause, "writing finalizers");
    if (!status)
        status = ki_client_patch(client, resource, ki_object_namespace(obj), ki_object_name(obj), KI_PATCH_MERGE,
                                 patch.data, NULL, ret_obj, &cause);
    ki_buffer_free(&patch);
    if (status && err)
        *err = cause;
    return status;
}

static ki_status check(const ki_client *client, const ki_resource *resource, const ki_object *obj, const char *text,
                       const char *what, ki_error *err) {
    if (!client || !resource || !obj)
        return ki_error_set(err, KI_ERR_INVALID, "%s without a client, a resource, or an object", what);
    if (ki_engine_check_process(client->engine, err))
        return KI_ERR_STATE;
    if (!ki_resource_is_complete(resource))
        return ki_error_set(err, KI_ERR_INVALID, "%s needs a resource with group, version, plural and kind", what);
    if (!text || !text[0])
        return ki_error_set(err, KI_ERR_INVALID, "%s without %s", what,
                            strstr(what, "finalizer") ? "the finalizer's name" : "a field manager");
    return KI_OK;
}

static ki_status give_unchanged(const ki_object *obj, ki_object **ret_obj) {
    if (ret_obj)
        *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

ki_status ki_client_add_finalizer(ki_client *client, const ki_resource *resource, const ki_object *obj,
                                  const char *finalizer, ki_object **ret_obj, ki_error *err) {
    ki_status status = check(client, resource, obj, finalizer, "adding a finalizer", err);
    if (status)
        return status;
    if (ki_object_has_finalizer(obj, finalizer))
        return give_unchanged(obj, ret_obj);
    return write_finalizers(client, resource, obj, NULL, finalizer, ret_obj, err);
}

ki_status ki_client_remove_finalizer(ki_client *client, const ki_resource *resource, const ki_object *obj,
                                     const char *finalizer, ki_object **ret_obj, ki_error *err) {
    ki_status status = check(client, resource, obj, finalizer, "removing a finalizer", err);
    if (status)
        return status;
    if (!ki_object_has_finalizer(obj, finalizer))
        return give_unchanged(obj, ret_obj);
    ki_error cause = KI_ERROR_INIT;
    status = write_finalizers(client, resource, obj, finalizer, NULL, ret_obj, &cause);
    if (status && strcmp(cause.reason, "NotFound") == 0) /* the API server's own response, not a 404 of a proxy */
        return give_unchanged(obj, ret_obj);
    if (status && err)
        *err = cause;
    return status;
}

/* --- server-side apply -------------------------------------------------------------------------------------------- */

static void append_identity(ki_buffer *out, const ki_resource *resource, const ki_object *obj) {
    ki_buffer_append_string(out, "{\"apiVersion\":\"");
    if (resource->group[0])
        ki_buffer_printf(out, "%s/", resource->group);
    ki_buffer_printf(out, "%s\",\"kind\":\"%s\",\"metadata\":{\"name\":", resource->version, resource->kind);
    append_text(out, ki_object_name(obj));
    if (ki_object_namespace(obj)[0]) {
        ki_buffer_append_string(out, ",\"namespace\":");
        append_text(out, ki_object_namespace(obj));
    }
    ki_buffer_append_string(out, ",\"uid\":"); /* an object with the same name and another UID: Conflict */
    append_text(out, ki_object_uid(obj));
    ki_buffer_append_string(out, "}");
}

ki_status ki_client_apply_status(ki_client *client, const ki_resource *resource, const ki_object *obj,
                                 const char *field_manager, const char *status_json, ki_object **ret_obj,
                                 ki_error *err) {
    ki_status status = check(client, resource, obj, field_manager, "applying a status", err);
    if (status)
        return status;
    if (!status_json || !status_json[0])
        return ki_error_set(err, KI_ERR_INVALID, "applying a status without a status");
    ki_buffer body;
    ki_buffer_init(&body, client->allocator, 0);
    append_identity(&body, resource, obj);
    ki_buffer_append_string(&body, ",\"status\":");
    ki_buffer_append_string(&body, status_json);
    ki_buffer_append_string(&body, "}");
    if (body.failed)
        status = ki_error_no_memory(err, "applying a status");
    else
        status = ki_client_apply(
            client, resource, ki_object_namespace(obj), ki_object_name(obj), body.data,
            &KI_REQUEST_OPTIONS(.subresource = "status", .field_manager = field_manager, .force = true), ret_obj, err);
    ki_buffer_free(&body);
    return status;
}

/* Reads metadata.name and metadata.namespace of a child's JSON. The strings are borrowed from *ret_doc. */
static ki_status read_child(const ki_allocator *allocator, const char *json, yyjson_doc **ret_doc,
                            const char **ret_name, const char **ret_namespace, ki_error *err) {
    yyjson_doc *doc = NULL;
    ki_status status = ki_json_parse(allocator, (ki_str){ json, strlen(json) }, &doc, err);
    if (status)
        return status;
    yyjson_val *metadata = yyjson_obj_get(yyjson_doc_get_root(doc), "metadata");
    *ret_name = yyjson_get_str(yyjson_obj_get(metadata, "name"));
    *ret_namespace = yyjson_get_str(yyjson_obj_get(metadata, "namespace"));
    if (!*ret_name || !(*ret_name)[0]) {
        yyjson_doc_free(doc);
        return ki_error_set(err, KI_ERR_INVALID, "applying a child without metadata.name");
    }
    *ret_doc = doc;
    return KI_OK;
}

ki_status ki_client_apply_child(ki_client *client, const ki_resource *resource, const ki_object *owner,
                                const char *field_manager, ki_unstructured *child, ki_object **ret_obj, ki_error *err) {
    ki_status status = check(client, resource, owner, field_manager, "applying a child", err);
    if (status)
        return status;
    const char *owner_namespace = ki_object_namespace(owner), *name = NULL, *namespace_name = NULL;
    if (!resource->namespaced && owner_namespace[0])
        return ki_error_set(err, KI_ERR_INVALID, "%s are cluster-scoped: %s in namespace %s cannot own them",
                            resource->plural, ki_object_name(owner), owner_namespace);
    if (resource->namespaced && owner_namespace[0])
        ki_unstructured_set_string(child, "metadata.namespace", owner_namespace);
    ki_unstructured_set_controller(child, owner);
    ki_error cause = KI_ERROR_INIT;
    const char *json = ki_unstructured_json(child, &cause);
    if (!json) {
        if (err)
            *err = cause;
        return cause.code;
    }
    yyjson_doc *doc = NULL;
    status = read_child(client->allocator, json, &doc, &name, &namespace_name, err);
    if (status)
        return status;
    status = ki_client_apply(client, resource, namespace_name, name, json,
                             &KI_REQUEST_OPTIONS(.field_manager = field_manager, .force = true), ret_obj, err);
    yyjson_doc_free(doc);
    return status;
}
