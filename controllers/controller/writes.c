/* writes.c: frequent writes of reconcilers: finalizers, status, children. All wait for the response, as
 * ki_client_do. */
#include <kinformer-controllers/controller.h>

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/options.h"
#include "src/client/client.h"
#include "src/factory/verbs.h"
#include "src/object/json.h"
#include "src/object/resource_table.h"
#include "src/object/unstructured.h"

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
    ki_buffer finalizers;
    ki_buffer_init(&finalizers, client->allocator, 0);
    ki_error cause = KI_ERROR_INIT; /* `err` stays unchanged on success, also if the object has no finalizers yet */
    ki_status status = append_finalizers(&finalizers, obj, left_out, added, &cause);
    if (!status && finalizers.failed)
        status = ki_error_no_memory(&cause, "writing finalizers");
    if (!status) {
        ki_unstructured *patch = ki_unstructured_for(resource, ki_object_namespace(obj), ki_object_name(obj));
        ki_unstructured_set_string(patch, "metadata.uid", ki_object_uid(obj));
        ki_unstructured_set_string(patch, "metadata.resourceVersion", ki_object_resource_version(obj));
        ki_unstructured_set_json(patch, "metadata.finalizers", finalizers.data);
        status = ki_client_patch_like(client, resource, KI_PATCH_MERGE, patch, obj, NULL, ret_obj, &cause);
    }
    ki_buffer_free(&finalizers);
    if (status && err)
        *err = cause;
    return status;
}

static ki_status check(const ki_client *client, const ki_resource *resource, const ki_object *obj, const char *what,
                       ki_error *err) {
    if (!client || !resource || !obj)
        return ki_error_set(err, KI_ERR_INVALID, "%s without a client, a resource, or an object", what);
    if (ki_engine_check_process(client->engine, err))
        return KI_ERR_STATE;
    if (!ki_resource_is_complete(resource))
        return ki_error_set(err, KI_ERR_INVALID, "%s needs a resource with group, version, plural and kind", what);
    return KI_OK;
}

static ki_status check_finalizer(const ki_client *client, const ki_resource *resource, const ki_object *obj,
                                 const char *finalizer, const char *what, ki_error *err) {
    ki_status status = check(client, resource, obj, what, err);
    if (!status && (!finalizer || !finalizer[0]))
        status = ki_error_set(err, KI_ERR_INVALID, "%s without the finalizer's name", what);
    return status;
}

static ki_status give_unchanged(const ki_object *obj, ki_object **ret_obj) {
    if (ret_obj)
        *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

/* Compares with the API server's own reason: a 404 of a proxy has none. */
static bool is_reason(const ki_error *err, const char *reason) {
    return strcmp(err->reason, reason) == 0;
}

/* Returns true if the server has no such object any more, or another one of its name. */
static bool is_gone(ki_client *client, const ki_resource *resource, const ki_object *obj) {
    ki_object *current = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_client_get(client, resource, ki_object_namespace(obj), ki_object_name(obj), NULL, &current, &err))
        return is_reason(&err, "NotFound");
    bool is_another = strcmp(ki_object_uid(current), ki_object_uid(obj)) != 0;
    ki_object_unref(current);
    return is_another;
}

ki_status ki_client_add_finalizer(ki_client *client, const ki_resource *resource, const ki_object *obj,
                                  const char *finalizer, ki_object **ret_obj, ki_error *err) {
    ki_status status = check_finalizer(client, resource, obj, finalizer, "adding a finalizer", err);
    if (status)
        return status;
    if (ki_object_has_finalizer(obj, finalizer))
        return give_unchanged(obj, ret_obj);
    return write_finalizers(client, resource, obj, NULL, finalizer, ret_obj, err);
}

