/* conform.c: see conform.h. */
#include "testing/rest/conform.h"

#include "testing/crd/custom.h"
#include "testing/request/body.h"
#include "testing/request/status.h"
#include "testing/rest/equal_keys.h"
#include "testing/schema/secret.h"
#include "testing/schema/strict.h"
#include "testing/values/go_text.h"
#include "testing/values/json.h"

typedef enum directive {
    IGNORE,
    WARN,
    STRICT
} directive;

static ki_status read_directive(kt_call *call, directive *ret) {
    ki_str value = kt_call_param(call, "fieldValidation");
    *ret = WARN;
    if (!value.size || ki_str_equals(value, "Warn"))
        return KI_OK;
    *ret = ki_str_equals(value, "Strict") ? STRICT : IGNORE;
    if (*ret == STRICT || ki_str_equals(value, "Ignore"))
        return KI_OK;
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    kt_causes_add(&causes, KT_CAUSE_NOT_SUPPORTED, "fieldValidation", value,
                  "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
    const char *method = call->request->method;
    const char *kind = strcmp(method, "POST") == 0  ? "CreateOptions"
                       : strcmp(method, "PUT") == 0 ? "UpdateOptions"
                                                    : "PatchOptions";
    return kt_fail_causes(call, &causes, "meta.k8s.io", kind, (ki_str){ NULL, 0 });
}

/* Responds ` "" is invalid: patch: Invalid value: "…": why`, with the patch or its result. */
static ki_status fail_patch(kt_call *call, kt_arena *arena, kt_origin origin, yyjson_val *patch, yyjson_val *root,
                            const char *why) {
    ki_buffer value;
    kt_causes causes;
    ki_buffer_init(&value, call->allocator, 0);
    kt_causes_init(&causes, call->allocator);
    if (origin == KT_ORIGIN_STRATEGIC)
        kt_go_print(arena, &value, patch);
    else
        kt_json_append(&value, root);
    kt_causes_add(&causes, KT_CAUSE_INVALID, "patch", (ki_str){ value.data, value.size }, why);
    bool failed = value.failed || arena->failed;
    ki_status status = kt_fail_causes(call, &causes, "", "", (ki_str){ NULL, 0 });
    ki_buffer_free(&value);
    return failed ? KI_ERR_NO_MEMORY : status;
}

static ki_status fail_object(kt_call *call, kt_arena *arena, kt_origin origin, yyjson_val *patch, yyjson_val *root,
                             const char *why) {
    const ki_resource *resource = call->resource;
    if (origin == KT_ORIGIN_APPLY && !call->storage->custom) {
        ki_str ns = kt_json_get_str(yyjson_obj_get(patch, "metadata"), "namespace");
        const char *group = resource->group, *slash = group[0] ? "/" : "";
        return kt_fail(call, 500, "", NULL,
                       "failed to convert new object (%.*s/%.*s; %s/%s, Kind=%s) to proper version: unable to convert "
                       "unstructured object to %s%s%s, Kind=%s: %s",
                       (int)ns.size, ns.size ? ns.data : "", (int)call->name.size, call->name.data, group,
                       resource->version, resource->kind, group, slash, resource->version, resource->kind, why);
    }
    if (origin != KT_ORIGIN_BODY)
        return fail_patch(call, arena, origin, patch, root, why);
    return kt_fail_bad_request(call, "%s in version \"%s\" cannot be handled as a %s: %s", resource->kind,
                               resource->version, resource->kind, why);
}

/* Responds: strict decoding error: unknown field "a", unknown field "b" */
static ki_status fail_strict(kt_call *call, kt_arena *arena, kt_origin origin, yyjson_val *patch, yyjson_val *root,
                             const ki_buffer *notes) {
    ki_buffer why;
    ki_str rest = { notes->data, notes->size };
    const char *comma = "strict decoding error: ";
    ki_buffer_init(&why, call->allocator, 0);
    while (rest.size) {
        ki_str line = ki_str_split(rest, '\n', &rest);
        ki_buffer_append_string(&why, comma);
        ki_buffer_append_view(&why, line);
        comma = ", ";
    }
    ki_status status = why.failed ? KI_ERR_NO_MEMORY : fail_object(call, arena, origin, patch, root, why.data);
    ki_buffer_free(&why);
    return status;
}

ki_status kt_conform(kt_call *call, kt_origin origin, yyjson_val *patch, yyjson_doc **doc) {
    directive strictness = WARN;
    ki_status status = read_directive(call, &strictness);
    if (status)
        return status;
    kt_arena arena;
    kt_strict strict = { .arena = &arena };
    ki_buffer text;
    kt_arena_init(&arena, call->allocator);
    ki_buffer_init(&text, call->allocator, 0);
    ki_buffer_init(&strict.notes, call->allocator, 0);
    ki_buffer_init(&strict.error, call->allocator, 0);
    yyjson_alc alc = kt_json_alc(call->allocator);
    yyjson_val *root = yyjson_doc_get_root(*doc);
    yyjson_mut_val *val = NULL;
    yyjson_doc *typed = NULL;
    bool is_typed = call->storage->spot.type || call->storage->custom;
    bool is_noted = origin != KT_ORIGIN_APPLY;
    if (call->storage->custom && origin != KT_ORIGIN_BODY && !kt_json_get_str(root, "kind").size)
        status = fail_patch(call, &arena, origin, patch, root, "Object 'Kind' is missing");
    else
        status = kt_body_check_type(call, root);
    if (!status && is_typed) {
        strict.doc = yyjson_mut_doc_new(&alc);
        val = strict.doc ? kt_strict_read(&strict, &call->storage->spot, root) : NULL;
        const char *why = strict.error.data;
        if (!strict.doc || arena.failed) {
            status = KI_ERR_NO_MEMORY;
        } else if (!val) {
            if (origin == KT_ORIGIN_STRATEGIC && ki_str_starts_with(ki_str_of(why), KI_STR("json: cannot unmarshal"))) {
                const char *type_name = strstr(why, " of type ");
                ki_buffer_printf(&text, "unrecognized type: %s", type_name ? type_name + sizeof " of type " - 1 : "");
                why = text.data;
            }
            status = text.failed ? KI_ERR_NO_MEMORY : fail_object(call, &arena, origin, patch, root, why);
        } else if (strict.notes.size && strictness == STRICT && is_noted) {
            status = fail_strict(call, &arena, origin, patch, root, &strict.notes);
        } else if (strict.notes.size && strictness == WARN && is_noted) {
            status = ki_buffer_append(&call->response->warnings, strict.notes.data, strict.notes.size);
        }
    }
    if (!status && is_typed)
        status = kt_json_freeze(call->allocator, val, &typed);
    if (typed) {
        yyjson_doc_free(*doc);
        *doc = typed;
        if (call->resource == KI_SECRETS)
            status = kt_secret_merge_string_data(call->allocator, doc);
    }
    if (!status && origin == KT_ORIGIN_APPLY && strictness != IGNORE)
        status = kt_equal_keys_report(call, strictness == STRICT);
    yyjson_mut_doc_free(strict.doc);
    ki_buffer_free(&text);
    ki_buffer_free(&strict.notes);
    ki_buffer_free(&strict.error);
    kt_arena_free(&arena);
    return status;
}
