/* openapi.c: /openapi/v3: the paths of each group version, as far as kubectl reads them, and the schemas of its
 * kinds. */
#include "testing/cluster/storage.h"
#include "testing/crd/custom.h"
#include "testing/request/status.h"
#include "testing/rest/verbs.h"
#include "testing/schema/json_schema.h"
#include "testing/values/json.h"

static bool is_version_seen(const kt_cluster *cluster, unsigned index, const ki_resource *resource) {
    for (unsigned i = 0; i < index; i++) {
        const ki_resource *other = kt_storage_at(cluster, i)->info->resource;
        if (strcmp(other->group, resource->group) == 0 && strcmp(other->version, resource->version) == 0)
            return true;
    }
    return false;
}

static ki_status index_of_versions(kt_call *call) {
    ki_buffer *out = &call->response->body;
    const kt_storage *storage;
    ki_buffer_append_string(out, "{\"paths\":{");
    for (unsigned i = 0; (storage = kt_storage_at(call->cluster, i)) != NULL; i++) {
        const ki_resource *resource = storage->info->resource;
        if (is_version_seen(call->cluster, i, resource))
            continue;
        const char *group = resource->group, *version = resource->version;
        const char *root = group[0] ? "apis/" : "api", *slash = "/";
        ki_buffer_printf(out, "%s\"%s%s%s%s\":{\"serverRelativeURL\":\"/openapi/v3/%s%s%s%s\"}", i ? "," : "", root,
                         group, slash, version, root, group, slash, version);
    }
    ki_buffer_append_string(out, "}}");
    return kt_call_done(call, 200);
}

/* Appends a group with its parts in reverse order: "com.example" for "example.com". */
static void append_reversed(ki_buffer *out, const char *group) {
    const char *end = group + strlen(group);
    while (end > group) {
        const char *begin = end;
        while (begin > group && begin[-1] != '.')
            begin--;
        ki_buffer_append(out, begin, (size_t)(end - begin));
        end = begin;
        if (end > group) {
            ki_buffer_append_char(out, '.');
            end--;
        }
    }
}

/* Adds what the real server adds to the schema of a definition: apiVersion, kind, metadata, and the kind's names. */
static bool complete(yyjson_mut_doc *doc, yyjson_mut_val *root, const ki_resource *resource) {
    yyjson_mut_val *members = yyjson_mut_obj_get(root, "properties");
    if (!members)
        members = yyjson_mut_obj_add_obj(doc, root, "properties");
    yyjson_mut_val *metadata = yyjson_mut_obj(doc), *text = yyjson_mut_obj(doc), *other = yyjson_mut_obj(doc);
    yyjson_mut_val *parts = yyjson_mut_obj_add_arr(doc, metadata, "allOf");
    yyjson_mut_val *kinds = yyjson_mut_obj_add_arr(doc, root, "x-kubernetes-group-version-kind");
    yyjson_mut_val *kind = yyjson_mut_arr_add_obj(doc, kinds), *reference = yyjson_mut_arr_add_obj(doc, parts);
    return yyjson_mut_obj_add_str(doc, reference, "$ref",
                                  "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") &&
           yyjson_mut_obj_add_str(doc, text, "type", "string") &&
           yyjson_mut_obj_add_str(doc, other, "type", "string") &&
           yyjson_mut_obj_put(members, yyjson_mut_str(doc, "apiVersion"), text) &&
           yyjson_mut_obj_put(members, yyjson_mut_str(doc, "kind"), other) &&
           yyjson_mut_obj_put(members, yyjson_mut_str(doc, "metadata"), metadata) &&
           yyjson_mut_obj_add_str(doc, kind, "group", resource->group) &&
           yyjson_mut_obj_add_str(doc, kind, "kind", resource->kind) &&
           yyjson_mut_obj_add_str(doc, kind, "version", resource->version);
}

static ki_status append_custom(kt_call *call, const kt_custom *custom) {
    ki_buffer *out = &call->response->body;
    const yyjson_alc alc = kt_json_alc(call->allocator);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *root = doc && custom->schema ? yyjson_val_mut_copy(doc, custom->schema) : yyjson_mut_obj(doc);
    ki_status status = root && complete(doc, root, &custom->resource) ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status) {
        ki_buffer_append_string(out, ",\"");
        append_reversed(out, custom->resource.group);
        ki_buffer_printf(out, ".%s.%s\":", custom->resource.version, custom->resource.kind);
        status = kt_json_append_mut(out, root);
    }
    yyjson_mut_doc_free(doc);
    return status;
}

/* Appends the schemas of the custom resources of a group version, behind others. */
static ki_status append_customs(kt_call *call, ki_str group, ki_str version) {
    const kt_storage *storage;
    ki_status status = KI_OK;
    for (unsigned i = 0; !status && (storage = kt_storage_at(call->cluster, i)) != NULL; i++) {
        const kt_custom *custom = kt_custom_of(storage->info);
        if (custom && ki_str_equals(group, custom->resource.group) && ki_str_equals(version, custom->resource.version))
            status = append_custom(call, custom);
    }
    return status;
}

static ki_status paths_of_version(kt_call *call, ki_str group, ki_str version) {
    ki_buffer *out = &call->response->body;
    const kt_storage *storage;
    const char *comma = "";
    ki_buffer_append_string(
        out, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"v1\"},\"paths\":{");
    for (unsigned i = 0; (storage = kt_storage_at(call->cluster, i)) != NULL; i++) {
        const ki_resource *resource = storage->info->resource;
        if (!ki_str_equals(group, resource->group) || !ki_str_equals(version, resource->version))
            continue;
        ki_buffer_printf(
            out,
            "%s\"/%s%s/%s/%s%s/{name}\":{\"get\":{\"responses\":{},\"x-kubernetes-action\":\"get\","
            "\"x-kubernetes-group-version-kind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}},\"patch\":{"
            "\"parameters\":[{\"name\":\"fieldValidation\",\"in\":"
            "\"query\"}],\"responses\":{},\"x-kubernetes-group-version-kind\":{\"group\":\"%s\",\"version\":"
            "\"%s\",\"kind\":\"%s\"}}}",
            comma, resource->group[0] ? "apis/" : "api", resource->group, resource->version,
            resource->namespaced ? "namespaces/{namespace}/" : "", resource->plural, resource->group, resource->version,
            resource->kind, resource->group, resource->version, resource->kind);
        comma = ",";
    }
    ki_buffer_append_string(out, "},\"components\":{\"schemas\":{");
    if (comma[0] && (kt_json_schema_append(out, group, version) || append_customs(call, group, version)))
        return KI_ERR_NO_MEMORY;
    ki_buffer_append_string(out, "}}}");
    return comma[0] ? kt_call_done(call, 200) : kt_fail_generic(call, 404);
}

bool kt_openapi_is(const kt_call *call) {
    return call->segment_count >= 2 && ki_str_equals(call->segments[0], "openapi") &&
           ki_str_equals(call->segments[1], "v3");
}

ki_status kt_openapi(kt_call *call) {
    const ki_str *segments = call->segments;
    if (call->segment_count == 2)
        return index_of_versions(call);
    if (call->segment_count == 4 && ki_str_equals(segments[2], "api"))
        return paths_of_version(call, KI_STR(""), segments[3]);
    if (call->segment_count == 5 && ki_str_equals(segments[2], "apis"))
        return paths_of_version(call, segments[3], segments[4]);
    return kt_fail_generic(call, 404);
}
