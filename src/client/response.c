/* response.c: fills, reads and frees a response. */
#include "src/client/response.h"

#include "src/base/array.h"
#include "src/base/error.h"
#include "src/base/json_scan.h"
#include "src/base/memory.h"
#include "src/object/json.h"

ki_response *ki_response_new(ki_object_format *format, size_t body_limit) {
    const ki_allocator *allocator = ki_object_format_allocator(format);
    ki_response *response = ki_alloc_zero(allocator, sizeof *response);
    if (!response)
        return NULL;
    ki_refcount_init(&response->refs);
    response->allocator = *allocator;
    response->format = ki_object_format_ref(format);
    response->remaining = -1;
    ki_buffer_init(&response->body, &response->allocator, body_limit);
    return response;
}

static ki_response *writable(const ki_response *response) {
    return (ki_response *)(uintptr_t)response; /* only the reference count changes */
}

ki_response *ki_response_ref(const ki_response *response) {
    if (response)
        ki_refcount_inc(&writable(response)->refs);
    return writable(response);
}

void ki_response_unref(const ki_response *borrowed) {
    ki_response *response = writable(borrowed);
    if (!response || !ki_refcount_dec(&response->refs))
        return;
    ki_allocator allocator = response->allocator;
    for (size_t i = 0; i < response->item_count; i++)
        ki_object_unref(response->items[i]);
    ki_free(&allocator, response->items);
    ki_object_unref(response->object);
    ki_free(&allocator, response->resource_version);
    ki_free(&allocator, response->deleted_uid);
    ki_free(&allocator, response->continue_token);
    ki_error_response_free(response->error_response);
    ki_buffer_free(&response->body);
    ki_object_format_unref(response->format);
    ki_free(&allocator, response);
}

/* --- filling ------------------------------------------------------------------------------------------------------ */

ki_status ki_response_add_item(ki_response *response, ki_object *obj) {
    if (KI_ARRAY_RESERVE(&response->allocator, response->items, response->item_count, response->item_capacity))
        return KI_ERR_NO_MEMORY;
    response->items[response->item_count++] = ki_object_ref(obj);
    return KI_OK;
}

ki_status ki_response_take_meta(ki_response *response, const ki_list_meta *meta) {
    response->resource_version = ki_strdup(&response->allocator, meta->resource_version);
    response->continue_token = ki_strdup(&response->allocator, meta->continue_token);
    response->remaining = meta->remaining_item_count;
    return response->resource_version && response->continue_token ? KI_OK : KI_ERR_NO_MEMORY;
}

static ki_str body_of(const ki_response *response) {
    return (ki_str){ response->body.data, response->body.size };
}

/* The Status of a deletion names the object that was removed (k8s.io/apiserver, finalizeDelete). */
static ki_status take_deleted_uid(ki_response *response, ki_str uid) {
    if (uid.size)
        response->deleted_uid = ki_strndup(&response->allocator, uid.data, uid.size);
    return uid.size && !response->deleted_uid ? KI_ERR_NO_MEMORY : KI_OK;
}

ki_status ki_response_make_object(ki_response *response) {
    yyjson_doc *doc = NULL;
    ki_str body = body_of(response);
    if (!body.size || body.data[0] != '{')
        return KI_OK;
    ki_status status = ki_json_parse(&response->allocator, body, &doc, NULL);
    if (status)
        return status == KI_ERR_NO_MEMORY ? status : KI_OK;
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool is_status = ki_str_equals(ki_json_string(root, "kind"), "Status");
    bool is_object = !is_status && ki_json_string(yyjson_obj_get(root, "metadata"), "name").size > 0;
    if (is_status)
        status = take_deleted_uid(response, ki_json_string(yyjson_obj_get(root, "details"), "uid"));
    yyjson_doc_free(doc);
    if (is_object)
        status = ki_object_from_json(response->format, body, NULL, NULL, &response->object, NULL);
    return status == KI_ERR_NO_MEMORY ? status : KI_OK;
}

ki_status ki_response_make_error(ki_response *response, int64_t retry_after_ms) {
    response->error_response =
        ki_error_response_new(&response->allocator, response->http_status, body_of(response), retry_after_ms);
    return response->error_response ? KI_OK : KI_ERR_NO_MEMORY;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

int ki_response_http_status(const ki_response *response) {
    return response->http_status;
}

const ki_object *ki_response_object(const ki_response *response) {
    return response->object;
}

const ki_object *ki_response_item(const ki_response *response, size_t index) {
    return index < response->item_count ? response->items[index] : NULL;
}

size_t ki_response_item_count(const ki_response *response) {
    return response->item_count;
}

const char *ki_response_uid(const ki_response *response) {
    if (response->object)
        return ki_object_uid(response->object);
    return response->deleted_uid ? response->deleted_uid : "";
}

const char *ki_response_resource_version(const ki_response *response) {
    if (response->object)
        return ki_object_resource_version(response->object);
    return response->resource_version ? response->resource_version : "";
}

const char *ki_response_continue(const ki_response *response) {
    return response->continue_token ? response->continue_token : "";
}

int64_t ki_response_remaining(const ki_response *response) {
    return response->remaining;
}

const char *ki_response_body(const ki_response *response, size_t *ret_size) {
    if (ret_size)
        *ret_size = response->body.size;
    return response->body.data ? response->body.data : "";
}

/* Checks that the body is JSON. `*ret_copy` stays empty if the body has no white space; else it is the body without. */
static ki_status compact_body(const ki_response *response, ki_buffer *ret_copy, ki_error *err) {
    yyjson_doc *doc;
    ki_str body = body_of(response);
    ki_status status = ki_json_parse(&response->allocator, body, &doc, err);
    if (status)
        return status;
    yyjson_doc_free(doc);
    size_t opened = 0;
    if (ki_json_is_compact(body, &opened))
        return KI_OK;
    if (ki_buffer_reserve(ret_copy, body.size))
        return ki_error_no_memory(err, "reading a field");
    ret_copy->size = ki_json_compact(ret_copy->data, body);
    return KI_OK;
}

ki_status ki_response_field(const ki_response *response, const char *path, ki_value *ret_value, ki_error *err) {
    if (!response || !path || !ret_value)
        return ki_error_missing(err, "ki_response_field");
    ki_buffer copy;
    ki_buffer_init(&copy, &response->allocator, 0);
    ki_status status = compact_body(response, &copy, err);
    ki_str text = copy.size ? (ki_str){ copy.data, copy.size } : body_of(response);
    if (!status)
        status = ki_json_field(response->format, text, "the response", path, ret_value, err);
    ki_buffer_free(&copy);
    return status;
}

const ki_error_response *ki_response_error(const ki_response *response) {
    return response->error_response;
}
