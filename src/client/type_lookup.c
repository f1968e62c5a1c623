/* type_lookup.c: GET /apis/GROUP/VERSION lists the resources; after a 404, GET /apis lists the groups and versions. */
#include "src/client/type_lookup.h"

/* --- responses ---------------------------------------------------------------------------------------------------- */

static ki_type_found find_resource(yyjson_val *root, const ki_resource *resource) {
    yyjson_val *resources = yyjson_obj_get(root, "resources");
    if (!ki_str_equals(ki_json_string(root, "kind"), "APIResourceList") || !yyjson_is_arr(resources))
        return KI_TYPE_UNCERTAIN;
    return ki_document_find(resources, "name", resource->plural) ? KI_TYPE_THERE : KI_TYPE_MISSING;
}

/* Returns KI_TYPE_UNCERTAIN if the group has the version: the first response was wrong or outdated. */
static ki_type_found find_group(yyjson_val *root, const ki_resource *resource) {
    yyjson_val *groups = yyjson_obj_get(root, "groups");
    if (!ki_str_equals(ki_json_string(root, "kind"), "APIGroupList") || !yyjson_is_arr(groups))
        return KI_TYPE_UNCERTAIN;
    yyjson_val *group = ki_document_find(groups, "name", resource->group);
    bool is_there = ki_document_find(yyjson_obj_get(group, "versions"), "version", resource->version);
    return is_there ? KI_TYPE_UNCERTAIN : KI_TYPE_MISSING;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static ki_status send(ki_type_lookup *lookup, bool for_groups, ki_error *err);

static void on_document(yyjson_val *root, const ki_error *err, void *user) {
    ki_type_lookup *lookup = user;
    const ki_resource *resource = lookup->resource;
    bool is_missing = err && err->http_status == KI_DOCUMENT_NOT_FOUND;
    if (is_missing && !lookup->is_group_request && resource->group[0] && send(lookup, true, NULL) == KI_OK)
        return;
    ki_type_found found = KI_TYPE_UNCERTAIN;
    if (root)
        found = lookup->is_group_request ? find_group(root, resource) : find_resource(root, resource);
    lookup->on_found(found, is_missing ? NULL : err, lookup->user);
}

static ki_status send(ki_type_lookup *lookup, bool for_groups, ki_error *err) {
    const ki_resource *resource = lookup->resource;
    lookup->is_group_request = for_groups;
    if (for_groups)
        return ki_document_request_send(&lookup->request, on_document, lookup, err, "/apis");
    return ki_document_request_send(&lookup->request, on_document, lookup, err, "%s%s/%s",
                                    resource->group[0] ? "/apis/" : "/api", resource->group, resource->version);
}

void ki_type_lookup_init(ki_type_lookup *lookup, ki_engine *engine, ki_transport *transport,
                         const ki_resource *resource) {
    *lookup = (ki_type_lookup){ .resource = resource };
    ki_document_request_init(&lookup->request, engine, transport);
}

ki_status ki_type_lookup_begin(ki_type_lookup *lookup, ki_on_type_found on_found, void *user, ki_error *err) {
    lookup->on_found = on_found;
    lookup->user = user;
    return send(lookup, false, err);
}
