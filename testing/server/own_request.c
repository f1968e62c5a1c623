/* own_request.c: see own_request.h. */
#include "testing/server/own_request.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/resource_table.h"

#include <stdio.h>
#include <yyjson.h>

ki_status kt_check_resource(const ki_resource *resource, ki_error *err) {
    if (resource && ki_resource_is_complete(resource))
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "a request needs a resource with group, version, plural and kind");
}

ki_status kt_request_target(ki_buffer *target, const ki_resource *resource, const char *ns, const char *name) {
    if (resource->group[0])
        ki_buffer_printf(target, "/apis/%s/%s", resource->group, resource->version);
    else
        ki_buffer_printf(target, "/api/%s", resource->version);
    if (ns && resource->namespaced) {
        ki_buffer_append_string(target, "/namespaces/");
        ki_buffer_append_url(target, ki_str_of(ns));
    }
    ki_buffer_printf(target, "/%s", resource->plural);
    if (name) {
        ki_buffer_append_char(target, '/');
        ki_buffer_append_url(target, ki_str_of(name));
    }
    return target->failed;
}

ki_status kt_response_error(const kt_response *response, ki_error *err) {
    if (response->status < 300)
        return KI_OK;
    yyjson_doc *doc = response->body.size ? yyjson_read(response->body.data, response->body.size, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *message = yyjson_get_str(yyjson_obj_get(root, "message"));
    const char *reason = yyjson_get_str(yyjson_obj_get(root, "reason"));
    ki_error_set(err, KI_ERR_HTTP, "%s", message ? message : "the server sent an error response");
    if (err) {
        err->http_status = response->status;
        err->category = response->status >= 500 ? KI_CATEGORY_SERVER : KI_CATEGORY_REQUEST;
        snprintf(err->reason, sizeof err->reason, "%s", reason ? reason : "");
    }
    yyjson_doc_free(doc);
    return KI_ERR_HTTP;
}

static void set_text(const ki_allocator *allocator, char *data, size_t size, ki_testing_text *ret_text) {
    *ret_text = (ki_testing_text){ .data = data, .size = size, .owner = allocator };
}

ki_status kt_text_take(const ki_allocator *allocator, kt_response *response, ki_testing_text *ret_text) {
    size_t size = 0;
    if (!response->body.size) {
        set_text(allocator, NULL, 0, ret_text);
        return KI_OK;
    }
    char *data = ki_buffer_take(&response->body, &size);
    if (!data)
        return KI_ERR_NO_MEMORY;
    set_text(allocator, data, size, ret_text);
    return KI_OK;
}

ki_status kt_text_copy(const ki_allocator *allocator, ki_str text, ki_testing_text *ret_text) {
    char *data = ki_strndup(allocator, text.data, text.size);
    if (!data)
        return KI_ERR_NO_MEMORY;
    set_text(allocator, data, text.size, ret_text);
    return KI_OK;
}

void ki_testing_text_clear(ki_testing_text *text) {
    if (!text || !text->owner)
        return;
    ki_free(text->owner, text->data);
    *text = (ki_testing_text)KI_TESTING_TEXT_INIT;
}
