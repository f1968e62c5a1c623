/* discovery.c: the discovery documents, aggregated and unaggregated. */
#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"
#include "testing/rest/subresource.h"
#include "testing/rest/verbs.h"
#include "testing/values/json.h"

typedef enum aggregated {
    AGGREGATED_NO,
    AGGREGATED_V2,
    AGGREGATED_V2BETA1
} aggregated;

static bool contains(ki_str text, const char *part) {
    size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++) {
        if (memcmp(text.data + i, part, size) == 0)
            return true;
    }
    return false;
}

/* Returns the form of the first Accept clause that the server can serve. */
static aggregated wanted_form(const kt_call *call) {
    ki_str rest = ki_str_of(call->request->accept);
    while (rest.size) {
        ki_str clause = ki_str_split(rest, ',', &rest);
        if (!contains(clause, "application/json") && !contains(clause, "*/*"))
            continue;
        if (!contains(clause, "as=APIGroupDiscoveryList"))
            return AGGREGATED_NO;
        if (contains(clause, "g=apidiscovery.k8s.io") && contains(clause, "v=v2beta1"))
            return AGGREGATED_V2BETA1;
        if (contains(clause, "g=apidiscovery.k8s.io") && contains(clause, "v=v2"))
            return AGGREGATED_V2;
    }
    return AGGREGATED_NO;
}

/* Returns the served resources in the order of discovery; NULL after the last one. */
static const ki_resource_info *info_at(const kt_cluster *cluster, size_t index) {
    const kt_storage *storage = kt_storage_at(cluster, index);
    return storage ? storage->info : NULL;
}

static void append_verbs(ki_buffer *out, unsigned verbs) {
    const char *comma = "";
    ki_buffer_append_string(out, "\"verbs\":[");
    for (unsigned i = 0; i < KI_VERB_COUNT; i++) {
        if (!(verbs & 1u << i))
            continue;
        ki_buffer_printf(out, "%s\"%s\"", comma, ki_verb_name(i));
        comma = ",";
    }
    ki_buffer_append_char(out, ']');
}

static void append_names(ki_buffer *out, const ki_resource_info *info) {
    const kt_custom *custom = kt_custom_of(info);
    if (custom) {
        static const char *const lists[] = { "shortNames", "categories" };
        for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
            yyjson_val *list = yyjson_obj_get(custom->names, lists[i]);
            if (!yyjson_arr_size(list))
                continue;
            ki_buffer_printf(out, ",\"%s\":", lists[i]);
            kt_json_append(out, list);
        }
        return;
    }
    if (info->short_names[0]) {
        ki_buffer_append_string(out, ",\"shortNames\":[");
        for (size_t i = 0; info->short_names[i]; i++)
            ki_buffer_printf(out, "%s\"%s\"", i ? "," : "", info->short_names[i]);
        ki_buffer_append_char(out, ']');
    }
    if (info->category)
        ki_buffer_printf(out, ",\"categories\":[\"%s\"]", info->category);
}

/* Returns true for a subresource that the server serves. */
static bool is_served(const ki_subresource_info *sub) {
    return strcmp(sub->name, "status") == 0 || strcmp(sub->name, "approval") == 0 ||
           kt_subresource_is_served(sub->name);
}

/* ---- unaggregated ---- */

static void append_unaggregated(ki_buffer *out, const ki_resource_info *info) {
    const ki_resource *resource = info->resource;
    const char *namespaced = resource->namespaced ? "true" : "false";
    ki_buffer_printf(out, "{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\",",
                     resource->plural, info->singular, namespaced, resource->kind);
    append_verbs(out, info->verbs);
    append_names(out, info);
    ki_buffer_append_char(out, '}');
    for (const ki_subresource_info *sub = info->subresources; sub->name; sub++) {
        if (!is_served(sub))
            continue;
        ki_buffer_printf(out, ",{\"name\":\"%s/%s\",\"singularName\":\"\",\"namespaced\":%s,\"kind\":\"%s\",",
                         resource->plural, sub->name, namespaced, sub->kind ? sub->kind : resource->kind);
        append_verbs(out, sub->verbs);
        ki_buffer_append_char(out, '}');
    }
}

