/* server.c: the API server: a cluster with one custom resource. A list that may be old is served from the state that the cluster had `lag` ago.
 *
 * The oracle of writes: an update that the server accepts was made from the state that it replaces, and the Lease's transitions count its holders. */
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
    return world->plan.lag;
}

/* --- JSON as this cluster writes it ------------------------------------------------------------------------------------------ */

static const char *after(ki_str json, const char *field) {
    size_t size = strlen(field);
    const char *at = json.size ? memmem(json.data, json.size, field, size) : NULL;
    return at ? at + size : NULL;
}

int64_t ctl_number_in(ki_str json, const char *field) {
    const char *at = after(json, field);
    return at ? strtoll(at, NULL, 10) : -1;
}

void ctl_text_in(ki_str json, const char *field, char *ret_text, size_t size) {
    const char *at = after(json, field);
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

/* --- requests ---------------------------------------------------------------------------------------------------------------- */

static void note_revision(ctl_world *world) {
    ctl_server *server = &world->server;
    uint64_t revision = kt_cluster_revision(server->cluster);
    if (server->revision_count && server->revisions[(server->revision_count - 1) % CTL_REVISIONS].revision == revision)
        return;
    server->revisions[server->revision_count++ % CTL_REVISIONS] = (ctl_revision_at){ world->now, revision };
    world->writes++;
}

/* The revision that a reader sees who is `lag` behind; 0: the newest, or not known any more. */
static uint64_t lagging_revision(const ctl_world *world) {
    const ctl_server *server = &world->server;
    int64_t until = world->now - ctl_server_lag(world);
    for (uint64_t i = server->revision_count; i-- > 0 && i + CTL_REVISIONS > server->revision_count;) {
        const ctl_revision_at *at = &server->revisions[i % CTL_REVISIONS];
        if (at->at <= until)
            return i + 1 == server->revision_count ? 0 : at->revision;
    }
    return 0;
}

int ctl_server_ask(ctl_world *world, const char *method, const char *target, const char *body) {
    kt_request request = { .method = method,
                           .target = target,
                           .accept = "application/json",
                           .content_type =
                               strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json",
                           .user_agent = "people",
                           .body = { body, body ? strlen(body) : 0 } };
    kt_response response;
    if (kt_rest_handle(world->server.cluster, &request, ctl_server_now_ms(world), &response)) {
        ctl_fail(world, "the server has no memory");
        return 0;
    }
    int status = response.status;
    if (world->trace)
        ctl_say(world, "somebody: %s %s %s: %d", method, target, body ? body : "", status);
    kt_response_free(&response);
    note_revision(world);
    return status;
}

/* Lists that ask for any version: "resourceVersion=0" becomes the lagging one. Returns NULL where the target stays. */
static char *lag_behind(const ctl_world *world, const kt_request *request) {
    static const char any[] = "resourceVersion=0", exact[] = "resourceVersion=%" PRIu64 "&resourceVersionMatch=Exact";
    const char *at =
        strcmp(request->method, "GET") == 0 && !strstr(request->target, "watch=") ? strstr(request->target, any) : NULL;
    uint64_t revision = at && (!at[sizeof any - 1] || at[sizeof any - 1] == '&') ? lagging_revision(world) : 0;
    if (!revision)
        return NULL;
    size_t size = strlen(request->target) + 80;
    char *target = sim_alloc(size);
    size_t before = (size_t)(at - request->target);
    memcpy(target, request->target, before);
    int written = snprintf(target + before, size - before, exact, revision);
    snprintf(target + before + written, size - before - (size_t)written, "%s", at + sizeof any - 1);
    return target;
}

/* What is known of a write before the server takes it. */
typedef struct before {
    bool is_update, is_lease;
    int64_t version;     /* of the object that is replaced; -1: there is none */
    int64_t transitions; /* of the Lease; -1 where there is none */
    char holder[64];
} before;

static ki_str object_at(ctl_world *world, const char *target) {
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

static before look_before(ctl_world *world, const kt_request *request) {
    before known = { .is_update = strcmp(request->method, "PUT") == 0,
                     .is_lease = strstr(request->target, "/leases") != NULL,
                     .version = -1,
                     .transitions = -1 };
    if (known.is_update)
        known.version = ctl_number_in(object_at(world, request->target), "\"resourceVersion\":\"");
    if (known.is_lease) {
        known.transitions = ctl_number_in(ctl_server_lease(world), "\"leaseTransitions\":");
        ctl_text_in(ctl_server_lease(world), "\"holderIdentity\":\"", known.holder, sizeof known.holder);
    }
    return known;
}

/* The oracle of stale writes. */
static void check_update(ctl_world *world, unsigned process, const before *known, const kt_request *request) {
    int64_t based_on = ctl_number_in(request->body, "\"resourceVersion\":\"");
    if (based_on != known->version)
        ctl_fail(world, "process %u: an update from version %" PRId64 " replaces version %" PRId64 ": %s", process,
                 based_on, known->version, request->target);
}

/* The oracle of the Lease's own count: each new holder adds one. */
static void check_lease(ctl_world *world, unsigned process, const before *known) {
    char holder[64];
    int64_t transitions = ctl_number_in(ctl_server_lease(world), "\"leaseTransitions\":");
    ctl_text_in(ctl_server_lease(world), "\"holderIdentity\":\"", holder, sizeof holder);
    if (transitions < 0 || (known->transitions < 0 && !known->is_update))
        return; /* made anew */
    int64_t grown = holder[0] && strcmp(holder, known->holder) != 0;
    int64_t expected = (known->transitions < 0 ? 0 : known->transitions) + grown;
    /* A candidate that saw the Lease before it was deleted goes on counting from there. */
    bool may_jump = grown && world->leadership.doubt_until > 0;
    if (may_jump ? transitions < expected : transitions != expected)
        ctl_fail(world, "process %u: the Lease goes from %s with %" PRId64 " transitions to %s with %" PRId64, process,
                 known->holder, known->transitions, holder, transitions);
}

bool ctl_server_handle(ctl_world *world, unsigned process, const kt_request *request, kt_response *ret_response) {
    kt_request given = *request;
    bool is_write = strcmp(request->method, "GET") != 0;
    char *target = lag_behind(world, request);
    before known = { .is_update = false };
    if (is_write)
        known = look_before(world, request);
    if (target)
        given.target = target;
    ki_status status = kt_rest_handle(world->server.cluster, &given, ctl_server_now_ms(world), ret_response);
    if (!status && target && ret_response->status == 410) {
        kt_response_free(ret_response);
        status = kt_rest_handle(world->server.cluster, request, ctl_server_now_ms(world), ret_response);
    }
    free(target);
    if (status) {
        ctl_fail(world, "the server has no memory");
        return false;
    }
    bool is_accepted = ret_response->status / 100 == 2;
    if (is_write && is_accepted && known.is_update)
        check_update(world, process, &known, request);
    if (is_write && is_accepted && known.is_lease)
        check_lease(world, process, &known);
    note_revision(world);
    return true;
}

/* --- the state ---------------------------------------------------------------------------------------------------------------- */

static void copy_text(yyjson_val *value, char *ret_text, size_t size) {
    snprintf(ret_text, size, "%s", yyjson_is_str(value) ? yyjson_get_str(value) : "");
}

static uint64_t number_of_value(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    return text && text[0] == 'v' ? strtoull(text + 1, NULL, 10) : 0;
}

static void read_parent(ctl_parent_state *parent, yyjson_val *root) {
    yyjson_val *metadata = yyjson_obj_get(root, "metadata"), *spec = yyjson_obj_get(root, "spec"),
               *status = yyjson_obj_get(root, "status");
    parent->is_there = true;
    copy_text(yyjson_obj_get(metadata, "uid"), parent->uid, sizeof parent->uid);
    parent->is_deleting = yyjson_obj_get(metadata, "deletionTimestamp") != NULL;
    parent->replicas = yyjson_get_sint(yyjson_obj_get(spec, "replicas"));
    parent->value = number_of_value(yyjson_obj_get(spec, "value"));
    parent->observed = number_of_value(yyjson_obj_get(status, "observed"));
    parent->is_ready = yyjson_get_bool(yyjson_obj_get(status, "ready"));
}

static void read_child(ctl_child_state *child, yyjson_val *root) {
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    yyjson_val *owner = yyjson_arr_get_first(yyjson_obj_get(metadata, "ownerReferences"));
    child->is_there = true;
    copy_text(yyjson_obj_get(metadata, "uid"), child->uid, sizeof child->uid);
    copy_text(yyjson_obj_get(owner, "uid"), child->owner_uid, sizeof child->owner_uid);
    child->value = number_of_value(yyjson_obj_get(yyjson_obj_get(root, "data"), "value"));
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
        int number = ctl_key_number(text);
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

/* --- its life ------------------------------------------------------------------------------------------------------------------- */

void ctl_server_make(ctl_world *world) {
    const ctl_plan *plan = &world->plan;
    kt_cluster_options options = { .seed = plan->seed,
                                   .compact_after = plan->compact_after,
                                   .bookmark_every_ms = plan->bookmark_every_ms,
                                   .no_watch_list = plan->no_watch_list,
                                   .start_ms = ctl_server_now_ms(world) };
    ki_error err = KI_ERROR_INIT;
    if (kt_cluster_new(NULL, &options, &world->server.cluster, &err))
        ctl_fail(world, "no cluster: %s", ki_error_message(&err));
    else if (ctl_server_ask(world, "POST", DEFINITIONS, DEFINITION) != 201)
        ctl_fail(world, "the server does not take the definition");
}

void ctl_server_free(ctl_world *world) {
    kt_cluster_free(world->server.cluster);
}
