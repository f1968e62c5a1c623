/* subresource.c: see subresource.h. Most subresources change the object by a merge patch and respond with a kind of
 * their own. */
#include "testing/rest/subresource.h"

#include "print/cells.h"
#include "src/base/rfc3339.h"
#include "src/object/label.h"
#include "testing/cluster/view.h"
#include "testing/request/body.h"
#include "testing/request/status.h"
#include "testing/rest/apply.h"
#include "testing/rest/change.h"
#include "testing/rest/delete_options.h"
#include "testing/rest/patch.h"
#include "testing/validation/validate.h"
#include "testing/values/base64.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define AUDIENCE "https://kubernetes.default.svc"

enum {
    TOKEN_SECONDS = 3600,
    TOKEN_MIN_SECONDS = 600
};

/* ---- the object and its change ---- */

typedef struct target {
    kt_call *call;
    kt_write write;
    kt_object *old; /* an owned reference */
    yyjson_doc *doc;
    yyjson_val *root;
    yyjson_doc *body;
} target;

static ki_status read_request(kt_call *call, target *t, bool has_body) {
    *t = (target){ .call = call };
    ki_status status = kt_call_negotiate(call, false);
    if (!status)
        status = kt_change_begin(call, &t->write);
    if (!status && has_body)
        status = kt_body_read(call, &t->body);
    if (!status && strcmp(call->request->method, "POST") == 0)
        status = kt_change_check_namespace(call, call->name);
    return status;
}

static ki_status read_object(target *t) {
    kt_call *call = t->call;
    kt_object *old = kt_storage_get(call->storage, call->ns, call->name);
    if (!old)
        return kt_fail_not_found(call, call->resource, call->name);
    t->old = kt_object_ref(old);
    ki_status status = kt_view_read(call->storage, old, &t->doc);
    t->root = yyjson_doc_get_root(t->doc);
    return status;
}

static ki_status begin(kt_call *call, target *t, bool has_body) {
    ki_status status = read_request(call, t, has_body);
    return status ? status : read_object(t);
}

static void end(target *t) {
    yyjson_doc_free(t->body);
    yyjson_doc_free(t->doc);
    kt_object_unref(t->old);
}

/* Merges `patch` into the object. `ret_obj` gets a reference. */
static ki_status change(target *t, ki_str patch, bool status_too, kt_object **ret_obj) {
    kt_arena arena;
    yyjson_doc *patch_doc = NULL, *new_doc = NULL;
    const ki_allocator *allocator = t->call->allocator;
    yyjson_alc alc = kt_json_alc(allocator);
    yyjson_mut_doc *made = yyjson_mut_doc_new(&alc);
    kt_arena_init(&arena, allocator);
    ki_status status = made ? kt_json_read(allocator, patch, &patch_doc, NULL) : KI_ERR_NO_MEMORY;
    yyjson_mut_val *val = status ? NULL : kt_patch_merge(&arena, made, t->root, yyjson_doc_get_root(patch_doc));
    if (!status)
        status = kt_json_freeze(allocator, val, &new_doc);
    if (!status) {
        yyjson_val *root = yyjson_doc_get_root(new_doc);
        status = kt_write_update(&t->write, t->old, t->root, root, status_too ? root : t->root, ret_obj);
    }
    kt_arena_free(&arena);
    yyjson_mut_doc_free(made);
    yyjson_doc_free(new_doc);
    yyjson_doc_free(patch_doc);
    return status;
}

static ki_status success(kt_call *call, int code) {
    ki_buffer_printf(&call->response->body,
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"code\":%d}",
                     code);
    return kt_call_done(call, code);
}

/* ---- scale ---- */

/* The paths of a Scale's values, from the definition or the built-in ones, without the leading dot. */
typedef struct scale_paths {
    ki_str replicas;
    ki_str status_replicas;
    ki_str selector; /* of a custom resource: the path of a string; data NULL: none */
    bool is_custom;
} scale_paths;

