/* outgoing.c: makes a request's method, path, parameters and body (also DeleteOptions). Rejects text that would address
 * another object (a name with a slash) or inject a second request (a line end in a path). */
#include "src/client/outgoing.h"

#include "src/client/http_list_watch.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/resource_table.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_set(const char *text) {
    return text && text[0];
}

typedef struct verb_info {
    const char *word;
    const char *method;
    bool needs_name;
    bool needs_namespace; /* if the resource is namespaced */
    bool has_body;
    bool is_write;
} verb_info;

static const verb_info verbs[] = {
    [KI_CLIENT_GET] = { "get", "GET", true, true, false, false },
    [KI_CLIENT_LIST] = { "list", "GET", false, false, false, false },
    [KI_CLIENT_CREATE] = { "create", "POST", false, true, true, true },
    [KI_CLIENT_UPDATE] = { "update", "PUT", true, true, true, true },
    [KI_CLIENT_PATCH] = { "patch", "PATCH", true, true, true, true },
    [KI_CLIENT_DELETE] = { "delete", "DELETE", true, true, false, true },
    [KI_CLIENT_DELETE_COLLECTION] = { "delete the collection of", "DELETE", false, true, false, true },
    [KI_CLIENT_RAW] = { "", "", false, false, false, false },
};

static const char *const patch_types[] = {
    [KI_PATCH_MERGE] = "application/merge-patch+json",
    [KI_PATCH_JSON] = "application/json-patch+json",
    [KI_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
    [KI_PATCH_APPLY] = "application/apply-patch+yaml",
};

static const char *const propagations[] = {
    [KI_PROPAGATION_ORPHAN] = "Orphan",
    [KI_PROPAGATION_BACKGROUND] = "Background",
    [KI_PROPAGATION_FOREGROUND] = "Foreground",
};

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* Rejects bytes that are not allowed in the request line or in a header. */
static ki_status check_line(const char *what, const char *text, bool spaces, ki_error *err) {
    for (const char *at = text ? text : ""; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c < 0x20 || c >= 0x7f || (!spaces && (c == ' ' || c == '#')))
            return ki_error_set(err, KI_ERR_INVALID, "%s has a character that must be percent-encoded (byte %d)", what,
                                (int)(at - text));
    }
    return KI_OK;
}

static ki_status check_method(const char *method, ki_error *err) {
    size_t size = method ? strlen(method) : 0;
    if (size == 0 || size >= sizeof((ki_outgoing *)0)->method)
        return ki_error_set(err, KI_ERR_INVALID, "a raw request needs a method, such as GET");
    for (size_t i = 0; i < size; i++) {
        if (method[i] < 'A' || method[i] > 'Z')
            return ki_error_set(err, KI_ERR_INVALID, "the method \"%.16s\" is not in capital letters", method);
    }
    if (strcmp(method, "CONNECT") == 0)
        return ki_error_set(err, KI_ERR_INVALID, "the method CONNECT is for proxies, not for an API server");
    return KI_OK;
}

static ki_status check_raw(const ki_client_request *request, ki_error *err) {
    ki_status status = check_method(request->method, err);
    if (!status && (!request->path || request->path[0] != '/'))
        status = ki_error_set(err, KI_ERR_INVALID, "a raw request needs a path that begins with /");
    return status ? status : check_line("the path", request->path, false, err);
}

static ki_status check_resource(const ki_client_request *request, ki_error *err) {
    const ki_resource *resource = request->resource;
    if (!resource || !ki_resource_is_complete(resource))
        return ki_error_set(err, KI_ERR_INVALID, "the request needs a resource with group, version, plural and kind");
    return ki_resource_check(resource, request->namespace_name, request->name, err);
}

static ki_status check_names(const ki_client_request *request, const ki_request_options *options, ki_error *err) {
    const verb_info *verb = &verbs[request->verb];
    bool named = is_set(request->name), sub = is_set(options->subresource);
    const char *plural = request->resource->plural;
    if (verb->needs_name && !named)
        return ki_error_set(err, KI_ERR_INVALID, "%s %s: the name is missing", verb->word, plural);
    if (!verb->needs_name && named && !(request->verb == KI_CLIENT_CREATE && sub))
        return ki_error_set(err, KI_ERR_INVALID, "%s %s takes no name", verb->word, plural);
    if (sub && !named)
        return ki_error_set(err, KI_ERR_INVALID, "%s %s: a subresource needs the object's name", verb->word, plural);
    if (request->resource->namespaced && verb->needs_namespace && !is_set(request->namespace_name))
        return ki_error_set(err, KI_ERR_INVALID, "%s %s: the namespace is missing", verb->word, plural);
    return ki_path_segment_check("the subresource", options->subresource, err);
}

