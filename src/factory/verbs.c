/* verbs.c: one function for each frequent request. They read an informer's cache, and make objects with its view, by
 * public functions. */
#include "src/factory/verbs.h"

#include <kinformer/lister.h>

#include "src/base/error.h"
#include "src/base/options.h"
#include "src/client/outgoing.h"
#include "src/object/body.h"
#include "src/object/json.h"
#include "src/object/resource_table.h"
#include "src/object/unstructured.h"
#include "src/wire/framer.h"

#include <string.h>

static ki_status say_no_object(const ki_client_request *request, const ki_request_options *options,
                               const ki_response *response, ki_error *err) {
    char shown[KI_WIRE_SHOW_MAX], what[KI_OUTGOING_WHAT_MAX];
    ki_str body;
    body.data = ki_response_body(response, &body.size);
    ki_outgoing_describe(request, options, what);
    return ki_error_set(err, KI_ERR_PROTOCOL,
                        "%s: the server's response is not an object: \"%s\"; ki_client_do accepts any response", what,
                        ki_wire_show(body, shown));
}

static bool is_same_resource(const ki_resource *a, const ki_resource *b) {
    return strcmp(a->plural, b->plural) == 0 && strcmp(a->group, b->group) == 0;
}

/* One of these functions at work. */
typedef struct work {
    ki_client *client;
    ki_client_request request;
    ki_request_options options;
    const ki_unstructured *object; /* NULL: no write */
    const ki_object *like;         /* the result has its format; NULL: the client's */
    ki_object *cached;             /* what the object was: of the cache of the options' informer; NULL: none. Owned */
} work;

static ki_status begin(work *self, const ki_request_options *given, ki_error *err) {
    ki_status status = !self->client || !self->request.resource
                           ? ki_error_set(err, KI_ERR_INVALID, "a request without a client or a resource")
                           : KI_OPTIONS_TAKE(given, &self->options, "KI_REQUEST_OPTIONS", err);
    const ki_informer *informer = status ? NULL : self->options.informer;
    if (informer && ki_resource_is_complete(self->request.resource) &&
        ki_resource_is_complete(ki_informer_resource(informer)) &&
        !is_same_resource(ki_informer_resource(informer), self->request.resource))
        status = ki_error_set(err, KI_ERR_INVALID, "a request for %s with an informer of %s",
                              self->request.resource->plural, ki_informer_resource(informer)->plural);
    self->request.options = &self->options;
    return status;
}

/* Gets the response's object, with the views of the informer or of `like` if there is one. */
static ki_status take_object(const work *self, const ki_response *response, ki_object **ret_obj, ki_error *err) {
    const ki_object *obj = ki_response_object(response);
    size_t size = 0;
    if (!obj)
        return say_no_object(&self->request, &self->options, response, err);
    const char *body = ki_response_body(response, &size);
    if (!self->options.informer && self->like)
        return ki_object_from_json_whole(ki_format_of(self->like), (ki_str){ body, size }, ki_object_api_version(obj),
                                         ki_object_kind(obj), ret_obj, err);
    if (!self->options.informer) {
        *ret_obj = ki_object_ref(obj);
        return KI_OK;
    }
    return ki_informer_object_from_json(self->options.informer, body, size, ret_obj, err);
}

static ki_write_result result_of(const work *self, const ki_response *response) {
    const ki_object *obj = ki_response_object(response);
    const char *before = ki_unstructured_metadata(self->object, "resourceVersion");
    if (!before && self->cached)
        before = ki_object_resource_version(self->cached);
    if (self->request.verb == KI_CLIENT_CREATE || ki_response_http_status(response) == 201)
        return KI_WRITE_CREATED;
    bool is_at_version = obj && before && before[0] && strcmp(before, ki_object_resource_version(obj)) == 0;
    return is_at_version && !self->options.dry_run ? KI_WRITE_UNCHANGED : KI_WRITE_UPDATED;
}

static ki_status send(const work *self, ki_object **ret_obj, ki_error *err) {
    ki_response *response = NULL;
    ki_status status = ki_client_do(self->client, &self->request, &response, err);
    if (status)
        return status;
    if (ret_obj)
        status = take_object(self, response, ret_obj, err);
    if (!status && self->object && self->options.ret_result)
        *self->options.ret_result = result_of(self, response);
    ki_response_unref(response);
    return status;
}

ki_status ki_client_get(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *name,
                        const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    work self = { .client = client,
                  .request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_GET, .resource = resource,
                                               .namespace_name = namespace_name, .name = name) };
    ki_status status = begin(&self, options, err);
    return status ? status : send(&self, ret_obj, err);
}