static ki_str without_dot(ki_str path) {
    return path.size ? (ki_str){ path.data + 1, path.size - 1 } : path;
}

static scale_paths paths_of(const kt_call *call) {
    const kt_custom *custom = call->storage->custom;
    if (!custom)
        return (scale_paths){ KI_STR("spec.replicas"), KI_STR("status.replicas"), { NULL, 0 }, false };
    return (scale_paths){ without_dot(kt_json_get_str(custom->scale, "specReplicasPath")),
                          without_dot(kt_json_get_str(custom->scale, "statusReplicasPath")),
                          without_dot(kt_json_get_str(custom->scale, "labelSelectorPath")), true };
}

static yyjson_val *val_at(yyjson_val *root, ki_str path) {
    while (root && path.size) {
        ki_str name = ki_str_split(path, '.', &path);
        root = yyjson_obj_getn(root, name.data, name.size);
    }
    return root;
}

/* Appends the merge patch that sets the replicas. */
static ki_status append_replicas_patch(ki_buffer *out, ki_str path, int64_t replicas) {
    size_t depth = 0;
    while (path.size) {
        ki_str name = ki_str_split(path, '.', &path);
        ki_buffer_append_char(out, '{');
        ki_buffer_append_json_string(out, name);
        ki_buffer_append_char(out, ':');
        depth++;
    }
    ki_buffer_printf(out, "%" PRId64, replicas);
    while (depth--)
        ki_buffer_append_char(out, '}');
    return out->failed;
}

static ki_status append_scale(target *t, kt_object *obj, ki_buffer *out) {
    const scale_paths paths = paths_of(t->call);
    yyjson_doc *doc = NULL;
    ki_buffer selector;
    ki_status status = kt_view_read(t->call->storage, obj, &doc);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(doc), *replicas = val_at(root, paths.replicas);
    if (paths.is_custom && !replicas && strcmp(t->call->request->method, "GET") == 0) {
        status = kt_fail_internal(t->call, "the spec replicas field \".%.*s\" does not exist", (int)paths.replicas.size,
                                  paths.replicas.data);
        yyjson_doc_free(doc);
        return status;
    }
    ki_buffer_init(&selector, t->call->allocator, 0);
    if (paths.is_custom)
        ki_buffer_append_view(&selector, paths.selector.size ? kt_json_str(val_at(root, paths.selector)) : KI_STR(""));
    else if (ki_cell_at(root, "spec.selector.matchLabels|spec.selector.matchExpressions"))
        ki_cell_selector(&selector, root, "spec.selector", 0);
    else /* a replication controller's selector is a map */
        ki_cell_labels(&selector, root, "spec.selector", 0);
    ki_buffer_append_string(out, "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{\"name\":");
    ki_buffer_append_json_string(out, obj->name);
    ki_buffer_append_string(out, ",\"namespace\":");
    ki_buffer_append_json_string(out, obj->ns);
    ki_buffer_printf(out,
                     ",\"uid\":\"%.*s\",\"resourceVersion\":\"%" PRIu64 "\",\"creationTimestamp\":\"%.*s\"},"
                     "\"spec\":{\"replicas\":%" PRId64 "},\"status\":{\"replicas\":%" PRId64,
                     (int)obj->uid.size, obj->uid.data, obj->revision, (int)obj->created.size, obj->created.data,
                     yyjson_get_sint(replicas), yyjson_get_sint(val_at(root, paths.status_replicas)));
    if (selector.size) {
        ki_buffer_append_string(out, ",\"selector\":");
        ki_buffer_append_json_string(out, (ki_str){ selector.data, selector.size });
    }
    ki_buffer_append_string(out, "}}");
    if (selector.failed)
        status = KI_ERR_NO_MEMORY;
    ki_buffer_free(&selector);
    yyjson_doc_free(doc);
    return status ? status : out->failed;
}