static ki_status check_body(const ki_client_request *request, ki_error *err) {
    if (request->body_size > KI_CLIENT_BODY_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "the body has more than %d bytes", KI_CLIENT_BODY_MAX);
    if (request->body_size && !request->body)
        return ki_error_set(err, KI_ERR_INVALID, "the body has a size and no bytes");
    if (verbs[request->verb].has_body && !request->body_size)
        return ki_error_set(err, KI_ERR_INVALID, "%s %s: the body is missing", verbs[request->verb].word,
                            request->resource->plural);
    return KI_OK;
}

static ki_status check(const ki_client_request *request, const ki_request_options *options, ki_error *err) {
    if (request->verb < KI_CLIENT_GET || request->verb > KI_CLIENT_RAW)
        return ki_error_set(err, KI_ERR_INVALID, "the request has no verb");
    bool raw = request->verb == KI_CLIENT_RAW;
    ki_status status = raw ? check_raw(request, err) : check_resource(request, err);
    if (!status && !raw)
        status = check_names(request, options, err);
    if (!status)
        status = check_body(request, err);
    if (!status && (unsigned)request->patch > KI_PATCH_APPLY)
        status = ki_error_set(err, KI_ERR_INVALID, "an unknown type of patch");
    if (!status && request->verb == KI_CLIENT_PATCH && request->patch == KI_PATCH_APPLY &&
        !is_set(options->field_manager))
        status = ki_error_set(err, KI_ERR_INVALID, "apply needs a field manager");
    if (!status && (unsigned)options->propagation > KI_PROPAGATION_FOREGROUND)
        status = ki_error_set(err, KI_ERR_INVALID, "an unknown propagation");
    if (!status)
        status = check_line("the content type", request->content_type, true, err);
    if (!status)
        status = check_line("accept", request->accept, true, err);
    return status ? status : check_line("the parameters", options->parameters, false, err);
}

/* --- the target --------------------------------------------------------------------------------------------------- */

static void write_target(const ki_client_request *request, const ki_request_options *options, ki_buffer *target) {
    if (request->verb == KI_CLIENT_RAW) {
        ki_buffer_append_string(target, request->path);
    } else {
        ki_resource_path(target, request->resource, request->namespace_name,
                         is_set(request->name) ? request->name : NULL);
        if (is_set(options->subresource)) {
            ki_buffer_append_char(target, '/');
            ki_buffer_append_url(target, ki_str_of(options->subresource));
        }
    }
    ki_url_parameter(target, "labelSelector", options->label_selector);
    ki_url_parameter(target, "fieldSelector", options->field_selector);
    ki_url_number(target, "limit", options->limit);
    ki_url_parameter(target, "continue", options->continue_token);
    ki_url_parameter(target, "resourceVersion", options->resource_version);
    ki_url_parameter(target, "resourceVersionMatch", options->resource_version_match);
    ki_url_parameter(target, "fieldManager", options->field_manager);
    ki_url_parameter(target, "force", options->force ? "true" : NULL);
    ki_url_parameter(target, "fieldValidation", options->field_validation);
    if (options->dry_run && verbs[request->verb].method[0] != 'D') /* a deletion has dryRun in its body */
        ki_url_parameter(target, "dryRun", "All");
    if (is_set(options->parameters)) {
        ki_buffer_append_char(target, target->data && memchr(target->data, '?', target->size) ? '&' : '?');
        ki_buffer_append_string(target, options->parameters);
    }
}

/* --- the body ----------------------------------------------------------------------------------------------------- */

static void member(ki_buffer *body, const char *name, const char *value) {
    if (!is_set(value))
        return;
    if (body->size && body->data[body->size - 1] != '{')
        ki_buffer_append_char(body, ',');
    ki_buffer_printf(body, "\"%s\":", name);
    ki_buffer_append_json_string(body, ki_str_of(value));
}

static void write_delete_options(const ki_request_options *options, ki_buffer *body) {
    ki_buffer_append_string(body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"");
    if (options->grace_period_s != 0)
        ki_buffer_printf(body, ",\"gracePeriodSeconds\":%" PRId64,
                         options->grace_period_s > 0 ? options->grace_period_s : 0);
    if (is_set(options->precondition_uid) || is_set(options->precondition_resource_version)) {
        ki_buffer_append_string(body, ",\"preconditions\":{");
        member(body, "uid", options->precondition_uid);
        member(body, "resourceVersion", options->precondition_resource_version);
        ki_buffer_append_char(body, '}');
    }
    if (options->propagation)
        member(body, "propagationPolicy", propagations[options->propagation]);
    if (options->dry_run)
        ki_buffer_append_string(body, ",\"dryRun\":[\"All\"]");
    ki_buffer_append_char(body, '}');
}