ki_status ki_client_list(ki_client *client, const ki_resource *resource, const char *namespace_name,
                         const ki_request_options *options, ki_response **ret_response, ki_error *err) {
    return ki_client_do(client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = resource,
                                           .namespace_name = namespace_name, .options = options),
                        ret_response, err);
}

/* --- writes of an object ------------------------------------------------------------------------------------------ */

/* Looks for the object in the cache of the options' informer. */
static void look_up(work *self) {
    char key[KI_OBJECT_KEY_MAX];
    const char *name = ki_unstructured_metadata(self->object, "name");
    if (!self->cached && self->options.informer && name &&
        ki_key_join(self->request.namespace_name, name, key, sizeof key))
        self->cached = ki_informer_get(self->options.informer, key);
}

static ki_status parse_cached(const work *self, yyjson_doc **ret_doc, ki_error *err) {
    ki_body body;
    ki_status status = ki_body_open(self->cached, &body, err);
    if (status)
        return status;
    status = ki_json_parse_exact(self->client->allocator, body.text, ret_doc, err);
    ki_body_close(self->cached, &body);
    return status;
}

/* Finds out whether the object is the one of the cache, at its version. Only whole objects show a difference. Errors:
 * KI_ERR_NO_MEMORY. */
static ki_status compare(const work *self, const char *json, bool *ret_is_same, ki_error *err) {
    const char *version = ki_unstructured_metadata(self->object, "resourceVersion");
    *ret_is_same = false;
    if (!version || !self->cached || strcmp(version, ki_object_resource_version(self->cached)) != 0 ||
        ki_object_keep(self->cached) != KI_KEEP_OBJECT)
        return KI_OK;
    yyjson_doc *wanted = NULL, *actual = NULL;
    ki_status status = ki_json_parse_exact(self->client->allocator, ki_str_of(json), &wanted, err);
    if (!status)
        status = parse_cached(self, &actual, err);
    if (!status)
        *ret_is_same = yyjson_equals(yyjson_doc_get_root(wanted), yyjson_doc_get_root(actual));
    yyjson_doc_free(wanted);
    yyjson_doc_free(actual);
    return status;
}

/* Rejects a fencing token in a write with which the server does not check that the token was compared. */
static ki_status check_fence(const work *self, ki_error *err) {
    bool is_checked =
        self->request.verb == KI_CLIENT_CREATE || (self->request.verb == KI_CLIENT_UPDATE && self->object->is_read &&
                                                   ki_unstructured_metadata(self->object, "resourceVersion"));
    if (!self->object->is_fenced || is_checked)
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID,
                        "%s: a fencing token is for a create, or for an update of an object that was read",
                        self->request.resource->plural);
}

/* Sends the write, unless it is an update without a difference. */
static ki_status send_difference(const work *self, ki_object **ret_obj, ki_error *err) {
    bool is_same = false;
    ki_status status = check_fence(self, err);
    if (!status && self->request.verb == KI_CLIENT_UPDATE)
        status = compare(self, self->request.body, &is_same, err);
    if (status || !is_same)
        return status ? status : send(self, ret_obj, err);
    if (ret_obj)
        *ret_obj = ki_object_ref(self->cached);
    if (self->options.ret_result)
        *self->options.ret_result = KI_WRITE_UNCHANGED;
    return KI_OK;
}

/* Begins the message of an object's failure with the request: "create configmaps shop/a: YAML: line 3, column 2: …". An
 * object that was not read from its text has no name. */
static void name_failure(const work *self, const ki_unstructured *object, ki_error *err) {
    char what[KI_OUTGOING_WHAT_MAX];
    ki_client_request request = self->request;
    if (!ki_resource_is_complete(request.resource))
        return;
    request.namespace_name = ki_unstructured_known_metadata(object, "namespace");
    request.name = ki_unstructured_known_metadata(object, "name");
    if (!request.name && self->like) {
        request.namespace_name = ki_object_namespace(self->like);
        request.name = ki_object_name(self->like);
    }
    ki_outgoing_describe(&request, &self->options, what);
    ki_error_prefix(err, "%s", what);
}

/* Returns the text to send; NULL after a failure, also if the server would take the fields that the object lacks for
 * removed ones. */
static const char *text_of(const work *self, ki_unstructured *object, ki_error *err) {
    const char *json = ki_unstructured_json(object, err);
    bool sets_some = self->request.verb == KI_CLIENT_PATCH && self->request.patch != KI_PATCH_APPLY;
    if (!json || !object->is_partial || sets_some)
        return json;
    ki_error_set(err, KI_ERR_STATE,
                 "the object was made from metadata alone (KI_KEEP_METADATA), and a write of all fields would remove "
                 "the others; use ki_client_patch, or an object from ki_client_get");
    return NULL;
}

