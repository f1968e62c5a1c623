/* verbs.c: one function for each frequent request. */
#include <kinformer/client.h>

#include "src/base/error.h"
#include "src/wire/framer.h"

#include <string.h>

static ki_status say_no_object(const ki_client_request *request, const ki_response *response, ki_error *err) {
    char shown[KI_WIRE_SHOW_MAX];
    size_t size = 0;
    const char *body = ki_response_body(response, &size), *ns = request->namespace_name, *name = request->name;
    bool in = request->resource->namespaced && ns && *ns;
    return ki_error_set(err, KI_ERR_PROTOCOL,
                        "%s%s%s%s%s: the server's response is not an object: \"%s\"; ki_client_do accepts any response",
                        request->resource->plural, in || name ? " " : "", in ? ns : "", in && name ? "/" : "",
                        name ? name : "", ki_wire_show((ki_str){ body, size }, shown));
}

/* Sends the request and returns the object if `ret_obj` is set. A response without an object is then an error. */
static ki_status do_object(ki_client *client, const ki_client_request *request, ki_object **ret_obj, ki_error *err) {
    ki_response *response = NULL;
    ki_status status = ki_client_do(client, request, &response, err);
    if (status)
        return status;
    const ki_object *obj = ki_response_object(response);
    if (ret_obj && obj)
        *ret_obj = ki_object_ref(obj);
    else if (ret_obj)
        status = say_no_object(request, response, err);
    ki_response_unref(response);
    return status;
}

ki_status ki_client_get(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *name,
                        const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    return do_object(client,
                     &KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = resource, .namespace_name = namespace_name,
                                        .name = name, .options = options),
                     ret_obj, err);
}

ki_status ki_client_list(ki_client *client, const ki_resource *resource, const char *namespace_name,
                         const ki_request_options *options, ki_response **ret_response, ki_error *err) {
    return ki_client_do(client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = resource,
                                           .namespace_name = namespace_name, .options = options),
                        ret_response, err);
}

static ki_status write_object(ki_client *client, ki_client_request *request, const char *body, ki_object **ret_obj,
                              ki_error *err) {
    request->body = body;
    request->body_size = body ? strlen(body) : 0;
    return do_object(client, request, ret_obj, err);
}

ki_status ki_client_create(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *json,
                           const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    ki_client_request request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = resource,
                                                  .namespace_name = namespace_name, .options = options);
    return write_object(client, &request, json, ret_obj, err);
}

ki_status ki_client_update(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *name,
                           const char *json, const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    ki_client_request request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, .resource = resource,
                                                  .namespace_name = namespace_name, .name = name, .options = options);
    return write_object(client, &request, json, ret_obj, err);
}

ki_status ki_client_update_status(ki_client *client, const ki_resource *resource, const char *namespace_name,
                                  const char *name, const char *json, const ki_request_options *options,
                                  ki_object **ret_obj, ki_error *err) {
    ki_request_options with = { .size = sizeof with };
    if (options && options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_request_options without a size: use KI_REQUEST_OPTIONS()");
    if (options)
        memcpy(&with, options, options->size < sizeof with ? options->size : sizeof with);
    with.size = sizeof with;
    with.subresource = "status";
    return ki_client_update(client, resource, namespace_name, name, json, &with, ret_obj, err);
}

ki_status ki_client_patch(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *name,
                          ki_patch_type type, const char *patch, const ki_request_options *options, ki_object **ret_obj,
                          ki_error *err) {
    ki_client_request request =
        KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = resource, .namespace_name = namespace_name, .name = name,
                          .patch = type, .options = options);
    return write_object(client, &request, patch, ret_obj, err);
}

ki_status ki_client_apply(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *name,
                          const char *json, const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    return ki_client_patch(client, resource, namespace_name, name, KI_PATCH_APPLY, json, options, ret_obj, err);
}

ki_status ki_client_delete(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *name,
                           const ki_request_options *options, ki_error *err) {
    return ki_client_do(client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = resource,
                                           .namespace_name = namespace_name, .name = name, .options = options),
                        NULL, err);
}

ki_status ki_client_delete_collection(ki_client *client, const ki_resource *resource, const char *namespace_name,
                                      const ki_request_options *options, ki_error *err) {
    return ki_client_do(client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE_COLLECTION, .resource = resource,
                                           .namespace_name = namespace_name, .options = options),
                        NULL, err);
}