/* Applies the patch to the Scale and returns the result. */
static ki_status read_scale_patch(target *t, yyjson_doc **ret_doc) {
    kt_call *call = t->call;
    kt_arena arena;
    ki_buffer text;
    yyjson_doc *scale = NULL, *patch = NULL;
    const char *why = NULL;
    bool is_json_patch = kt_body_has_type(call, "application/json-patch+json");
    if (!is_json_patch && !kt_body_has_type(call, "application/merge-patch+json") &&
        !kt_body_has_type(call, "application/strategic-merge-patch+json"))
        return kt_fail_media_type(call, "application/json-patch+json, application/merge-patch+json, "
                                        "application/strategic-merge-patch+json, application/apply-patch+yaml");
    ki_status status = kt_json_read(call->allocator, call->request->body, &patch, &why);
    if (status == KI_ERR_PARSE)
        return kt_fail_bad_request(call, "error decoding patch: %s", why);
    yyjson_alc alc = kt_json_alc(call->allocator);
    yyjson_mut_doc *made = status ? NULL : yyjson_mut_doc_new(&alc);
    kt_arena_init(&arena, call->allocator);
    ki_buffer_init(&text, call->allocator, 0);
    if (!status)
        status = made ? append_scale(t, t->old, &text) : KI_ERR_NO_MEMORY;
    if (!status)
        status = kt_json_read_trusted(call->allocator, (ki_str){ text.data, text.size }, &scale, NULL);
    if (!status) {
        yyjson_val *old = yyjson_doc_get_root(scale), *root = yyjson_doc_get_root(patch);
        int code = 0;
        ki_buffer_reset(&text, SIZE_MAX);
        if (is_json_patch) {
            status = kt_patch_json(call->allocator, old, root, &text, &code);
        } else {
            yyjson_mut_val *val = kt_patch_merge(&arena, made, old, root);
            status = val ? kt_json_append_mut(&text, val) : KI_ERR_NO_MEMORY;
        }
        if (code == 413)
            status = kt_fail_generic(call, 413);
        else if (code)
            status =
                kt_fail(call, 422, "Invalid", NULL, "the server rejected our request due to an error in our request");
    }
    if (!status)
        status = kt_json_read(call->allocator, (ki_str){ text.data, text.size }, ret_doc, NULL);
    if (status == KI_ERR_PARSE)
        status = kt_fail_bad_request(call, "error decoding patch");
    ki_buffer_free(&text);
    kt_arena_free(&arena);
    yyjson_mut_doc_free(made);
    yyjson_doc_free(scale);
    yyjson_doc_free(patch);
    return status;
}

static ki_status check_scale(target *t, yyjson_val *scale, int64_t *ret_replicas) {
    kt_call *call = t->call;
    yyjson_val *replicas = yyjson_obj_get(yyjson_obj_get(scale, "spec"), "replicas");
    ki_str name = kt_json_get_str(yyjson_obj_get(scale, "metadata"), "name");
    ki_str revision = kt_json_get_str(yyjson_obj_get(scale, "metadata"), "resourceVersion");
    uint64_t number = 0;
    *ret_replicas = yyjson_get_sint(replicas);
    if (replicas && !yyjson_is_null(replicas) && (!yyjson_is_int(replicas) || *ret_replicas > INT32_MAX))
        return kt_fail_bad_request(call,
                                   "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal into "
                                   "Go struct field ScaleSpec.spec.replicas of type int32");
    if (name.size && !ki_str_equal(name, call->name))
        return kt_fail_bad_request(call, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                                   (int)name.size, name.data, (int)call->name.size, call->name.data);
    if (*ret_replicas < 0) {
        kt_causes causes;
        kt_causes_init(&causes, call->allocator);
        const scale_paths paths = paths_of(call);
        char value[32], field[256];
        snprintf(value, sizeof value, "%" PRId64, *ret_replicas);
        snprintf(field, sizeof field, "%s%.*s", paths.is_custom ? "." : "", (int)paths.replicas.size,
                 paths.replicas.data);
        kt_causes_add_value(&causes, KT_CAUSE_INVALID, field, ki_str_of(value), false,
                            paths.is_custom ? "should be a non-negative integer"
                                            : "must be greater than or equal to 0");
        return paths.is_custom ? kt_fail_causes(call, &causes, call->resource->group, call->resource->kind, call->name)
                               : kt_fail_causes(call, &causes, "autoscaling", "Scale", call->name);
    }
    if (revision.size && (!ki_str_to_uint64(revision, UINT64_MAX, &number) || (number && number != t->old->revision)))
        return kt_fail_conflict(call, call->resource->plural, call->name,
                                "the object has been modified; please apply your changes to the latest version and try "
                                "again");
    return KI_OK;
}