ki_status ki_client_remove_finalizer(ki_client *client, const ki_resource *resource, const ki_object *obj,
                                     const char *finalizer, ki_object **ret_obj, ki_error *err) {
    ki_status status = check_finalizer(client, resource, obj, finalizer, "removing a finalizer", err);
    if (status)
        return status;
    if (!ki_object_has_finalizer(obj, finalizer))
        return give_unchanged(obj, ret_obj);
    ki_error cause = KI_ERROR_INIT;
    status = write_finalizers(client, resource, obj, finalizer, NULL, ret_obj, &cause);
    if (status && (is_reason(&cause, "NotFound") || (ki_error_is_conflict(&cause) && is_gone(client, resource, obj))))
        return give_unchanged(obj, ret_obj);
    if (status && err)
        *err = cause;
    return status;
}

/* --- server-side apply -------------------------------------------------------------------------------------------- */

/* Applies with force: the fields are the controller's own. The result is made as `like` was. Frees `object`. */
static ki_status apply(ki_client *client, const ki_resource *resource, ki_unstructured *object, const ki_object *like,
                       const ki_request_options *given, const char *subresource, ki_object **ret_obj, ki_error *err) {
    ki_request_options options;
    ki_status status = KI_OPTIONS_TAKE(given, &options, "KI_REQUEST_OPTIONS", err);
    if (status) {
        ki_unstructured_free(object);
        return status;
    }
    options.force = true;
    if (subresource)
        options.subresource = subresource;
    return ki_client_patch_like(client, resource, KI_PATCH_APPLY, object, like, &options, ret_obj, err);
}

ki_status ki_client_apply_status(ki_client *client, const ki_resource *resource, const ki_object *obj,
                                 ki_unstructured *object, const ki_request_options *options, ki_object **ret_obj,
                                 ki_error *err) {
    ki_status status = check(client, resource, obj, "applying a status", err);
    if (status) {
        ki_unstructured_free(object);
        return status;
    }
    const char *slash = resource->group[0] ? "/" : "";
    ki_buffer api_version;
    ki_buffer_init(&api_version, client->allocator, 0);
    ki_buffer_printf(&api_version, "%s%s%s", resource->group, slash, resource->version);
    if (api_version.failed) {
        ki_unstructured_free(object);
        return ki_error_no_memory(err, "applying a status");
    }
    ki_unstructured_set_string(object, "apiVersion", api_version.data);
    ki_buffer_free(&api_version);
    ki_unstructured_set_string(object, "kind", resource->kind);
    ki_unstructured_set_string(object, "metadata.name", ki_object_name(obj));
    if (ki_object_namespace(obj)[0])
        ki_unstructured_set_string(object, "metadata.namespace", ki_object_namespace(obj));
    ki_unstructured_set_string(object, "metadata.uid", ki_object_uid(obj)); /* another uid: Conflict */
    return apply(client, resource, object, obj, options, "status", ret_obj, err);
}

ki_status ki_client_apply_child(ki_client *client, const ki_resource *resource, const ki_object *owner,
                                ki_unstructured *child, const ki_request_options *options, ki_object **ret_obj,
                                ki_error *err) {
    ki_status status = check(client, resource, owner, "applying a child", err);
    const char *owner_namespace = status ? "" : ki_object_namespace(owner);
    if (!status && !resource->namespaced && owner_namespace[0])
        status = ki_error_set(err, KI_ERR_INVALID, "%s are cluster-scoped: %s in namespace %s cannot own them",
                              resource->plural, ki_object_name(owner), owner_namespace);
    if (status) {
        ki_unstructured_free(child);
        return status;
    }
    if (owner_namespace[0] && !ki_unstructured_metadata(child, "namespace"))
        ki_unstructured_set_string(child, "metadata.namespace", owner_namespace);
    ki_unstructured_set_controller(child, owner);
    bool is_named = ki_unstructured_known_metadata(child, "name") != NULL; /* a text with an error has no name */
    status = apply(client, resource, child, NULL, options, NULL, ret_obj, err);
    if (status && !is_named)
        ki_error_prefix(err, "child of %.63s %.317s", ki_object_kind(owner), ki_object_key(owner));
    return status;
}