static ki_status resource_list(kt_call *call, ki_str group, ki_str version) {
    const kt_cluster *cluster = call->cluster;
    ki_buffer *out = &call->response->body;
    const ki_resource_info *info;
    size_t count = 0;
    ki_buffer_printf(out, "{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%.*s%s%.*s\",\"resources\":[",
                     group.size ? "\"apiVersion\":\"v1\"," : "", (int)group.size, group.data, group.size ? "/" : "",
                     (int)version.size, version.data);
    for (unsigned i = 0; (info = info_at(cluster, i)) != NULL; i++) {
        if (!ki_str_equals(group, info->resource->group) || !ki_str_equals(version, info->resource->version))
            continue;
        if (count++)
            ki_buffer_append_char(out, ',');
        append_unaggregated(out, info);
    }
    ki_buffer_append_string(out, "]}");
    if (count)
        return kt_call_done(call, 200);
    return kt_fail_generic(call, 404);
}

/* Appends the members of an APIGroup from the group's first resource, and advances `*index` past the group. */
static void append_group(const kt_cluster *cluster, ki_buffer *out, unsigned *index) {
    const ki_resource *first = info_at(cluster, *index)->resource;
    const ki_resource_info *info;
    const char *version = "";
    ki_buffer_printf(out, "\"name\":\"%s\",\"versions\":[", first->group);
    for (; (info = info_at(cluster, *index)) != NULL && strcmp(info->resource->group, first->group) == 0; ++*index) {
        if (strcmp(version, info->resource->version) == 0)
            continue;
        ki_buffer_printf(out, "%s{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", version[0] ? "," : "", first->group,
                         info->resource->version, info->resource->version);
        version = info->resource->version;
    }
    ki_buffer_printf(out, "],\"preferredVersion\":{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", first->group,
                     first->version, first->version);
}