/* Reads the Scale of an apply. */
static ki_status read_applied_scale(kt_call *call, yyjson_doc **ret_doc) {
    ki_str text;
    ki_status status = kt_apply_check_manager(call);
    if (!status)
        status = kt_body_yaml(call, &text);
    if (!status)
        status = kt_json_read(call->allocator, text, ret_doc, NULL);
    if (status == KI_ERR_PARSE)
        return kt_fail_bad_request(call, "error decoding patch");
    yyjson_val *root = yyjson_doc_get_root(*ret_doc);
    ki_str version = kt_json_get_str(root, "apiVersion"), kind = kt_json_get_str(root, "kind");
    if (!status && (!ki_str_equals(version, "autoscaling/v1") || !ki_str_equals(kind, "Scale")))
        return kt_fail_bad_request(call, "invalid object type: %.*s, Kind=%.*s", (int)version.size, version.data,
                                   (int)kind.size, kind.data);
    return status;
}

/* Applies the replicas to the object. `patch` is the merge patch that sets the replicas. */
static ki_status apply_replicas(target *t, ki_str patch, kt_object **ret_obj) {
    kt_call *call = t->call;
    yyjson_doc *applied = NULL, *made = NULL;
    ki_buffer text;
    ki_buffer_init(&text, call->allocator, 0);
    ki_buffer_printf(&text, "{\"apiVersion\":\"%.*s\",\"kind\":\"%s\",%.*s", (int)call->storage->api_version.size,
                     call->storage->api_version.data, call->resource->kind, (int)patch.size - 1, patch.data + 1);
    ki_status status =
        text.failed ? text.failed : kt_json_read(call->allocator, (ki_str){ text.data, text.size }, &applied, NULL);
    t->write.applied = yyjson_doc_get_root(applied);
    ki_buffer_reset(&text, SIZE_MAX);
    if (!status)
        status = kt_apply_merge(call, &t->write, t->root, &text);
    if (!status)
        status = kt_json_read(call->allocator, (ki_str){ text.data, text.size }, &made, NULL);
    if (!status)
        status = kt_write_update(&t->write, t->old, t->root, yyjson_doc_get_root(made), t->root, ret_obj);
    yyjson_doc_free(made);
    yyjson_doc_free(applied);
    ki_buffer_free(&text);
    return status;
}

