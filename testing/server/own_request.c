/* own_request.c: see own_request.h. */
#include "testing/server/own_request.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/resource_table.h"
#include "src/object/unstructured.h"
#include "testing/cluster/write.h"
#include "testing/values/json.h"

#include <stdio.h>

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

ki_status kt_own_text(const char *text, size_t size, ki_buffer *converted, ki_str *ret_json, ki_error *err) {
    if (!text)
        return ki_error_set(err, KI_ERR_INVALID, "an object needs JSON or YAML");
    *ret_json = (ki_str){ text, size ? size : strlen(text) };
    if (ki_unstructured_is_json(*ret_json))
        return KI_OK;
    ki_status status = ki_unstructured_yaml_to_json(*ret_json, converted, err);
    if (status == KI_ERR_PARSE)
        ki_error_prefix(err, "YAML");
    *ret_json = (ki_str){ converted->data, converted->size };
    return status;
}

static void set_text(const ki_allocator *allocator, char *data, size_t size, ki_testing_text *ret_text) {
    *ret_text = (ki_testing_text){ .data = data, .size = size, .owner = allocator };
}

static ki_status take_text(const ki_allocator *allocator, kt_response *response, ki_testing_text *ret_text) {
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

/* Returns KI_OK for a successful response; otherwise KI_ERR_HTTP, and fills `err` from the response's Status. */
static ki_status response_error(const kt_response *response, ki_error *err) {
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

ki_status kt_own_request(kt_cluster *cluster, const kt_request *request, int64_t now_ms, ki_testing_text *ret_body,
                         ki_error *err) {
    kt_response response;
    if (kt_rest_handle(cluster, request, now_ms, &response))
        return ki_error_no_memory(err, "responding to a request");
    ki_status status = KI_OK;
    if (response.watch) {
        status = ki_error_set(err, KI_ERR_INVALID, "a watch has no complete response: %s", request->target);
    } else {
        status = response_error(&response, err);
        if (ret_body && take_text(kt_cluster_allocator(cluster), &response, ret_body))
            status = ki_error_no_memory(err, "responding to a request");
    }
    kt_response_free(&response);
    return status;
}

/* ---- changes of objects ---- */

/* Makes the request for the object, or with `suffix` for its status. */
static ki_status change_part(kt_cluster *cluster, const kt_object_change *change, const char *suffix, int64_t now_ms,
                             ki_error *err) {
    ki_buffer target;
    ki_buffer_init(&target, kt_cluster_allocator(cluster), KT_TARGET_MAX);
    ki_status status = kt_request_target(&target, change->resource, change->ns, change->name);
    if (!status)
        status = ki_buffer_append_string(&target, suffix);
    if (status) {
        status = ki_error_no_memory(err, "making a request");
    } else {
        const kt_request request = { .method = change->method,
                                     .target = target.data,
                                     .content_type = change->content_type,
                                     .user_agent = "kinformer-testing",
                                     .body = change->json };
        status = kt_own_request(cluster, &request, now_ms, NULL, err);
    }
    ki_buffer_free(&target);
    return status;
}

/* Appends a patch that sets the status of `json`; nothing if `json` has none. */
static ki_status append_status_patch(const ki_allocator *allocator, const kt_object_change *change, bool is_merge,
                                     ki_buffer *out) {
    yyjson_doc *doc = NULL;
    ki_status status = kt_json_read(allocator, change->json, &doc, NULL);
    yyjson_val *val = yyjson_obj_get(yyjson_doc_get_root(doc), "status");
    if (val && (is_merge || !yyjson_is_null(val))) {
        ki_buffer_append_string(out, is_merge ? "{\"status\":" : "[{\"op\":\"add\",\"path\":\"/status\",\"value\":");
        kt_json_append(out, val);
        ki_buffer_append_string(out, is_merge ? "}" : "}]");
    }
    yyjson_doc_free(doc);
    return status == KI_ERR_NO_MEMORY ? status : out->failed; /* the request reports invalid JSON */
}

ki_status kt_own_change(kt_cluster *cluster, const kt_object_change *change, int64_t now_ms, ki_error *err) {
    const kt_storage *storage = kt_storage_of(cluster, change->resource);
    const ki_allocator *allocator = kt_cluster_allocator(cluster);
    bool is_merge = strcmp(change->method, "PATCH") == 0;
    kt_object_change of_status = *change;
    ki_buffer patch;
    ki_buffer_init(&patch, allocator, 0);
    ki_status status = KI_OK;
    if (storage && storage->has_status)
        status = append_status_patch(allocator, change, is_merge, &patch);
    if (status)
        status = ki_error_no_memory(err, "making a request");
    of_status.method = "PATCH";
    of_status.content_type = is_merge ? "application/merge-patch+json" : "application/json-patch+json";
    of_status.json = (ki_str){ patch.data, patch.size };
    if (!status && patch.size)
        status = change_part(cluster, &of_status, "/status?dryRun=All", now_ms, err);
    if (!status)
        status = change_part(cluster, change, "", now_ms, err);
    /* The first request can have removed an object that was being deleted. */
    if (!status && patch.size && !kt_cluster_get(cluster, change->resource, change->ns, change->name, &(ki_str){ 0 }))
        status = change_part(cluster, &of_status, "/status", now_ms, err);
    ki_buffer_free(&patch);
    return status;
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
