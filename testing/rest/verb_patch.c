/* verb_patch.c: PATCH: reads the patch, applies it to the object, and continues as an update. */
#include "testing/access/authorize.h"
#include "testing/cluster/view.h"
#include "testing/crd/custom.h"
#include "testing/request/body.h"
#include "testing/request/status.h"
#include "testing/rest/apply.h"
#include "testing/rest/change.h"
#include "testing/rest/conform.h"
#include "testing/rest/equal_keys.h"
#include "testing/rest/patch.h"
#include "testing/rest/verbs.h"
#include "testing/values/json.h"

enum {
    OPERATIONS_MAX = 10000 /* of a JSON patch, as in the real server */
};

typedef enum patch_kind {
    PATCH_JSON,
    PATCH_MERGE,
    PATCH_STRATEGIC,
    PATCH_APPLY
} patch_kind;

static ki_status kind_of(kt_call *call, patch_kind *ret_kind) {
    if (kt_body_has_type(call, "application/json-patch+json"))
        *ret_kind = PATCH_JSON;
    else if (kt_body_has_type(call, "application/merge-patch+json"))
        *ret_kind = PATCH_MERGE;
    else if (kt_body_has_type(call, "application/strategic-merge-patch+json") && kt_schema_kind_of(call->resource))
        *ret_kind = PATCH_STRATEGIC;
    else if (kt_body_has_type(call, "application/apply-patch+yaml"))
        *ret_kind = PATCH_APPLY;
    else
        return kt_fail_media_type(call, call->storage->custom
                                            ? "application/json-patch+json, application/merge-patch+json, "
                                              "application/apply-patch+yaml"
                                            : "application/json-patch+json, application/merge-patch+json, "
                                              "application/strategic-merge-patch+json, application/apply-patch+yaml");
    return KI_OK;
}

static kt_origin origin_of(patch_kind kind) {
    return kind == PATCH_APPLY ? KT_ORIGIN_APPLY : kind == PATCH_STRATEGIC ? KT_ORIGIN_STRATEGIC : KT_ORIGIN_PATCH;
}

/* Returns true for an array of objects. */
static bool is_operations(yyjson_val *root) {
    size_t index, count;
    yyjson_val *operation;
    yyjson_arr_foreach(root, index, count, operation) {
        if (!yyjson_is_obj(operation) && !yyjson_is_null(operation))
            return false;
    }
    return yyjson_is_arr(root);
}

static ki_status read_config(kt_call *call, yyjson_doc **ret_doc) {
    ki_str text = KI_STR("");
    ki_status status = kt_body_yaml(call, &text);
    if (!status)
        status = kt_json_read(call->allocator, text, ret_doc, NULL);
    return status ? status : kt_equal_keys_drop(call, ret_doc);
}

static ki_status read_patch(kt_call *call, patch_kind kind, yyjson_doc **ret_doc) {
    ki_status status = kind == PATCH_APPLY ? read_config(call, ret_doc)
                                           : kt_json_read(call->allocator, call->request->body, ret_doc, NULL);
    if (status == KI_ERR_PARSE)
        return kt_fail_bad_request(call, "invalid JSON patch");
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(*ret_doc);
    if (kind == PATCH_JSON && yyjson_arr_size(root) > OPERATIONS_MAX)
        return kt_fail(call, 413, "RequestEntityTooLarge", NULL,
                       "Request entity too large: The allowed maximum operations in a JSON patch is %d, got %zu",
                       (int)OPERATIONS_MAX, yyjson_arr_size(root));
    if (kind == PATCH_JSON ? !is_operations(root) : !yyjson_is_obj(root))
        return kt_fail_bad_request(call, "error decoding patch: json: cannot unmarshal into Go value of type %s",
                                   kind == PATCH_JSON ? "jsonpatch.Patch" : "map[string]interface {}");
    return KI_OK;
}

/* Responds 422: the patch is well-formed but does not fit the object. */
static ki_status fail_unprocessable(kt_call *call) {
    static const kt_details nothing;
    return kt_fail(call, 422, "Invalid", &nothing, "the server rejected our request due to an error in our request");
}

/* Appends the result of a JSON patch, merge patch or strategic merge patch. */
static ki_status make_patched(kt_call *call, kt_arena *arena, patch_kind kind, yyjson_val *old, yyjson_val *patch,
                              ki_buffer *out) {
    if (kind == PATCH_JSON) {
        int code = 0;
        ki_status status = kt_patch_json(call->allocator, old, patch, out, &code);
        return code == 413 ? kt_fail_generic(call, 413) : code ? fail_unprocessable(call) : status;
    }
    yyjson_alc alc = kt_json_alc(call->allocator);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    if (!doc)
        return KI_ERR_NO_MEMORY;
    yyjson_mut_val *made = NULL;
    ki_status status = KI_OK;
    if (kind == PATCH_MERGE) {
        made = kt_patch_merge(arena, doc, old, patch);
    } else {
        const char *why = NULL;
        kt_spot spot = kt_spot_root(kt_schema_builtin(), kt_schema_kind_of(call->resource));
        ki_str unknown;
        made = kt_patch_strategic(arena, doc, &spot, old, patch, &why, &unknown);
        if (why)
            status = kt_fail_bad_request(call, "%s", why);
        else if (unknown.data)
            status = kt_fail(call, 500, "", NULL,
                             "unable to find api field in struct RawExtension for the json field \"%.*s\"",
                             (int)unknown.size, unknown.data);
    }
    if (!status)
        status = made ? kt_json_append_mut(out, made) : KI_ERR_NO_MEMORY;
    yyjson_mut_doc_free(doc);
    return status;
}