static ki_status scale_call(kt_call *call) {
    target t;
    bool is_get = strcmp(call->request->method, "GET") == 0, is_put = strcmp(call->request->method, "PUT") == 0;
    bool is_apply = !is_get && !is_put && kt_body_has_type(call, "application/apply-patch+yaml");
    int64_t replicas = 0;
    kt_object *obj = NULL;
    ki_status status = begin(call, &t, is_put);
    t.write.subresource = "scale";
    if (!status && !is_get && !is_put)
        status = is_apply ? read_applied_scale(call, &t.body) : read_scale_patch(&t, &t.body);
    if (!status && !is_get)
        status = check_scale(&t, yyjson_doc_get_root(t.body), &replicas);
    if (!status && !is_get) {
        ki_buffer patch;
        ki_buffer_init(&patch, call->allocator, 0);
        status = append_replicas_patch(&patch, paths_of(call).replicas, replicas);
        ki_str merged = { patch.data, patch.size };
        if (!status)
            status = is_apply ? apply_replicas(&t, merged, &obj) : change(&t, merged, false, &obj);
        ki_buffer_free(&patch);
    }
    if (!status)
        status = append_scale(&t, obj ? obj : t.old, &call->response->body);
    if (!status)
        status = kt_call_done(call, 200);
    kt_object_unref(obj);
    end(&t);
    return status;
}

/* ---- pods ---- */

static ki_status eviction(kt_call *call) {
    target t;
    kt_object *last = NULL;
    bool is_removed = false;
    ki_status status = read_request(call, &t, true);
    yyjson_val *body = yyjson_doc_get_root(t.body), *options = yyjson_obj_get(body, "deleteOptions");
    if (!status)
        status = kt_body_check_namespace(call, body);
    if (!status && !ki_str_equal(kt_json_get_str(yyjson_obj_get(body, "metadata"), "name"), call->name))
        status = kt_fail_bad_request(call, "name in URL does not match name in Eviction object");
    if (!status)
        status = kt_delete_options_take(call, options, &t.write);
    if (!status)
        status = read_object(&t);
    if (!status)
        status = kt_delete_options_check(call, t.old, options);
    if (!status)
        status = kt_write_delete(&t.write, t.old, &last, &is_removed);
    if (!status)
        status = success(call, 201);
    kt_object_unref(last);
    end(&t);
    return status;
}

/* Checks a Binding in the order of the real server, which responds with a plain 500 for an invalid target. */
static ki_status check_binding(kt_call *call, yyjson_val *body) {
    ki_str name = kt_json_get_str(yyjson_obj_get(body, "metadata"), "name");
    yyjson_val *node = yyjson_obj_get(body, "target");
    ki_str kind = kt_json_get_str(node, "kind");
    bool is_node = !kind.size || ki_str_equals(kind, "Node"), has_name = kt_json_get_str(node, "name").size > 0;
    const char *open = is_node || has_name ? "" : "[", *close = is_node || has_name ? "" : "]";
    if (!ki_str_equal(name, call->name))
        return kt_fail_bad_request(call, "name in URL does not match name in Binding object");
    if (!is_node)
        return kt_fail(call, 500, "", NULL,
                       "%starget.kind: Unsupported value: \"%.*s\": supported values: \"Node\", \"<empty>\"%s%s", open,
                       (int)kind.size, kind.data, has_name ? "" : ", target.name: Required value", close);
    return has_name ? KI_OK : kt_fail(call, 500, "", NULL, "target.name: Required value");
}

/* Appends the conditions with PodScheduled true, in its old place or at the end. */
static void append_scheduled(ki_buffer *out, yyjson_val *conditions, int64_t now_ms) {
    char now[KI_RFC3339_SIZE], scheduled[128];
    size_t index, count;
    yyjson_val *condition;
    bool is_written = false;
    ki_rfc3339_seconds(now_ms / 1000, now);
    snprintf(scheduled, sizeof scheduled,
             "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"%s\"}",
             now);
    ki_buffer_append_char(out, '[');
    yyjson_arr_foreach(conditions, index, count, condition) {
        bool is_scheduled = ki_str_equals(kt_json_get_str(condition, "type"), "PodScheduled");
        if (index)
            ki_buffer_append_char(out, ',');
        if (is_scheduled)
            ki_buffer_append_string(out, scheduled);
        else
            kt_json_append(out, condition);
        is_written = is_written || is_scheduled;
    }
    if (!is_written && yyjson_arr_size(conditions))
        ki_buffer_append_char(out, ',');
    ki_buffer_append_string(out, is_written ? "]" : scheduled);
    if (!is_written)
        ki_buffer_append_char(out, ']');
}

