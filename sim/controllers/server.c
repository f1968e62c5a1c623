/* server.c: the API server: a cluster with one custom resource. A list with resourceVersion=0 returns the state of
 * ctl_server_lag ago.
 *
 * The oracle of writes: an update that the server accepts must be based on the version that it replaces, and the
 * Lease's transitions must count its holders. */
#include "sim/controllers/world.h"

#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define DEFINITION \
    "{\"apiVersion\":\"apiextensions.k8s.io/" \
    "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"foos." CTL_GROUP \
    "\"},\"spec\":{\"group\":\"" CTL_GROUP "\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"foos\",\"singular\":" \
    "\"foo\",\"kind\":\"Foo\",\"listKind\":\"FooList\"}," \
    "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":" \
    "{\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}"

int64_t ctl_server_now_ms(const ctl_world *world) {
    enum {
        START_S = 1000000000
    };
    return (int64_t)START_S * 1000 + world->now / SIM_MILLISECOND;
}

const char *ctl_namespace(unsigned parent) {
    return parent % 2 ? "kube-public" : "default";
}

int64_t ctl_server_lag(const ctl_world *world) {
    if (world->now < world->server.lag_until)
        return world->server.lag;
    return world->plan.read_lag;
}

/* --- JSON without spaces, as kt_cluster writes it ----------------------------------------------------------------- */

static const char *find_after(ki_str json, const char *field) {
    size_t size = strlen(field);
    const char *at = json.size ? memmem(json.data, json.size, field, size) : NULL;
    return at ? at + size : NULL;
}

int64_t ctl_json_number(ki_str json, const char *field) {
    const char *at = find_after(json, field);
    return at ? strtoll(at, NULL, 10) : -1;
}

void ctl_json_text(ki_str json, const char *field, char *ret_text, size_t size) {
    const char *at = find_after(json, field);
    size_t length = 0;
    while (at && length + 1 < size && at + length < json.data + json.size && at[length] != '"')
        length++;
    if (at)
        memcpy(ret_text, at, length);
    ret_text[length] = '\0';
}

