/* resource_map_read.c: reads discovery documents: aggregated (one for all groups) and unaggregated (one for each group
 * and version). The documents are not trusted: missing, too long or mistyped members are skipped; exceeded limits are
 * errors. */
#include "src/client/resource_map.h"

#include "src/base/array.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"

static ki_str text_of(yyjson_val *value) {
    return yyjson_is_str(value) ? (ki_str){ yyjson_get_str(value), yyjson_get_len(value) } : (ki_str){ NULL, 0 };
}

static void add_name(ki_found_names *names, ki_str name) {
    if (names->count < KI_DISCOVERY_NAMES_MAX && ki_discovery_is_name(name))
        names->items[names->count++] = name;
}

static void read_names(yyjson_val *list, ki_found_names *names) {
    size_t index, count;
    yyjson_val *item;
    names->count = 0;
    yyjson_arr_foreach(list, index, count, item) add_name(names, text_of(item));
}

static void read_common(yyjson_val *resource, ki_found *found) {
    read_names(yyjson_obj_get(resource, "shortNames"), &found->short_names);
    read_names(yyjson_obj_get(resource, "categories"), &found->categories);
    read_names(yyjson_obj_get(resource, "verbs"), &found->verbs);
}

bool ki_discovery_is_aggregated(const ki_allocator *allocator, ki_str body) {
    yyjson_doc *doc = NULL;
    if (!body.size || ki_json_parse(allocator, body, &doc, NULL))
        return false;
    bool is = ki_str_equals(ki_json_string(yyjson_doc_get_root(doc), "kind"), "APIGroupDiscoveryList");
    yyjson_doc_free(doc);
    return is;
}

static ki_status parse(const ki_allocator *allocator, ki_str body, const char *kind, yyjson_doc **ret_doc,
                       ki_error *err) {
    yyjson_doc *doc = NULL;
    ki_status status = ki_json_parse(allocator, body, &doc, err);
    if (status)
        return status;
    ki_str found = ki_json_string(yyjson_doc_get_root(doc), "kind");
    /* Old servers omit the kind in some documents. */
    if (found.data && !ki_str_equals(found, kind)) {
        status = ki_error_set(err, KI_ERR_PARSE, "expected %s, got %.*s", kind, found.size > 64 ? 64 : (int)found.size,
                              found.data);
        yyjson_doc_free(doc);
        return status;
    }
    *ret_doc = doc;
    return KI_OK;
}

/* --- aggregated documents ----------------------------------------------------------------------------------------- */

static ki_status add_aggregated_resource(ki_resource_map *map, yyjson_val *resource, ki_found *found, ki_error *err) {
    size_t index, count;
    yyjson_val *sub;
    found->plural = ki_json_string(resource, "resource");
    found->singular = ki_json_string(resource, "singularResource");
    found->kind = ki_json_string(yyjson_obj_get(resource, "responseKind"), "kind");
    found->namespaced = ki_str_equals(ki_json_string(resource, "scope"), "Namespaced");
    read_common(resource, found);
    found->subresources.count = 0;
    yyjson_arr_foreach(yyjson_obj_get(resource, "subresources"), index, count, sub)
        add_name(&found->subresources, ki_json_string(sub, "subresource"));
    return ki_resource_map_add(map, found, err);
}

/* Returns true if the version's API server did not respond to the aggregator: its resources are outdated or missing. */
static bool is_stale(yyjson_val *version) {
    return ki_str_equals(ki_json_string(version, "freshness"), "Stale");
}

static ki_status add_aggregated_version(ki_resource_map *map, ki_str group, yyjson_val *version, bool preferred,
                                        ki_found *found, ki_error *err) {
    size_t index, count;
    yyjson_val *resource;
    found->group = group;
    found->version = ki_json_string(version, "version");
    found->preferred = preferred;
    if (is_stale(version) && ki_discovery_is_name(found->version) && (!group.size || ki_discovery_is_name(group))) {
        /* yyjson's strings end with a zero byte. */
        return ki_resource_map_add_failed(map, group.data ? group.data : "", found->version.data)
                   ? ki_error_no_memory(err, "reading discovery")
                   : KI_OK;
    }
    yyjson_arr_foreach(yyjson_obj_get(version, "resources"), index, count, resource) {
        ki_status status = add_aggregated_resource(map, resource, found, err);
        if (status)
            return status;
    }
    return KI_OK;
}

static ki_status add_groups(ki_resource_map *map, yyjson_val *root, ki_found *found, ki_error *err) {
    size_t group_index, group_count, index, count, versions = 0;
    yyjson_val *group, *version;
    yyjson_arr_foreach(yyjson_obj_get(root, "items"), group_index, group_count, group) {
        ki_str name = ki_json_string(yyjson_obj_get(group, "metadata"), "name");
        bool preferred = true; /* true for the first version that is not stale */
        yyjson_arr_foreach(yyjson_obj_get(group, "versions"), index, count, version) {
            if (++versions > KI_DISCOVERY_GROUP_VERSIONS_MAX)
                return ki_error_set(err, KI_ERR_LIMIT, "the server has more than %d groups and versions",
                                    KI_DISCOVERY_GROUP_VERSIONS_MAX);
            ki_status status = add_aggregated_version(map, name, version, preferred, found, err);
            if (status)
                return status;
            preferred = preferred && is_stale(version);
        }
    }
    return KI_OK;
}