static ki_status binding(kt_call *call) {
    target t;
    kt_object *obj = NULL;
    ki_buffer patch;
    ki_buffer_init(&patch, call->allocator, 0);
    ki_status status = begin(call, &t, true);
    yyjson_val *body = yyjson_doc_get_root(t.body), *meta = yyjson_obj_get(body, "metadata");
    ki_str assigned = kt_json_get_str(yyjson_obj_get(t.root, "spec"), "nodeName");
    if (!status)
        status = check_binding(call, body);
    if (!status && assigned.size)
        status = kt_fail_conflict(call, "pods/binding", call->name, "pod %.*s is already assigned to node \"%.*s\"",
                                  (int)call->name.size, call->name.data, (int)assigned.size, assigned.data);
    if (!status) {
        static const char *const merged[] = { "labels", "annotations" };
        ki_buffer_append_string(&patch, "{\"metadata\":{");
        for (size_t i = 0; i < sizeof merged / sizeof merged[0]; i++) {
            yyjson_val *given = yyjson_obj_get(meta, merged[i]);
            ki_buffer_printf(&patch, "%s\"%s\":", i ? "," : "", merged[i]);
            if (!given || kt_json_append(&patch, given))
                ki_buffer_append_string(&patch, "{}");
        }
        ki_buffer_append_string(&patch, "},\"spec\":{\"nodeName\":");
        ki_buffer_append_json_string(&patch, kt_json_get_str(yyjson_obj_get(body, "target"), "name"));
        ki_buffer_append_string(&patch, "},\"status\":{\"nominatedNodeName\":null,\"conditions\":");
        append_scheduled(&patch, yyjson_obj_get(yyjson_obj_get(t.root, "status"), "conditions"), call->now_ms);
        ki_buffer_append_string(&patch, "}}");
        t.write.subresource = "binding";
        status = patch.failed ? patch.failed : change(&t, (ki_str){ patch.data, patch.size }, true, &obj);
    }
    if (!status)
        status = success(call, 201);
    ki_buffer_free(&patch);
    kt_object_unref(obj);
    end(&t);
    return status;
}

ki_status kt_binding(kt_call *call) {
    yyjson_doc *body = NULL;
    ki_status status = kt_body_read(call, &body);
    if (status)
        return status;
    ki_str name = kt_json_get_str(yyjson_obj_get(yyjson_doc_get_root(body), "metadata"), "name");
    char copy[KI_SUBDOMAIN_MAX + 1];
    bool is_name = name.size > 0 && name.size < sizeof copy;
    if (is_name)
        memcpy(copy, name.data, name.size);
    status = kt_change_check_namespace(call, name);
    yyjson_doc_free(body);
    if (status)
        return status;
    if (!is_name)
        return kt_fail_bad_request(call, "Name parameter required.");
    kt_call pod = *call;
    pod.name = (ki_str){ copy, name.size };
    pod.storage = kt_storage_of(call->cluster, KI_PODS);
    pod.resource = pod.storage->info->resource;
    return binding(&pod);
}

/* ---- service accounts ---- */

