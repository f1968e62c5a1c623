/* body.c: see body.h. */
#include "testing/request/body.h"

#include "src/base/error.h"
#include "src/base/yaml_tree.h"
#include "testing/crd/custom.h"
#include "testing/request/status.h"
#include "testing/schema/protobuf.h"
#include "testing/values/json.h"

#include <stdio.h>

enum {
    SUMMARY_SIZE = 30,
    KIND_MAX = 63
};

bool kt_body_has_type(const kt_call *call, const char *type) {
    ki_str rest, given = ki_str_of(call->request->content_type);
    if (!given.size)
        return strcmp(type, "application/json") == 0;
    given = ki_str_split(given, ';', &rest);
    while (given.size && given.data[given.size - 1] == ' ')
        given.size--;
    return ki_str_equals(given, type);
}

ki_status kt_fail_media_type(kt_call *call, const char *accepted) {
    return kt_fail(call, 415, "UnsupportedMediaType", NULL,
                   "the body of the request was in an unknown format - accepted media types include: %s", accepted);
}

/* `call` can have a path without a resource. */
static ki_status fail_unrecognized(kt_call *call, const char *why) {
    bool is_text = kt_body_has_type(call, "application/json");
    ki_str body = is_text ? call->request->body : KI_STR("");
    int shown = (int)(body.size < SUMMARY_SIZE ? body.size : SUMMARY_SIZE);
    return kt_fail_bad_request(
        call,
        "the object provided is unrecognized (must be of type %s): couldn't get version/kind; json "
        "parse error: %s (%.*s%s)",
        call->resource ? call->resource->kind : "object", why, shown, body.data ? body.data : "",
        body.size > SUMMARY_SIZE ? " ..." : "");
}

/* Responds 400 to a custom resource without a kind. */
static ki_status fail_kindless(kt_call *call, yyjson_val *root) {
    ki_buffer whole;
    ki_buffer_init(&whole, call->allocator, 0);
    kt_json_append(&whole, root);
    int shown = (int)(whole.size < SUMMARY_SIZE ? whole.size : SUMMARY_SIZE);
    ki_status status = whole.failed;
    if (!status)
        status = kt_fail_bad_request(
            call, "the object provided is unrecognized (must be of type %s): Object 'Kind' is missing in '%s' (%.*s%s)",
            call->resource->kind, whole.data, shown, whole.data, whole.size > SUMMARY_SIZE ? " ..." : "");
    ki_buffer_free(&whole);
    return status;
}

static ki_status fail_other_kind(kt_call *call, yyjson_val *root) {
    ki_str kind = kt_json_get_str(root, "kind"), name = kt_json_get_str(yyjson_obj_get(root, "metadata"), "name");
    char must[KIND_MAX + 16];
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    snprintf(must, sizeof must, "must be %.*s", (int)KIND_MAX, call->resource->kind);
    kt_causes_add(&causes, KT_CAUSE_INVALID, "kind", kind, must);
    return kt_fail_causes(call, &causes, call->resource->group, kind.data, name);
}

ki_status kt_body_check_type(kt_call *call, yyjson_val *root) {
    const ki_resource *resource = call->resource;
    ki_str kind = kt_json_get_str(root, "kind"), version = kt_json_get_str(root, "apiVersion");
    ki_str expected = call->storage->api_version;
    /* Built-in types can omit kind and apiVersion, and so can requests of this program itself. */
    bool is_custom = call->request->from_network && call->storage->custom;
    if (is_custom && !kind.size)
        return fail_kindless(call, root);
    if ((version.size || is_custom) && !ki_str_equal(version, expected))
        return kt_fail_bad_request(call,
                                   "the API version in the data (%.*s) does not match the expected API version (%.*s)",
                                   (int)version.size, version.data, (int)expected.size, expected.data);
    if (is_custom && !ki_str_equals(kind, resource->kind))
        return fail_other_kind(call, root);
    if (kind.size && !ki_str_equals(kind, resource->kind))
        return kt_fail_bad_request(call, "%.*s in version \"%s\" cannot be handled as a %s: unknown conversion",
                                   (int)kind.size, kind.data, resource->version, resource->kind);
    yyjson_val *meta = yyjson_obj_get(root, "metadata");
    if (meta && !yyjson_is_obj(meta) && !yyjson_is_null(meta))
        return kt_fail_bad_request(
            call,
            "%s in version \"%s\" cannot be handled as a %s: json: cannot unmarshal into Go struct "
            "field %s.metadata of type v1.ObjectMeta",
            resource->kind, resource->version, resource->kind, resource->kind);
    return KI_OK;
}