ki_str ctl_server_lease(const ctl_world *world) {
    static const ki_resource leases = { "coordination.k8s.io", "v1", "leases", "Lease", true };
    ki_str json = { NULL, 0 };
    if (kt_cluster_get(world->server.cluster, &leases, CTL_LEASE_NAMESPACE, CTL_LEASE_NAME, &json))
        json = (ki_str){ NULL, 0 };
    return json;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Records the time of a write, if the last request was one. */
static void note_revision(ctl_world *world) {
    ctl_server *server = &world->server;
    uint64_t revision = kt_cluster_revision(server->cluster);
    if (server->revision_count && server->revisions[(server->revision_count - 1) % CTL_REVISIONS].revision == revision)
        return;
    server->revisions[server->revision_count++ % CTL_REVISIONS] = (ctl_revision_time){ world->now, revision };
    world->writes++;
}

/* Returns the revision of ctl_server_lag ago; 0: the newest, or not in the ring any more. */
static uint64_t lagging_revision(const ctl_world *world) {
    const ctl_server *server = &world->server;
    int64_t until = world->now - ctl_server_lag(world);
    for (uint64_t i = server->revision_count; i-- > 0 && i + CTL_REVISIONS > server->revision_count;) {
        const ctl_revision_time *at = &server->revisions[i % CTL_REVISIONS];
        if (at->at <= until)
            return i + 1 == server->revision_count ? 0 : at->revision;
    }
    return 0;
}

int ctl_server_request(ctl_world *world, const char *method, const char *target, const char *body) {
    kt_request request = { .method = method,
                           .target = target,
                           .accept = "application/json",
                           .content_type =
                               strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json",
                           .user_agent = "people",
                           .body = { body, body ? strlen(body) : 0 } };
    kt_response response;
    if (kt_rest_handle(world->server.cluster, &request, ctl_server_now_ms(world), &response)) {
        ctl_fail(world, "no memory for the server");
        return 0;
    }
    int status = response.status;
    if (world->trace)
        ctl_print_trace(world, "user: %s %s %s: %d", method, target, body ? body : "", status);
    kt_response_free(&response);
    note_revision(world);
    return status;
}

/* Returns the request's target with the lagging revision in place of "resourceVersion=0" (any version), owned by the
 * caller. Returns NULL for other requests, and if the newest revision is to be served. */
static char *lagging_target(const ctl_world *world, const kt_request *request) {
    static const char any[] = "resourceVersion=0", exact[] = "resourceVersion=%" PRIu64 "&resourceVersionMatch=Exact";
    const char *at =
        strcmp(request->method, "GET") == 0 && !strstr(request->target, "watch=") ? strstr(request->target, any) : NULL;
    uint64_t revision = at && (!at[sizeof any - 1] || at[sizeof any - 1] == '&') ? lagging_revision(world) : 0;
    if (!revision)
        return NULL;
    size_t size = strlen(request->target) + 80;
    char *target = sim_alloc(size);
    size_t prefix_size = (size_t)(at - request->target);
    memcpy(target, request->target, prefix_size);
    int written = snprintf(target + prefix_size, size - prefix_size, exact, revision);
    snprintf(target + prefix_size + written, size - prefix_size - (size_t)written, "%s", at + sizeof any - 1);
    return target;
}

/* The state before the server handles a write. */
typedef struct state_before {
    bool is_update, is_lease;
    int64_t version;     /* of the object to be replaced; -1: no object, or no update */
    int64_t transitions; /* of the Lease; -1: no Lease, or a Lease without the field */
    char holder[64];
} state_before;

/* Returns the JSON of the object that a request's target names, borrowed. Size 0: no object. */
static ki_str find_object(ctl_world *world, const char *target) {
    char ns[64], plural[32], name[64];
    ki_str json = { NULL, 0 };
    const char *at = strstr(target, "/namespaces/");
    if (!at || sscanf(at, "/namespaces/%63[^/]/%31[^/]/%63[^/?]", ns, plural, name) != 3)
        return json;
    if (strcmp(plural, "leases") == 0)
        return ctl_server_lease(world);
    const ki_resource *resource = strcmp(plural, "foos") == 0         ? &ctl_foos
                                  : strcmp(plural, "configmaps") == 0 ? KI_CONFIGMAPS
                                                                      : NULL;
    if (!resource || kt_cluster_get(world->server.cluster, resource, ns, name, &json))
        json = (ki_str){ NULL, 0 };
    return json;
}

static state_before read_state_before(ctl_world *world, const kt_request *request) {
    state_before before = { .is_update = strcmp(request->method, "PUT") == 0,
                            .is_lease = strstr(request->target, "/leases") != NULL,
                            .version = -1,
                            .transitions = -1 };
    if (before.is_update)
        before.version = ctl_json_number(find_object(world, request->target), "\"resourceVersion\":\"");
    if (before.is_lease) {
        before.transitions = ctl_json_number(ctl_server_lease(world), "\"leaseTransitions\":");
        ctl_json_text(ctl_server_lease(world), "\"holderIdentity\":\"", before.holder, sizeof before.holder);
    }
    return before;
}

/* Fails the run if an accepted update was based on another version than the one it replaced. */
static void check_update(ctl_world *world, unsigned process, const state_before *before, const kt_request *request) {
    int64_t based_on = ctl_json_number(request->body, "\"resourceVersion\":\"");
    if (based_on != before->version)
        ctl_fail(world, "process %u: an update based on version %" PRId64 " replaced version %" PRId64 ": %s", process,
                 based_on, before->version, request->target);
}

/* Fails the run if leaseTransitions is not one more for a new holder, and equal for the same or no holder. */
static void check_lease(ctl_world *world, unsigned process, const state_before *before) {
    char holder[64];
    int64_t transitions = ctl_json_number(ctl_server_lease(world), "\"leaseTransitions\":");
    ctl_json_text(ctl_server_lease(world), "\"holderIdentity\":\"", holder, sizeof holder);
    if (transitions < 0 || (before->transitions < 0 && !before->is_update))
        return; /* no count, or the Lease was created */
    bool has_new_holder = holder[0] && strcmp(holder, before->holder) != 0;
    int64_t expected = (before->transitions < 0 ? 0 : before->transitions) + has_new_holder;
    /* After a Lease was deleted, a candidate can continue the count of the deleted Lease. */
    bool can_skip = has_new_holder && world->leadership.two_leaders_until > 0;
    if (can_skip ? transitions < expected : transitions != expected)
        ctl_fail(world, "process %u: wrong leaseTransitions: \"%s\" with %" PRId64 ", then \"%s\" with %" PRId64,
                 process, before->holder, before->transitions, holder, transitions);
}

bool ctl_server_handle(ctl_world *world, unsigned process, const kt_request *request, kt_response *ret_response) {
    kt_request served = *request;
    bool is_write = strcmp(request->method, "GET") != 0;
    char *target = lagging_target(world, request);
    state_before before = { .is_update = false };
    if (is_write)
        before = read_state_before(world, request);
    if (target)
        served.target = target;
    ki_status status = kt_rest_handle(world->server.cluster, &served, ctl_server_now_ms(world), ret_response);
    if (!status && target && ret_response->status == 410) { /* the lagging revision is compacted */
        kt_response_free(ret_response);
        status = kt_rest_handle(world->server.cluster, request, ctl_server_now_ms(world), ret_response);
    }
    free(target);
    if (status) {
        ctl_fail(world, "no memory for the server");
        return false;
    }
    bool accepted = ret_response->status / 100 == 2;
    if (is_write && accepted && before.is_update)
        check_update(world, process, &before, request);
    if (is_write && accepted && before.is_lease)
        check_lease(world, process, &before);
    note_revision(world);
    return true;
}

/* --- the state ---------------------------------------------------------------------------------------------------- */

static void copy_string(yyjson_val *value, char *ret_text, size_t size) {
    snprintf(ret_text, size, "%s", yyjson_is_str(value) ? yyjson_get_str(value) : "");
}

static uint64_t parse_value(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    return text && text[0] == 'v' ? strtoull(text + 1, NULL, 10) : 0;
}

static void read_parent(ctl_parent_state *parent, yyjson_val *root) {
    yyjson_val *metadata = yyjson_obj_get(root, "metadata"), *spec = yyjson_obj_get(root, "spec"),
               *status = yyjson_obj_get(root, "status");
    parent->exists = true;
    copy_string(yyjson_obj_get(metadata, "uid"), parent->uid, sizeof parent->uid);
    parent->is_deleting = yyjson_obj_get(metadata, "deletionTimestamp") != NULL;
    parent->replicas = yyjson_get_sint(yyjson_obj_get(spec, "replicas"));
    parent->value = parse_value(yyjson_obj_get(spec, "value"));
    parent->observed = parse_value(yyjson_obj_get(status, "observed"));
    parent->is_ready = yyjson_get_bool(yyjson_obj_get(status, "ready"));
}

static void read_child(ctl_child_state *child, yyjson_val *root) {
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    yyjson_val *owner = yyjson_arr_get_first(yyjson_obj_get(metadata, "ownerReferences"));
    child->exists = true;
    copy_string(yyjson_obj_get(metadata, "uid"), child->uid, sizeof child->uid);
    copy_string(yyjson_obj_get(owner, "uid"), child->owner_uid, sizeof child->owner_uid);
    child->value = parse_value(yyjson_obj_get(yyjson_obj_get(root, "data"), "value"));
}

static void read_all(ctl_world *world, const ki_resource *resource, bool are_children) {
    ctl_state *state = &world->server.state;
    size_t cursor = 0;
    ki_str key, json;
    while (kt_cluster_next(world->server.cluster, resource, &cursor, &key, &json)) {
        char text[128];
        if (key.size >= sizeof text)
            continue;
        memcpy(text, key.data, key.size);
        text[key.size] = '\0';
        int number = ctl_key_parse(text);
        if (number < 0)
            continue;
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        const char *dash = strchr(strchr(text, '/'), '-');
        if (!are_children)
            read_parent(&state->parents[number], yyjson_doc_get_root(doc));
        else if (dash && dash[1] >= '0' && dash[1] < '0' + CTL_MAX_CHILDREN)
            read_child(&state->parents[number].children[dash[1] - '0'], yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    }
}

const ctl_state *ctl_server_state(ctl_world *world) {
    ctl_state *state = &world->server.state;
    uint64_t revision = kt_cluster_revision(world->server.cluster);
    if (state->revision == revision)
        return state;
    memset(state, 0, sizeof *state);
    state->revision = revision;
    read_all(world, &ctl_foos, false);
    read_all(world, KI_CONFIGMAPS, true);
    return state;
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

void ctl_server_make(ctl_world *world) {
    const ctl_plan *plan = &world->plan;
    kt_cluster_options options = { .seed = plan->seed,
                                   .compact_after = plan->compact_after,
                                   .bookmark_every_ms = plan->bookmark_every_ms,
                                   .no_streaming_list = plan->is_old_server,
                                   .start_ms = ctl_server_now_ms(world) };
    ki_error err = KI_ERROR_INIT;
    if (kt_cluster_new(NULL, &options, &world->server.cluster, &err))
        ctl_fail(world, "cannot create the cluster: %s", ki_error_message(&err));
    else if (ctl_server_request(world, "POST", DEFINITIONS, DEFINITION) != 201)
        ctl_fail(world, "the server rejected the CustomResourceDefinition");
}

void ctl_server_free(ctl_world *world) {
    kt_cluster_free(world->server.cluster);
}