static void append_base64_url(ki_buffer *out, ki_str text) {
    size_t start = out->size, kept = start;
    if (kt_base64_append(out, text))
        return;
    for (size_t i = start + 1; out->data[i] != '"' && out->data[i] != '='; i++) { /* without quotes and padding */
        char c = out->data[i];
        out->data[kept++] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
    ki_buffer_truncate(out, kept);
}

/* Appends a unique, unsigned token with the claims of the service account. */
static void append_token(const target *t, int64_t seconds, ki_buffer *out) {
    kt_call *call = t->call;
    int64_t now_s = call->now_ms / 1000;
    char id[KT_UID_SIZE];
    ki_buffer claims, subject;
    kt_write_make_uid(call->cluster, id);
    ki_buffer_init(&claims, call->allocator, 0);
    ki_buffer_init(&subject, call->allocator, 0);
    ki_buffer_printf(&subject, "system:serviceaccount:%.*s:%.*s", (int)call->ns.size, call->ns.data,
                     (int)call->name.size, call->name.data);
    ki_buffer_printf(&claims,
                     "{\"aud\":[\"" AUDIENCE "\"],\"exp\":%" PRId64 ",\"iat\":%" PRId64 ",\"iss\":\"" AUDIENCE
                     "\",\"jti\":\"%s\",\"kubernetes.io\":{\"namespace\":",
                     now_s + seconds, now_s, id);
    ki_buffer_append_json_string(&claims, call->ns);
    ki_buffer_append_string(&claims, ",\"serviceaccount\":{\"name\":");
    ki_buffer_append_json_string(&claims, call->name);
    ki_buffer_printf(&claims, ",\"uid\":\"%.*s\"}},\"nbf\":%" PRId64 ",\"sub\":", (int)t->old->uid.size,
                     t->old->uid.data, now_s);
    ki_buffer_append_json_string(&claims, (ki_str){ subject.data, subject.size });
    ki_buffer_append_char(&claims, '}');
    if (claims.failed || subject.failed)
        out->failed = KI_ERR_NO_MEMORY;
    ki_buffer_append_char(out, '"');
    append_base64_url(out, KI_STR("{\"alg\":\"none\"}"));
    ki_buffer_append_char(out, '.');
    append_base64_url(out, (ki_str){ claims.data, claims.size });
    ki_buffer_append_string(out, ".\"");
    ki_buffer_free(&subject);
    ki_buffer_free(&claims);
}

/* If the server authenticates, adds the token, valid until it expires or the account is deleted. `text` has its
 * quotes. */
static ki_status register_token(const target *t, ki_str text, int64_t expires_ms) {
    kt_call *call = t->call;
    kt_auth *auth = kt_cluster_auth(call->cluster);
    ki_error err = KI_ERROR_INIT;
    ki_buffer line;
    if (!auth->closed)
        return KI_OK;
    kt_auth_drop_expired(auth, call->now_ms);
    ki_buffer_init(&line, call->allocator, 0);
    ki_buffer_printf(&line,
                     "token=%.*s,user=system:serviceaccount:%.*s:%.*s,groups=system:serviceaccounts+system:"
                     "serviceaccounts:%.*s,uid=%.*s",
                     (int)text.size - 2, text.data + 1, (int)call->ns.size, call->ns.data, (int)call->name.size,
                     call->name.data, (int)call->ns.size, call->ns.data, (int)t->old->uid.size, t->old->uid.data);
    ki_status status = line.failed ? KI_ERR_NO_MEMORY : kt_auth_add_token(auth, line.data, &err);
    ki_buffer_free(&line);
    if (!status)
        kt_auth_bind_newest(auth, expires_ms);
    return status && status != KI_ERR_NO_MEMORY ? kt_fail(call, 500, "InternalError", NULL, "%s", err.message) : status;
}

static ki_status token(kt_call *call) {
    target t;
    ki_buffer text, *out = &call->response->body;
    ki_buffer_init(&text, call->allocator, 0);
    char now[KI_RFC3339_SIZE], expires[KI_RFC3339_SIZE];
    ki_status status = begin(call, &t, true);
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(t.body), "spec");
    yyjson_val *wanted = yyjson_obj_get(spec, "expirationSeconds"), *audiences = yyjson_obj_get(spec, "audiences");
    int64_t seconds = wanted && !yyjson_is_null(wanted) ? yyjson_get_sint(wanted) : TOKEN_SECONDS;
    if (!status && (seconds < TOKEN_MIN_SECONDS || seconds > UINT32_MAX)) {
        char value[32];
        kt_causes causes;
        kt_causes_init(&causes, call->allocator);
        snprintf(value, sizeof value, "%" PRId64, seconds);
        kt_causes_add(&causes, KT_CAUSE_INVALID, "spec.expirationSeconds", ki_str_of(value),
                      seconds < TOKEN_MIN_SECONDS ? "may not specify a duration less than 10 minutes"
                                                  : "may not specify a duration larger than 2^32 seconds");
        status = kt_fail_causes(call, &causes, "authentication.k8s.io", "TokenRequest", call->name);
    }
    if (!status) {
        append_token(&t, seconds, &text);
        status = text.failed ? KI_ERR_NO_MEMORY
                             : register_token(&t, (ki_str){ text.data, text.size }, call->now_ms + seconds * 1000);
    }
    if (!status) {
        ki_rfc3339_seconds(call->now_ms / 1000, now);
        ki_rfc3339_seconds(call->now_ms / 1000 + seconds, expires);
        ki_buffer_append_string(
            out, "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\",\"metadata\":{\"name\":");
        ki_buffer_append_json_string(out, call->name);
        ki_buffer_append_string(out, ",\"namespace\":");
        ki_buffer_append_json_string(out, call->ns);
        ki_buffer_printf(out, ",\"creationTimestamp\":\"%s\"},\"spec\":{\"audiences\":", now);
        if (yyjson_arr_size(audiences))
            kt_json_append(out, audiences);
        else
            ki_buffer_append_string(out, "[\"" AUDIENCE "\"]");
        ki_buffer_printf(out,
                         ",\"expirationSeconds\":%" PRId64 ",\"boundObjectRef\":null},\"status\":{\"token\":", seconds);
        ki_buffer_append(out, text.data, text.size);
        ki_buffer_printf(out, ",\"expirationTimestamp\":\"%s\"}}", expires);
        status = kt_call_done(call, 201);
    }
    ki_buffer_free(&text);
    end(&t);
    return status;
}

