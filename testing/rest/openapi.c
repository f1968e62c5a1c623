/* openapi.c: /openapi/v3: the paths of each group version, as far as kubectl reads them, and the schemas of its
 * kinds. */
#include "testing/request/status.h"
#include "testing/rest/verbs.h"
#include "testing/schema/json_schema.h"

static bool is_version_seen(unsigned index, const ki_resource *resource) {
    for (unsigned i = 0; i < index; i++) {
        const ki_resource *other = ki_resource_info_at(i)->resource;
        if (strcmp(other->group, resource->group) == 0 && strcmp(other->version, resource->version) == 0)
            return true;
    }
    return false;
}

static ki_status index_of_versions(kt_call *call) {
    ki_buffer *out = &call->response->body;
    const ki_resource_info *info;
    ki_buffer_append_string(out, "{\"paths\":{");
    for (unsigned i = 0; (info = ki_resource_info_at(i)) != NULL; i++) {
        if (is_version_seen(i, info->resource))
            continue;
        const char *group = info->resource->group, *version = info->resource->version;
        const char *root = group[0] ? "apis/" : "api", *slash = "/";
        ki_buffer_printf(out, "%s\"%s%s%s%s\":{\"serverRelativeURL\":\"/openapi/v3/%s%s%s%s\"}", i ? "," : "", root,
                         group, slash, version, root, group, slash, version);
    }
    ki_buffer_append_string(out, "}}");
    return kt_call_done(call, 200);
}

static ki_status paths_of_version(kt_call *call, ki_str group, ki_str version) {
    ki_buffer *out = &call->response->body;
    const ki_resource_info *info;
    const char *comma = "";
    ki_buffer_append_string(
        out, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"v1\"},\"paths\":{");
    for (unsigned i = 0; (info = ki_resource_info_at(i)) != NULL; i++) {
        const ki_resource *resource = info->resource;
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
    if (comma[0] && kt_json_schema_append(out, group, version))
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