ki_status ki_resource_map_add_aggregated(ki_resource_map *map, ki_str body, ki_error *err) {
    yyjson_doc *doc = NULL;
    ki_status status = parse(&map->allocator, body, "APIGroupDiscoveryList", &doc, err);
    if (status)
        return status;
    ki_found *found = ki_alloc_zero(&map->allocator, sizeof *found);
    status =
        found ? add_groups(map, yyjson_doc_get_root(doc), found, err) : ki_error_no_memory(err, "reading discovery");
    ki_free(&map->allocator, found);
    yyjson_doc_free(doc);
    return status;
}

/* --- unaggregated documents --------------------------------------------------------------------------------------- */

/* Adds the resources of an APIResourceList. A subresource is an entry of its own ("pods/status") right behind its
 * resource. */
static ki_status add_unaggregated_resources(ki_resource_map *map, yyjson_val *list, ki_found *found, ki_error *err) {
    size_t index, count;
    yyjson_val *resource;
    bool pending = false; /* `found` holds a resource that is not added yet; its subresources may follow */
    yyjson_arr_foreach(list, index, count, resource) {
        ki_str sub, name = ki_json_string(resource, "name");
        ki_str plural = ki_str_split(name, '/', &sub);
        if (sub.data) {
            if (pending && ki_str_equal(plural, found->plural))
                add_name(&found->subresources, sub);
            continue;
        }
        ki_status status = pending ? ki_resource_map_add(map, found, err) : KI_OK;
        if (status)
            return status;
        pending = true;
        found->plural = name;
        found->singular = ki_json_string(resource, "singularName");
        found->kind = ki_json_string(resource, "kind");
        found->namespaced = yyjson_is_true(yyjson_obj_get(resource, "namespaced"));
        read_common(resource, found);
        found->subresources.count = 0;
    }
    return pending ? ki_resource_map_add(map, found, err) : KI_OK;
}

ki_status ki_resource_map_add_list(ki_resource_map *map, const char *group, const char *version, bool preferred,
                                   ki_str body, ki_error *err) {
    yyjson_doc *doc = NULL;
    ki_status status = parse(&map->allocator, body, "APIResourceList", &doc, err);
    if (status)
        return status;
    ki_found *found = ki_alloc_zero(&map->allocator, sizeof *found);
    if (found) {
        found->group = ki_str_of(group);
        found->version = ki_str_of(version);
        found->preferred = preferred;
        status = add_unaggregated_resources(map, yyjson_obj_get(yyjson_doc_get_root(doc), "resources"), found, err);
    } else {
        status = ki_error_no_memory(err, "reading discovery");
    }
    ki_free(&map->allocator, found);
    yyjson_doc_free(doc);
    return status;
}

static ki_status add_version(const ki_allocator *allocator, ki_group_versions *versions, ki_str group, ki_str version,
                             bool preferred, ki_error *err) {
    if (!ki_discovery_is_name(version) || (group.size && !ki_discovery_is_name(group)))
        return KI_OK;
    if (versions->count >= KI_DISCOVERY_GROUP_VERSIONS_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "the server has more than %d groups and versions",
                            KI_DISCOVERY_GROUP_VERSIONS_MAX);
    if (KI_ARRAY_RESERVE(allocator, versions->items, versions->count, versions->capacity))
        return ki_error_no_memory(err, "reading discovery");
    ki_group_version *item = &versions->items[versions->count++];
    *item = (ki_group_version){ .preferred = preferred };
    memcpy(item->version, version.data, version.size);
    if (group.size)
        memcpy(item->group, group.data, group.size);
    return KI_OK;
}

static ki_status add_group(const ki_allocator *allocator, ki_group_versions *versions, yyjson_val *group,
                           ki_error *err) {
    ki_str name = ki_json_string(group, "name");
    ki_str preferred = ki_json_string(yyjson_obj_get(group, "preferredVersion"), "version");
    yyjson_val *list = yyjson_obj_get(group, "versions"), *version;
    size_t index, count;
    ki_status status = KI_OK;
    for (int pass = 0; pass < 2 && !status; pass++) {
        yyjson_arr_foreach(list, index, count, version) {
            ki_str version_name = ki_json_string(version, "version");
            bool is_preferred = preferred.data ? ki_str_equal(version_name, preferred) : index == 0;
            if (is_preferred == (pass == 0))
                status = add_version(allocator, versions, name, version_name, is_preferred, err);
            if (status)
                return status;
        }
    }
    return status;
}

ki_status ki_group_versions_add(const ki_allocator *allocator, ki_group_versions *versions, ki_str body,
                                ki_error *err) {
    yyjson_doc *doc = NULL;
    ki_status status = ki_json_parse(allocator, body, &doc, err);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(doc), *item;
    ki_str kind = ki_json_string(root, "kind");
    size_t index, count;
    if (ki_str_equals(kind, "APIVersions")) {
        yyjson_arr_foreach(yyjson_obj_get(root, "versions"), index, count, item) {
            if (!status)
                status = add_version(allocator, versions, KI_STR(""), text_of(item), index == 0, err);
        }
    } else if (ki_str_equals(kind, "APIGroupList")) {
        yyjson_arr_foreach(yyjson_obj_get(root, "groups"), index, count, item) {
            if (!status)
                status = add_group(allocator, versions, item, err);
        }
    } else {
        status = ki_error_set(err, KI_ERR_PARSE, "expected APIVersions or APIGroupList");
    }
    yyjson_doc_free(doc);
    return status;
}