static ki_status apply_patch(kt_call *call, const kt_write *write, patch_kind kind, yyjson_val *old, yyjson_val *patch,
                             yyjson_doc **ret_doc) {
    kt_arena arena;
    ki_buffer text;
    kt_arena_init(&arena, call->allocator);
    ki_buffer_init(&text, call->allocator, 0);
    ki_status status = kind == PATCH_APPLY ? kt_apply_merge(call, write, old, &text)
                                           : make_patched(call, &arena, kind, old, patch, &text);
    if (!status)
        status = kt_json_read(call->allocator, (ki_str){ text.data, text.size }, ret_doc, NULL);
    if (status == KI_ERR_PARSE) /* nested deeper than a body can be */
        status = fail_unprocessable(call);
    ki_buffer_free(&text);
    kt_arena_free(&arena);
    return status;
}

/* Checks the requirements of an apply. */
static ki_status begin_apply(kt_call *call, kt_write *write, yyjson_val *patch) {
    write->applied = patch;
    ki_status status = kt_apply_check_manager(call);
    if (status)
        return status;
    ki_str version = kt_json_get_str(patch, "apiVersion"), kind = kt_json_get_str(patch, "kind");
    if (!version.size || !kind.size)
        return kt_fail_bad_request(call, "invalid object type: %s must be set", kind.size ? "apiVersion" : "kind");
    yyjson_val *meta = yyjson_obj_get(patch, "metadata");
    if (!ki_str_equal(version, call->storage->api_version) || !ki_str_equals(kind, call->resource->kind))
        return kt_fail_bad_request(call, "invalid object type: %s%.*s, Kind=%.*s",
                                   memchr(version.data, '/', version.size) ? "" : "/", (int)version.size, version.data,
                                   (int)kind.size, kind.data);
    if (yyjson_arr_size(yyjson_obj_get(meta, "managedFields")))
        return kt_fail_bad_request(call, "metadata.managedFields must be nil");
    return kt_apply_check(call, write);
}

static ki_status create_applied(kt_call *call, const kt_write *write, yyjson_val *patch) {
    yyjson_doc *doc = NULL; /* a second document, because `patch` determines the manager's fields */
    ki_status status = kt_auth_check_create(call);
    ki_str uid = kt_json_get_str(yyjson_obj_get(patch, "metadata"), "uid");
    const char *plural = call->resource->plural;
    if (!status)
        status = read_config(call, &doc);
    if (!status)
        status = kt_change_check_name(call, patch);
    if (!status && uid.size)
        status = kt_fail_conflict(call, plural, call->name,
                                  "uid mismatch: the provided object specified uid %.*s, and no existing object was "
                                  "found",
                                  (int)uid.size, uid.data);
    if (!status)
        status = kt_conform(call, KT_ORIGIN_APPLY, patch, &doc);
    if (!status)
        status = kt_change_create(call, write, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return status;
}

static ki_status fail_force(kt_call *call) {
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    kt_causes_add(&causes, KT_CAUSE_FORBIDDEN, "force", (ki_str){ NULL, 0 },
                  "may not be specified for non-apply patch");
    return kt_fail_causes(call, &causes, "meta.k8s.io", "PatchOptions", (ki_str){ NULL, 0 });
}

ki_status kt_verb_patch(kt_call *call) {
    kt_write write;
    patch_kind kind = PATCH_JSON;
    yyjson_doc *patch = NULL, *old_doc = NULL, *new_doc = NULL;
    ki_status status = kt_call_negotiate(call, true);
    if (!status)
        status = kt_change_begin(call, &write);
    if (!status)
        status = kind_of(call, &kind);
    if (!status)
        status = read_patch(call, kind, &patch);
    if (!status && kind != PATCH_APPLY && kt_call_param(call, "force").size)
        status = fail_force(call);
    if (!status && kind == PATCH_APPLY)
        status = begin_apply(call, &write, yyjson_doc_get_root(patch));
    kt_object *old = status ? NULL : kt_storage_get(call->storage, call->ns, call->name);
    if (!status && !old)
        status = kind == PATCH_APPLY && !call->subresource.size
                     ? create_applied(call, &write, yyjson_doc_get_root(patch))
                     : kt_fail_not_found(call, call->resource, call->name);
    if (!status && old)
        status = kt_view_read(call->storage, old, &old_doc);
    if (!status)
        status = apply_patch(call, &write, kind, yyjson_doc_get_root(old_doc), yyjson_doc_get_root(patch), &new_doc);
    if (!status)
        status = kt_conform(call, origin_of(kind), yyjson_doc_get_root(patch), &new_doc);
    if (!status)
        status = kt_change_update(call, &write, old, yyjson_doc_get_root(old_doc), yyjson_doc_get_root(new_doc));
    yyjson_doc_free(new_doc);
    yyjson_doc_free(old_doc);
    yyjson_doc_free(patch);
    return status;
}