ki_status kt_body_check_namespace(kt_call *call, yyjson_val *root) {
    ki_str ns = kt_json_get_str(yyjson_obj_get(root, "metadata"), "namespace");
    if (!ns.size || !call->ns.size || ki_str_equal(ns, call->ns))
        return KI_OK;
    return kt_fail_bad_request(call,
                               "the namespace of the provided object does not match the namespace sent on the request");
}

static bool looks_like_json(ki_str text) {
    while (text.size && strchr(" \t\r\n", text.data[0])) {
        text.data++;
        text.size--;
    }
    return text.size && text.data[0] == '{';
}

ki_status kt_body_yaml(kt_call *call, ki_str *ret_text) {
    ki_error err = KI_ERROR_INIT;
    yyjson_doc *doc = NULL;
    ki_str body = call->request->body;
    ki_status status = looks_like_json(body) ? kt_json_read(call->allocator, body, &doc, NULL) : KI_ERR_PARSE;
    yyjson_doc_free(doc);
    if (status != KI_ERR_PARSE) { /* unchanged, because parsing large JSON as YAML is slow */
        *ret_text = body;
        return status;
    }
    ki_buffer_reset(&call->decoded, SIZE_MAX);
    const ki_yaml_options options = { .keeps_equal_keys = true }; /* strict field validation reports them */
    status = ki_yaml_to_json(body, &options, &call->decoded, &err);
    if (call->decoded.failed == KI_ERR_LIMIT)
        return kt_fail_generic(call, 413);
    if (status && status != KI_ERR_NO_MEMORY)
        return kt_fail_bad_request(call, "error %s: %s",
                                   kt_body_has_type(call, "application/apply-patch+yaml") ? "encoding patch"
                                                                                          : "converting YAML to JSON",
                                   ki_error_message(&err));
    *ret_text = (ki_str){ call->decoded.data, call->decoded.size };
    return status;
}

ki_status kt_body_text(kt_call *call, ki_str *ret_text) {
    if (kt_body_has_type(call, "application/json")) {
        *ret_text = call->request->body;
        return KI_OK;
    }
    if (kt_body_has_type(call, "application/yaml"))
        return kt_body_yaml(call, ret_text);
    if (!kt_body_has_type(call, KT_PROTOBUF_TYPE))
        return kt_fail_media_type(call, "application/json, application/yaml, " KT_PROTOBUF_TYPE);
    const char *why = NULL;
    ki_buffer_reset(&call->decoded, SIZE_MAX);
    ki_status status = kt_protobuf_to_json(call->request->body, &call->decoded, &why);
    if (status == KI_ERR_PARSE)
        return fail_unrecognized(call, why);
    if (status == KI_ERR_LIMIT)
        return kt_fail_generic(call, 413);
    *ret_text = (ki_str){ call->decoded.data, call->decoded.size };
    return status;
}

ki_status kt_body_read(kt_call *call, yyjson_doc **ret_doc) {
    yyjson_doc *doc = NULL;
    const char *why = NULL;
    ki_str text = KI_STR("");
    ki_status status = kt_body_text(call, &text);
    if (status)
        return status;
    status = kt_json_read(call->allocator, text, &doc, &why);
    if (status == KI_ERR_PARSE)
        return fail_unrecognized(call, why);
    if (status)
        return status;
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        return fail_unrecognized(call, "json: cannot unmarshal into Go value of type struct");
    }
    *ret_doc = doc;
    return KI_OK;
}