static ki_status group_list(kt_call *call) {
    const kt_cluster *cluster = call->cluster;
    ki_buffer *out = &call->response->body;
    unsigned index = 0;
    const ki_resource_info *info;
    const char *comma = "";
    ki_buffer_append_string(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    while ((info = info_at(cluster, index)) != NULL) {
        if (!info->resource->group[0]) {
            index++;
            continue;
        }
        ki_buffer_printf(out, "%s{", comma);
        append_group(cluster, out, &index);
        ki_buffer_append_char(out, '}');
        comma = ",";
    }
    ki_buffer_append_string(out, "]}");
    return kt_call_done(call, 200);
}

static ki_status group(kt_call *call, ki_str name) {
    const kt_cluster *cluster = call->cluster;
    ki_buffer *out = &call->response->body;
    const ki_resource_info *info;
    for (unsigned index = 0; (info = info_at(cluster, index)) != NULL; index++) {
        if (!ki_str_equals(name, info->resource->group) || !name.size)
            continue;
        ki_buffer_append_string(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
        append_group(cluster, out, &index);
        ki_buffer_append_char(out, '}');
        return kt_call_done(call, 200);
    }
    ki_buffer_append_string(out, "404 page not found\n");
    call->response->status = 404;
    call->response->content_type = "text/plain; charset=utf-8";
    return out->failed ? KI_ERR_NO_MEMORY : KT_RESPONDED;
}

/* ---- aggregated ---- */

static void append_response_kind(ki_buffer *out, const char *group_name, const char *version, const char *kind) {
    ki_buffer_printf(out, "\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}", group_name, version,
                     kind);
}

static void append_resource(ki_buffer *out, const ki_resource_info *info) {
    const ki_resource *resource = info->resource;
    const char *comma = "";
    ki_buffer_printf(out, "{\"resource\":\"%s\",", resource->plural);
    append_response_kind(out, resource->group, resource->version, resource->kind);
    ki_buffer_printf(out, ",\"scope\":\"%s\",\"singularResource\":\"%s\",",
                     resource->namespaced ? "Namespaced" : "Cluster", info->singular);
    append_verbs(out, info->verbs);
    append_names(out, info);
    for (const ki_subresource_info *sub = info->subresources; sub->name; sub++) {
        if (!is_served(sub))
            continue;
        ki_buffer_printf(out, "%s{\"subresource\":\"%s\",", comma[0] ? comma : ",\"subresources\":[", sub->name);
        append_response_kind(out, sub->group ? sub->group : resource->group,
                             sub->version ? sub->version : resource->version, sub->kind ? sub->kind : resource->kind);
        ki_buffer_append_char(out, ',');
        append_verbs(out, sub->verbs);
        ki_buffer_append_char(out, '}');
        comma = ",";
    }
    ki_buffer_append_string(out, comma[0] ? "]}" : "}");
}

/* Appends one group with its versions and resources, from its first resource. */
static void append_aggregated_group(const kt_cluster *cluster, ki_buffer *out, unsigned *index) {
    const char *name = info_at(cluster, *index)->resource->group;
    const ki_resource_info *info = info_at(cluster, *index);
    if (name[0])
        ki_buffer_printf(out, "{\"metadata\":{\"name\":\"%s\",\"creationTimestamp\":null},\"versions\":[", name);
    else
        ki_buffer_append_string(out, "{\"metadata\":{\"creationTimestamp\":null},\"versions\":[");
    const char *version_comma = "";
    while (info && strcmp(info->resource->group, name) == 0) {
        const char *version = info->resource->version, *comma = "";
        ki_buffer_printf(out, "%s{\"version\":\"%s\",\"resources\":[", version_comma, version);
        while (info && strcmp(info->resource->group, name) == 0 && strcmp(info->resource->version, version) == 0) {
            ki_buffer_append_string(out, comma);
            append_resource(out, info);
            comma = ",";
            info = info_at(cluster, ++*index);
        }
        ki_buffer_append_string(out, "],\"freshness\":\"Current\"}");
        version_comma = ",";
    }
    ki_buffer_append_string(out, "]}");
}

static ki_status aggregated_list(kt_call *call, aggregated form, bool core) {
    const kt_cluster *cluster = call->cluster;
    ki_buffer *out = &call->response->body;
    unsigned index = 0;
    const ki_resource_info *info;
    const char *comma = "", *version = form == AGGREGATED_V2 ? "v2" : "v2beta1";
    ki_buffer_printf(out,
                     "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\",\"metadata\":{},"
                     "\"items\":[",
                     version);
    while ((info = info_at(cluster, index)) != NULL) {
        if (core != !info->resource->group[0]) {
            index++;
            continue;
        }
        ki_buffer_append_string(out, comma);
        append_aggregated_group(cluster, out, &index);
        comma = ",";
    }
    ki_buffer_append_string(out, "]}");
    ki_status status = kt_call_done(call, 200);
    call->response->content_type = form == AGGREGATED_V2
                                       ? "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
                                       : "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    return status;
}

static ki_status core_versions(kt_call *call) {
    ki_buffer_append_string(&call->response->body,
                            "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[{"
                            "\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"\"}]}");
    return kt_call_done(call, 200);
}

static ki_status root_paths(kt_call *call) {
    const kt_cluster *cluster = call->cluster;
    ki_buffer *out = &call->response->body;
    const ki_resource_info *info;
    const char *group_name = "", *version = "";
    ki_buffer_append_string(out, "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\"");
    for (unsigned i = 0; (info = info_at(cluster, i)) != NULL; i++) {
        const ki_resource *resource = info->resource;
        bool same_group = strcmp(group_name, resource->group) == 0;
        if (!resource->group[0] || (same_group && strcmp(version, resource->version) == 0))
            continue;
        if (!same_group)
            ki_buffer_printf(out, ",\"/apis/%s\"", resource->group);
        ki_buffer_printf(out, ",\"/apis/%s/%s\"", resource->group, resource->version);
        group_name = resource->group;
        version = resource->version;
    }
    ki_buffer_append_string(out, ",\"/healthz\",\"/livez\",\"/readyz\",\"/version\"]}");
    return kt_call_done(call, 200);
}

bool kt_discovery_is(const kt_call *call) {
    size_t count = call->segment_count;
    if (count == 0)
        return true;
    if (ki_str_equals(call->segments[0], "api"))
        return count <= 2;
    return ki_str_equals(call->segments[0], "apis") && count <= 3;
}

ki_status kt_discovery(kt_call *call) {
    size_t count = call->segment_count;
    if (count == 0)
        return root_paths(call);
    bool core = ki_str_equals(call->segments[0], "api");
    if (count == 1) {
        aggregated form = wanted_form(call);
        if (form != AGGREGATED_NO)
            return aggregated_list(call, form, core);
        return core ? core_versions(call) : group_list(call);
    }
    if (core)
        return resource_list(call, KI_STR(""), call->segments[1]);
    return count == 2 ? group(call, call->segments[1]) : resource_list(call, call->segments[1], call->segments[2]);
}
