/* name_lookup.c: GET /apis/GROUP names the versions; GET /apis/GROUP/VERSION, one after the other, the resources. */
#include "src/client/name_lookup.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/client/resource_map.h"

#include <stdio.h>

/* --- documents ---------------------------------------------------------------------------------------------------- */

static void add_version(ki_name_lookup *lookup, ki_str version) {
    if (!ki_discovery_is_name(version) || version.size >= KI_NAME_VERSION_SIZE || lookup->count == KI_NAME_VERSIONS_MAX)
        return;
    for (size_t i = 0; i < lookup->count; i++)
        if (ki_str_equals(version, lookup->versions[i]))
            return;
    snprintf(lookup->versions[lookup->count++], KI_NAME_VERSION_SIZE, "%.*s", (int)version.size, version.data);
}

static void read_versions(ki_name_lookup *lookup, yyjson_val *group) {
    size_t index, count;
    yyjson_val *version;
    lookup->count = lookup->next = 0;
    add_version(lookup, ki_json_string(yyjson_obj_get(group, "preferredVersion"), "version"));
    yyjson_arr_foreach(yyjson_obj_get(group, "versions"), index, count, version)
        add_version(lookup, ki_json_string(version, "version"));
}

static bool has_verb(yyjson_val *resource, const char *verb) {
    size_t index, count;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(resource, "verbs"), index, count, item) {
        if (yyjson_equals_str(item, verb))
            return true;
    }
    return false;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static void fail(const ki_name_lookup *lookup, const ki_error *err) {
    ki_error cause = *err;
    ki_error_prefix(&cause, "find %s.%s", lookup->plural, lookup->group);
    lookup->on_found(NULL, &cause, lookup->user);
}

static void fail_with(const ki_name_lookup *lookup, ki_status status, const char *message) {
    ki_error err = KI_ERROR_INIT;
    (void)!ki_error_set(&err, status, "%s", message);
    fail(lookup, &err);
}

/* No version of the group has the resource: discovery says so, as a Status would. */
static void fail_missing(const ki_name_lookup *lookup) {
    ki_error err = KI_ERROR_INIT;
    (void)!ki_error_set(&err, KI_ERR_HTTP, "its API group has no such resource");
    err.http_status = KI_DOCUMENT_NOT_FOUND;
    snprintf(err.reason, sizeof err.reason, "NotFound");
    fail(lookup, &err);
}

static void found(const ki_name_lookup *lookup, yyjson_val *resource) {
    KI_ASSERT(lookup->next > 0 && lookup->next <= lookup->count);
    const char *kind = yyjson_get_str(yyjson_obj_get(resource, "kind"));
    const ki_resource result = { .group = lookup->group,
                                 .version = lookup->versions[lookup->next - 1],
                                 .plural = lookup->plural,
                                 .kind = kind,
                                 .namespaced = yyjson_is_true(yyjson_obj_get(resource, "namespaced")) };
    if (!kind || !kind[0])
        fail_with(lookup, KI_ERR_PROTOCOL, "the server names no kind");
    else if (!has_verb(resource, "list"))
        fail_with(lookup, KI_ERR_UNSUPPORTED, "it cannot be listed");
    else
        lookup->on_found(&result, NULL, lookup->user);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void ask_for_next(ki_name_lookup *lookup);

static void on_resources(yyjson_val *root, const ki_error *err, void *user) {
    ki_name_lookup *lookup = user;
    bool is_missing = err && err->http_status == KI_DOCUMENT_NOT_FOUND; /* the version was removed meanwhile */
    if (err && !is_missing) {
        fail(lookup, err);
        return;
    }
    if (!is_missing && !ki_str_equals(ki_json_string(root, "kind"), "APIResourceList")) {
        fail_with(lookup, KI_ERR_PROTOCOL, "the response lists no resources");
        return;
    }
    yyjson_val *resource = root ? ki_document_find(yyjson_obj_get(root, "resources"), "name", lookup->plural) : NULL;
    if (resource)
        found(lookup, resource);
    else
        ask_for_next(lookup);
}

static void ask_for_next(ki_name_lookup *lookup) {
    ki_error err = KI_ERROR_INIT;
    KI_ASSERT(lookup->next <= lookup->count && lookup->count <= KI_NAME_VERSIONS_MAX);
    if (lookup->next == lookup->count)
        fail_missing(lookup);
    else if (ki_document_request_send(&lookup->request, on_resources, lookup, &err, "/apis/%s/%s", lookup->group,
                                      lookup->versions[lookup->next++]))
        fail(lookup, &err);
}

static void on_group(yyjson_val *root, const ki_error *err, void *user) {
    ki_name_lookup *lookup = user;
    if (err) {
        fail(lookup, err); /* 404: there is no such group */
    } else if (!ki_str_equals(ki_json_string(root, "kind"), "APIGroup")) {
        fail_with(lookup, KI_ERR_PROTOCOL, "the response is no API group");
    } else {
        read_versions(lookup, root);
        ask_for_next(lookup);
    }
}

void ki_name_lookup_init(ki_name_lookup *lookup, ki_engine *engine, ki_transport *transport, const char *group,
                         const char *plural) {
    *lookup = (ki_name_lookup){ .group = group, .plural = plural };
    ki_document_request_init(&lookup->request, engine, transport);
}

ki_status ki_name_lookup_begin(ki_name_lookup *lookup, ki_on_name_found on_found, void *user, ki_error *err) {
    lookup->on_found = on_found;
    lookup->user = user;
    return ki_document_request_send(&lookup->request, on_group, lookup, err, "/apis/%s", lookup->group);
}
