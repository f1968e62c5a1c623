/* type_lookup.c: GET /apis/GROUP/VERSION lists the resources; after a 404, GET /apis lists the groups and versions. */
#include "src/client/type_lookup.h"

#include "src/base/error.h"
#include "src/object/json.h"
#include "src/wire/status.h"

enum {
    BODY_MAX = 4 * 1024 * 1024, /* bytes of a response */
    HTTP_OK = 200,
    HTTP_NOT_FOUND = 404
};

#define TIMEOUT KI_SECONDS(30)

/* --- responses ---------------------------------------------------------------------------------------------------- */

/* Returns true if an object of `array` has `name` as its member `member`. `array` may be of any type. */
static bool has_named(yyjson_val *array, const char *member, const char *name) {
    size_t index, count;
    yyjson_val *item;
    yyjson_arr_foreach(array, index, count, item) {
        if (ki_str_equals(ki_json_string(item, member), name))
            return true;
    }
    return false;
}

static ki_type_found find_resource(yyjson_val *root, const ki_resource *resource) {
    yyjson_val *resources = yyjson_obj_get(root, "resources");
    if (!ki_str_equals(ki_json_string(root, "kind"), "APIResourceList") || !yyjson_is_arr(resources))
        return KI_TYPE_UNCERTAIN;
    return has_named(resources, "name", resource->plural) ? KI_TYPE_THERE : KI_TYPE_MISSING;
}

/* Returns KI_TYPE_UNCERTAIN if the group has the version: the first response was wrong or outdated. */
static ki_type_found find_group(yyjson_val *root, const ki_resource *resource) {
    yyjson_val *groups = yyjson_obj_get(root, "groups");
    if (!ki_str_equals(ki_json_string(root, "kind"), "APIGroupList") || !yyjson_is_arr(groups))
        return KI_TYPE_UNCERTAIN;
    size_t index, count;
    yyjson_val *group;
    yyjson_arr_foreach(groups, index, count, group) {
        if (ki_str_equals(ki_json_string(group, "name"), resource->group) &&
            has_named(yyjson_obj_get(group, "versions"), "version", resource->version))
            return KI_TYPE_UNCERTAIN;
    }
    return KI_TYPE_MISSING;
}

static ki_type_found read_response(const ki_type_lookup *lookup) {
    yyjson_doc *doc;
    if (lookup->status != HTTP_OK || lookup->body.failed ||
        ki_json_parse(lookup->allocator, (ki_str){ lookup->body.data, lookup->body.size }, &doc, NULL))
        return KI_TYPE_UNCERTAIN;
    yyjson_val *root = yyjson_doc_get_root(doc);
    ki_type_found found =
        lookup->is_group_request ? find_group(root, lookup->resource) : find_resource(root, lookup->resource);
    yyjson_doc_free(doc);
    return found;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static ki_status send(ki_type_lookup *lookup, bool for_groups, ki_error *err);

static void on_head(const ki_response_head *head, void *user) {
    ki_type_lookup *lookup = user;
    lookup->status = head->status;
    lookup->retry_after_ms = head->retry_after_ms;
}

static void on_data(const char *data, size_t size, void *user) {
    ki_type_lookup *lookup = user;
    (void)ki_buffer_append(&lookup->body, data, size); /* read_response checks body.failed */
}

static void on_end(const ki_error *err, void *user) {
    ki_type_lookup *lookup = user;
    lookup->exchange = NULL;
    bool has_no_group = !err && lookup->status == HTTP_NOT_FOUND && !lookup->is_group_request;
    if (has_no_group && lookup->resource->group[0] && send(lookup, true, NULL) == KI_OK)
        return;
    ki_error failure = KI_ERROR_INIT;
    if (!err && lookup->status != HTTP_OK && lookup->status != HTTP_NOT_FOUND) {
        ki_transport_hide(lookup->transport, lookup->body.data, lookup->body.size);
        ki_status_to_error(lookup->allocator, lookup->status, (ki_str){ lookup->body.data, lookup->body.size },
                           lookup->retry_after_ms, &failure);
        err = &failure;
    }
    ki_type_found found = err ? KI_TYPE_UNCERTAIN : read_response(lookup);
    ki_buffer_free(&lookup->body);
    lookup->on_found(found, err, lookup->user);
}

static ki_status send(ki_type_lookup *lookup, bool for_groups, ki_error *err) {
    const ki_resource *resource = lookup->resource;
    ki_buffer target;
    ki_buffer_init(&target, lookup->allocator, 0);
    ki_buffer_append_string(&target, resource->group[0] ? "/apis" : "/api");
    if (!for_groups && resource->group[0]) {
        ki_buffer_append_char(&target, '/');
        ki_buffer_append_url(&target, ki_str_of(resource->group));
    }
    if (!for_groups) {
        ki_buffer_append_char(&target, '/');
        ki_buffer_append_url(&target, ki_str_of(resource->version));
    }
    lookup->is_group_request = for_groups;
    lookup->status = 0;
    ki_buffer_free(&lookup->body);
    ki_buffer_init(&lookup->body, lookup->allocator, BODY_MAX);
    const ki_request request = { .method = "GET", .target = target.data, .total_timeout_ns = TIMEOUT };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = lookup };
    ki_status status = target.failed ? ki_error_no_memory(err, "making a request")
                                     : ki_transport_send(lookup->transport, &request, &sink, &lookup->exchange, err);
    ki_buffer_free(&target);
    return status;
}

void ki_type_lookup_init(ki_type_lookup *lookup, const ki_allocator *allocator, ki_transport *transport,
                         const ki_resource *resource) {
    *lookup = (ki_type_lookup){ .allocator = allocator, .transport = transport, .resource = resource };
    ki_buffer_init(&lookup->body, allocator, BODY_MAX);
}

ki_status ki_type_lookup_begin(ki_type_lookup *lookup, ki_on_type_found on_found, void *user, ki_error *err) {
    lookup->on_found = on_found;
    lookup->user = user;
    return send(lookup, false, err);
}

void ki_type_lookup_cancel(ki_type_lookup *lookup) {
    ki_exchange *exchange = lookup->exchange;
    lookup->exchange = NULL;
    if (exchange)
        ki_transport_cancel(lookup->transport, exchange);
    ki_buffer_free(&lookup->body);
}