static bool is_deletion(const ki_client_request *request) {
    return request->verb == KI_CLIENT_DELETE || request->verb == KI_CLIENT_DELETE_COLLECTION;
}

static const char *content_type_of(const ki_client_request *request) {
    if (is_set(request->content_type))
        return request->content_type;
    return request->verb == KI_CLIENT_PATCH ? patch_types[request->patch] : "application/json";
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

void ki_outgoing_describe(const ki_client_request *request, const ki_request_options *options, char *what) {
    const ki_resource *resource = request->resource;
    bool is_apply = request->verb == KI_CLIENT_PATCH && request->patch == KI_PATCH_APPLY;
    if (request->verb == KI_CLIENT_RAW) {
        snprintf(what, KI_OUTGOING_WHAT_MAX, "%s %.*s", request->method, (int)strcspn(request->path, "?"),
                 request->path);
        return;
    }
    bool sub = is_set(options->subresource), named = is_set(request->name);
    bool in = resource->namespaced && is_set(request->namespace_name);
    snprintf(what, KI_OUTGOING_WHAT_MAX, "%s %s%s%s%s%s%s%s%s%s", is_apply ? "apply" : verbs[request->verb].word,
             resource->plural, resource->group[0] ? "." : "", resource->group, sub ? "/" : "",
             sub ? options->subresource : "",
             named ? " "
             : in  ? " in namespace "
                   : "",
             in ? request->namespace_name : "", named && in ? "/" : "", named ? request->name : "");
}

static int64_t timeout_of(const ki_request_options *options) {
    int64_t ms = options->timeout_ms ? options->timeout_ms : KI_CLIENT_TIMEOUT_MS;
    return ms < 0 || ms > INT64_MAX / 1000000 ? 0 : ms * 1000000;
}

static bool fill(const ki_allocator *allocator, const ki_client_request *request, const ki_request_options *options,
                 ki_outgoing *out) {
    bool raw = request->verb == KI_CLIENT_RAW;
    snprintf(out->method, sizeof out->method, "%s", raw ? request->method : verbs[request->verb].method);
    out->timeout_ns = timeout_of(options);
    ki_outgoing_describe(request, options, out->what);
    write_target(request, options, &out->target);
    if (is_deletion(request) && !request->body_size)
        write_delete_options(options, &out->body);
    else if (request->body_size)
        ki_buffer_append(&out->body, request->body, request->body_size);
    if (out->body.size)
        out->content_type = ki_strdup(allocator, content_type_of(request));
    out->accept = ki_strdup(allocator, is_set(request->accept) ? request->accept : "application/json");
    if (request->verb == KI_CLIENT_LIST) {
        const ki_resource *resource = request->resource;
        ki_buffer api_version;
        ki_buffer_init(&api_version, allocator, 0);
        ki_buffer_printf(&api_version, "%s%s%s", resource->group, resource->group[0] ? "/" : "", resource->version);
        out->api_version = ki_buffer_take(&api_version, NULL);
        ki_buffer_free(&api_version);
        out->kind = ki_strdup(allocator, resource->kind);
        if (!out->api_version || !out->kind)
            return false;
    }
    return out->accept && (!out->body.size || out->content_type);
}

ki_status ki_outgoing_make(const ki_allocator *allocator, const ki_client_request *request,
                           const ki_request_options *options, ki_outgoing *ret_outgoing, ki_error *err) {
    ki_status status = check(request, options, err);
    if (status)
        return status;
    ki_outgoing out = { .timeout_ns = 0 };
    ki_buffer_init(&out.target, allocator, KI_CLIENT_TARGET_MAX);
    ki_buffer_init(&out.body, allocator, 0);
    bool filled = fill(allocator, request, options, &out);
    if (out.target.failed == KI_ERR_LIMIT)
        status = ki_error_set(err, KI_ERR_LIMIT, "%s: path and parameters have more than %d bytes", out.what,
                              KI_CLIENT_TARGET_MAX);
    else if (!filled || out.target.failed || out.body.failed)
        status = ki_error_no_memory(err, "making a request");
    if (status)
        ki_outgoing_free(allocator, &out);
    else
        *ret_outgoing = out;
    return status;
}

void ki_outgoing_free(const ki_allocator *allocator, ki_outgoing *out) {
    ki_buffer_free(&out->target);
    ki_buffer_free(&out->body);
    ki_free(allocator, out->content_type);
    ki_free(allocator, out->accept);
    ki_free(allocator, out->kind);
    ki_free(allocator, out->api_version);
}