/* ---- namespaces ---- */

static ki_status finalize(kt_call *call) {
    target t;
    kt_object *obj = NULL;
    ki_buffer patch;
    ki_buffer_init(&patch, call->allocator, 0);
    ki_status status = begin(call, &t, true);
    yyjson_val *finalizers = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(t.body), "spec"), "finalizers");
    yyjson_val *meta = yyjson_obj_get(t.root, "metadata");
    bool ends = yyjson_obj_get(meta, "deletionTimestamp") && yyjson_arr_size(yyjson_obj_get(meta, "finalizers")) == 0;
    t.write.subresource = "finalize";
    if (!status && ends && yyjson_arr_size(finalizers) == 0) {
        status = kt_write_remove(&t.write, t.old, &obj);
    } else if (!status) {
        ki_buffer_append_string(&patch, "{\"spec\":{\"finalizers\":");
        if (yyjson_arr_size(finalizers))
            kt_json_append(&patch, finalizers);
        else
            ki_buffer_append_string(&patch, "null");
        ki_buffer_append_string(&patch, "}}");
        status = patch.failed ? patch.failed : change(&t, (ki_str){ patch.data, patch.size }, false, &obj);
    }
    if (!status)
        status = kt_call_done_object(call, 200, obj);
    ki_buffer_free(&patch);
    kt_object_unref(obj);
    end(&t);
    return status;
}

static const struct {
    const char *name;
    ki_status (*handle)(kt_call *call);
} served[] = {
    { "scale", scale_call }, { "eviction", eviction }, { "binding", binding },
    { "token", token },      { "finalize", finalize },
};

bool kt_subresource_is_served(const char *name) {
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        if (strcmp(served[i].name, name) == 0)
            return true;
    }
    return false;
}

ki_status kt_subresource(kt_call *call) {
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        if (ki_str_equals(call->subresource, served[i].name))
            return served[i].handle(call);
    }
    return kt_fail_generic(call, 404);
}