/* Sends the object, and frees it. */
static ki_status write_object(work *self, ki_unstructured *object, const ki_request_options *options,
                              const char *subresource, ki_object **ret_obj, ki_error *err) {
    ki_error cause = KI_ERROR_INIT;
    ki_status status = begin(self, options, &cause);
    if (!status && subresource)
        self->options.subresource = subresource;
    const char *json = status ? NULL : text_of(self, object, &cause);
    if (json) {
        ki_client_request *request = &self->request;
        bool is_of_object = self->options.subresource && self->options.subresource[0];
        request->namespace_name = ki_unstructured_metadata(object, "namespace");
        if (request->verb != KI_CLIENT_CREATE || is_of_object)
            request->name = ki_unstructured_metadata(object, "name");
        request->body = json;
        request->body_size = strlen(json);
        self->object = object;
        look_up(self);
        status = send_difference(self, ret_obj, &cause);
    } else if (!status) {
        status = cause.code;
        name_failure(self, object, &cause);
    }
    ki_object_unref(self->cached);
    ki_unstructured_free(object);
    if (status && err)
        *err = cause;
    return status;
}

ki_status ki_client_create(ki_client *client, const ki_resource *resource, ki_unstructured *object,
                           const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    work self = { .client = client, .request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = resource) };
    return write_object(&self, object, options, NULL, ret_obj, err);
}

static ki_status update(ki_client *client, const ki_resource *resource, const ki_object *before,
                        ki_unstructured *object, const ki_request_options *options, const char *subresource,
                        ki_object **ret_obj, ki_error *err) {
    work self = { .client = client,
                  .request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_UPDATE, .resource = resource),
                  .cached = ki_object_ref(before) };
    return write_object(&self, object, options, subresource, ret_obj, err);
}

ki_status ki_client_update_over(ki_client *client, const ki_resource *resource, const ki_object *before,
                                ki_unstructured *object, const ki_request_options *options, ki_object **ret_obj,
                                ki_error *err) {
    return update(client, resource, before, object, options, NULL, ret_obj, err);
}

ki_status ki_client_update(ki_client *client, const ki_resource *resource, ki_unstructured *object,
                           const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    return update(client, resource, NULL, object, options, NULL, ret_obj, err);
}

ki_status ki_client_update_status(ki_client *client, const ki_resource *resource, ki_unstructured *object,
                                  const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    return update(client, resource, NULL, object, options, "status", ret_obj, err);
}

ki_status ki_client_patch_like(ki_client *client, const ki_resource *resource, ki_patch_type type,
                               ki_unstructured *object, const ki_object *like, const ki_request_options *options,
                               ki_object **ret_obj, ki_error *err) {
    work self = { .client = client,
                  .request = KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = resource, .patch = type),
                  .like = like };
    return write_object(&self, object, options, NULL, ret_obj, err);
}

ki_status ki_client_patch(ki_client *client, const ki_resource *resource, ki_patch_type type, ki_unstructured *object,
                          const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    if (type == KI_PATCH_MERGE || type == KI_PATCH_STRATEGIC)
        return ki_client_patch_like(client, resource, type, object, NULL, options, ret_obj, err);
    ki_unstructured_free(object);
    return ki_error_set(err, KI_ERR_INVALID,
                        "ki_client_patch: the type is neither KI_PATCH_MERGE nor KI_PATCH_STRATEGIC");
}

ki_status ki_client_apply(ki_client *client, const ki_resource *resource, ki_unstructured *object,
                          const ki_request_options *options, ki_object **ret_obj, ki_error *err) {
    return ki_client_patch_like(client, resource, KI_PATCH_APPLY, object, NULL, options, ret_obj, err);
}

/* --- deletion ----------------------------------------------------------------------------------------------------- */

ki_status ki_client_delete(ki_client *client, const ki_resource *resource, const char *namespace_name, const char *name,
                           const ki_request_options *options, ki_response **ret_response, ki_error *err) {
    return ki_client_do(client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE, .resource = resource,
                                           .namespace_name = namespace_name, .name = name, .options = options),
                        ret_response, err);
}

ki_status ki_client_delete_collection(ki_client *client, const ki_resource *resource, const char *namespace_name,
                                      const ki_request_options *options, ki_error *err) {
    return ki_client_do(client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_DELETE_COLLECTION, .resource = resource,
                                           .namespace_name = namespace_name, .options = options),
                        NULL, err);
}
