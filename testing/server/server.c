/* server.c: the embedded API server (kinformer-testing/server.h): a cluster, its HTTP front, and a thread that runs
 * the load and the server's faults. */
#include <kinformer-testing/access.h>

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/object/json.h"
#include "testing/control/documents.h"
#include "testing/faults/fault.h"
#include "testing/server/own_request.h"
#include "testing/server/private_file.h"
#include "testing/server/state.h"

#include <errno.h>

enum {
    CHURN_TICK_NS = 2000000,  /* interval at which the thread makes due changes */
    CHURN_BATCH = 16,         /* changes while holding the lock once; watches wait for at most one batch */
    CHURN_LATE_NS = 250000000 /* changes later than this are dropped */
};

ki_status kt_no_server(ki_error *err) {
    return ki_error_set(err, KI_ERR_INVALID, "no server");
}

static void lock(ki_testing_server *server) {
    kt_streams_lock(server->streams);
}

static void unlock(ki_testing_server *server) {
    kt_streams_unlock(server->streams);
}

static int64_t now_ms(const ki_testing_server *server) {
    return kt_streams_now_ms(server->streams);
}

/* ---- the thread ---- */

/* Makes at most one batch of due changes. Returns true if more are due. */
static bool change_some(ki_testing_server *server, int64_t now_ns) {
    KI_HELD(&server->streams->mutex);
    KI_ASSERT(server->churn > 0 && server->load);
    const int64_t interval_ns = 1000000000 / server->churn;
    if (now_ns - server->churn_due_ns > CHURN_LATE_NS) {
        int64_t dropped = (now_ns - server->churn_due_ns) * server->churn / 1000000000;
        server->done.dropped += (uint64_t)dropped;
        server->churn_due_ns = now_ns;
    }
    for (int i = 0; i < CHURN_BATCH && server->churn_due_ns <= now_ns; i++) {
        /* A failure is lack of memory; the change is dropped. */
        if (kt_load_change(server->load, now_ms(server), ki_monotonic_now(), NULL) == KI_OK)
            server->done.changes++;
        else
            server->done.dropped++;
        server->churn_due_ns += interval_ns ? interval_ns : 1;
    }
    return server->churn_due_ns <= now_ns;
}

/* Runs the due faults of the server as a whole. Ignores failures: lack of memory, or a port that is taken. Returns
 * the time of the next one. Caller holds the lock, which this function releases in between. */
static int64_t run_faults(ki_testing_server *server) {
    KI_HELD(&server->streams->mutex);
    int64_t next_ms = INT64_MAX;
    kt_action action = { .kind = KT_FAULT_COMPACT };
    while (!server->stopping &&
           kt_faults_next_action(kt_cluster_faults(server->cluster), now_ms(server), &action, &next_ms)) {
        if (action.kind == KT_FAULT_COMPACT)
            kt_cluster_compact(server->cluster, 0);
        else if (action.kind == KT_FAULT_CLOSE_WATCHES)
            kt_cluster_close_watches(server->cluster);
        else if (action.kind == KT_FAULT_CUT_WATCHES)
            kt_front_cut_watches(server->front);
        else if (action.kind == KT_FAULT_REWIND)
            (void)kt_cluster_rewind(server->cluster, (uint64_t)action.events, now_ms(server));
        else if (action.kind == KT_FAULT_RESTORE)
            (void)kt_cluster_reset(server->cluster, now_ms(server), NULL);
        unlock(server);
        if (action.kind == KT_FAULT_RESTART && ki_testing_server_restart(server, action.down_ms, NULL)) {}
        lock(server);
    }
    if (next_ms == INT64_MAX)
        return INT64_MAX;
    return server->streams->start_ns + (next_ms - server->streams->wall_start_ms) * 1000000;
}

static void on_fault(void *user) {
    ki_testing_server *server = user;
    ki_cond_signal(&server->churn_changed);
}

static void run_churn(void *user) {
    ki_testing_server *server = user;
    lock(server);
    while (!server->stopping) {
        int64_t faults_ns = run_faults(server);
        if (server->stopping)
            break;
        if (server->churn == 0) {
            ki_cond_wait_until(&server->churn_changed, &server->streams->mutex, faults_ns);
            continue;
        }
        int64_t now_ns = ki_monotonic_now();
        if (change_some(server, now_ns)) {
            kt_streams_yield(server->streams);
            continue;
        }
        int64_t wake_ns = now_ns + CHURN_TICK_NS > server->churn_due_ns ? now_ns + CHURN_TICK_NS : server->churn_due_ns;
        kt_streams_yield(server->streams); /* lets watches read */
        if (!server->stopping)
            ki_cond_wait_until(&server->churn_changed, &server->streams->mutex,
                               wake_ns < faults_ns ? wake_ns : faults_ns);
    }
    unlock(server);
}

static ki_status set_churn(ki_testing_server *server, int64_t changes_per_second, ki_error *err) {
    if (changes_per_second < 0 || changes_per_second > 1000000000) {
        return ki_error_set(err, KI_ERR_INVALID, "%lld is no number of changes a second",
                            (long long)changes_per_second);
    }
    if (!server->load && changes_per_second) {
        return ki_error_set(err, KI_ERR_STATE,
                            "there is no load to change: the server was started without pods and nodes");
    }
    lock(server);
    if (!server->churn)
        server->churn_due_ns = ki_monotonic_now();
    server->churn = changes_per_second;
    ki_status status = KI_OK;
    if (!changes_per_second && server->load)
        status = kt_load_settle(server->load, now_ms(server), err);
    ki_cond_signal(&server->churn_changed);
    unlock(server);
    return status;
}

ki_status ki_testing_server_set_churn(ki_testing_server *server, int64_t changes_per_second, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    return set_churn(server, changes_per_second, err);
}

void ki_testing_server_load(ki_testing_server *server, ki_testing_load *ret_load) {
    lock(server);
    *ret_load = server->done;
    unlock(server);
}

/* ---- start and end ---- */

static ki_status start(ki_testing_server *server, const ki_testing_server_options *options, ki_error *err) {
    const kt_cluster_options cluster = { .seed = options->seed,
                                         .random = kt_system_random,
                                         .start_ms = kt_wall_ms(),
                                         .compact_after = options->compact_after,
                                         .no_streaming_list = options->no_streaming_list,
                                         .collects_garbage = options->collects_garbage };
    if (!kt_system_random())
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "the system has no random numbers");
    ki_status status = kt_cluster_new(&server->allocator, &cluster, &server->cluster, err);
    if (status)
        return status;
    status = ki_mutex_init(&server->restarting, err);
    if (status)
        return status;
    server->has_mutex = true;
    status = kt_server_prepare_access(server, options, err);
    if (!status)
        status = kt_front_new(&server->allocator, server->cluster, options->listen, server->tls, &server->front, err);
    if (status)
        return status;
    server->streams = kt_front_streams(server->front);

    if (options->pods || options->nodes) {
        const kt_load_options load = { .pods = options->pods,
                                       .nodes = options->nodes,
                                       .seed = options->seed,
                                       .managed_fields = options->managed_fields,
                                       .stamp = options->stamp_changes ? KI_TESTING_CHANGED_AT : NULL };
        lock(server);
        status = kt_load_new(&server->allocator, server->cluster, &load, now_ms(server), &server->load, err);
        unlock(server);
        if (status)
            return status;
    }
    status = ki_cond_init(&server->churn_changed, err);
    if (status)
        return status;
    server->has_cond = true;
    lock(server);
    kt_cluster_faults(server->cluster)->user = server;
    kt_cluster_faults(server->cluster)->changed = on_fault;
    unlock(server);
    status = ki_testing_server_keep_start(server, err);
    if (!status)
        status = set_churn(server, options->churn, err);
    return status ? status : ki_thread_start(&server->churn_thread, "kt-load", run_churn, server, err);
}

ki_status ki_testing_server_new(const ki_testing_server_options *options, ki_testing_server **ret_server,
                                ki_error *err) {
    ki_testing_server_options own;
    if (!ret_server)
        return ki_error_set(err, KI_ERR_INVALID, "ki_testing_server_new: ret_server is NULL");
    if (KI_OPTIONS_TAKE(options, &own, "KI_TESTING_SERVER_OPTIONS", err))
        return KI_ERR_INVALID;
    if (ki_json_check_library(err))
        return KI_ERR_UNSUPPORTED;
    const ki_allocator *allocator = own.allocator ? own.allocator : &ki_allocator_default;
    ki_testing_server *server = ki_alloc_zero(allocator, sizeof *server);
    if (!server)
        return ki_error_no_memory(err, "starting the server");
    server->allocator = *allocator;

    ki_status status = start(server, &own, err);
    if (status) {
        ki_testing_server_free(server);
        return status;
    }
    *ret_server = server;
    return KI_OK;
}

void ki_testing_server_free(ki_testing_server *server) {
    if (!server)
        return;
    if (server->has_cond) {
        lock(server);
        server->stopping = true;
        ki_cond_signal(&server->churn_changed);
        unlock(server);
        kt_streams_wake(server->streams); /* ends a restart that is still running */
        ki_thread_join(&server->churn_thread);
        ki_cond_destroy(&server->churn_changed);
    }
    kt_load_free(server->load);
    kt_front_free(server->front);
    kt_cluster_free(server->cluster);
    kt_tls_free(server->tls);
    if (server->has_mutex)
        ki_mutex_destroy(&server->restarting);
    ki_wipe(server->token, sizeof server->token);
    const ki_allocator allocator = server->allocator;
    ki_free(&allocator, server);
}

const char *ki_testing_server_url(const ki_testing_server *server) {
    return kt_front_url(server->front);
}

ki_status ki_testing_server_write_kubeconfig(const ki_testing_server *server, const char *path, ki_error *err) {
    ki_buffer text;
    ki_status status = KI_OK;

    if (!server || !path)
        return ki_error_set(err, KI_ERR_INVALID, "a kubeconfig needs a server and a path");
    ki_buffer_init(&text, &server->allocator, 0);
    if (kt_server_append_kubeconfig(server, &text)) {
        ki_buffer_free(&text);
        return ki_error_no_memory(err, "writing a kubeconfig");
    }
    status = kt_private_file_write(path, (ki_str){ text.data, text.size }, err);
    ki_buffer_free(&text);
    return status;
}

/* ---- objects ---- */

ki_status ki_testing_server_request(ki_testing_server *server, const char *method, const char *target,
                                    const char *content_type, const char *json, size_t size, ki_testing_text *ret_body,
                                    ki_error *err) {
    if (!server)
        return kt_no_server(err);
    if (!method || !target || target[0] != '/')
        return ki_error_set(err, KI_ERR_INVALID, "a request needs a method, and a target that begins with /");
    if (!json && size)
        return ki_error_set(err, KI_ERR_INVALID, "a body of %zu bytes that is NULL", size);
    const kt_request request = { .method = method,
                                 .target = target,
                                 .content_type = content_type ? content_type : "application/json",
                                 .user_agent = "kinformer-testing",
                                 .body = { json, json && !size ? strlen(json) : size } };
    lock(server);
    ki_status status = kt_own_request(server->cluster, &request, now_ms(server), ret_body, err);
    unlock(server);
    return status;
}

/* Makes a request for one object, or for the collection if `name` is NULL. */
static ki_status make_request(ki_testing_server *server, const char *method, const ki_resource *resource,
                              const char *namespace_name, const char *name, const char *content_type, const char *json,
                              size_t size, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    ki_status status = kt_check_resource(resource, err);
    if (status)
        return status;
    if (!json)
        return ki_error_set(err, KI_ERR_INVALID, "a request needs JSON");
    ki_buffer target;
    ki_buffer_init(&target, &server->allocator, KT_TARGET_MAX);
    status = kt_request_target(&target, resource, namespace_name, name);
    if (status)
        status = ki_error_no_memory(err, "making a request");
    else
        status = ki_testing_server_request(server, method, target.data, content_type, json, size, NULL, err);
    ki_buffer_free(&target);
    return status;
}

/* Replaces or patches an object and, if `text` has a status that the main request leaves out, its status. */
static ki_status change_object(ki_testing_server *server, const char *method, const ki_resource *resource,
                               const char *namespace_name, const char *name, const char *content_type, const char *text,
                               size_t size, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    ki_status status = kt_check_resource(resource, err);
    if (status)
        return status;
    if (!name || !name[0])
        return ki_error_set(err, KI_ERR_INVALID, "a change of an object needs its name");
    kt_object_change change = { method, resource, namespace_name, name, content_type, { NULL, 0 } };
    ki_buffer converted;
    ki_buffer_init(&converted, &server->allocator, 0);
    status = kt_own_text(text, size, &converted, &change.json, err);
    if (!status) {
        lock(server);
        status = kt_own_change(server->cluster, &change, now_ms(server), err);
        unlock(server);
    }
    ki_buffer_free(&converted);
    return status;
}

/* Makes a request for one object. Fails for an empty name, which would mean the collection. */
static ki_status object_request(ki_testing_server *server, const char *method, const ki_resource *resource,
                                const char *namespace_name, const char *name, const char *content_type,
                                const char *json, size_t size, ki_error *err) {
    if (!name || !name[0])
        return ki_error_set(err, KI_ERR_INVALID, "a request for one object needs its name");
    return make_request(server, method, resource, namespace_name, name, content_type, json, size, err);
}

ki_status ki_testing_server_create(ki_testing_server *server, const ki_resource *resource, const char *namespace_name,
                                   const char *text, size_t size, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    ki_buffer converted;
    ki_str json = { NULL, 0 };
    ki_buffer_init(&converted, &server->allocator, 0);
    ki_status status = kt_own_text(text, size, &converted, &json, err);
    if (!status)
        status = make_request(server, "POST", resource, namespace_name, NULL, NULL, json.data, json.size, err);
    ki_buffer_free(&converted);
    return status;
}

ki_status ki_testing_server_replace(ki_testing_server *server, const ki_resource *resource, const char *namespace_name,
                                    const char *name, const char *text, size_t size, ki_error *err) {
    return change_object(server, "PUT", resource, namespace_name, name, "application/json", text, size, err);
}

ki_status ki_testing_server_patch(ki_testing_server *server, const ki_resource *resource, const char *namespace_name,
                                  const char *name, const char *text, size_t size, ki_error *err) {
    return change_object(server, "PATCH", resource, namespace_name, name, "application/merge-patch+json", text, size,
                         err);
}

ki_status ki_testing_server_delete(ki_testing_server *server, const ki_resource *resource, const char *namespace_name,
                                   const char *name, ki_error *err) {
    /* No kubelet ends the pod's grace period. */
    static const char at_once[] = "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0}";
    return object_request(server, "DELETE", resource, namespace_name, name, NULL, at_once, 0, err);
}

ki_status ki_testing_server_put(ki_testing_server *server, const ki_resource *resource, const char *text, size_t size,
                                ki_error *err) {
    if (!server)
        return kt_no_server(err);
    ki_status status = kt_check_resource(resource, err);
    if (status)
        return status;
    ki_buffer converted;
    ki_str json = { NULL, 0 };
    ki_buffer_init(&converted, &server->allocator, 0);
    status = kt_own_text(text, size, &converted, &json, err);
    if (!status) {
        lock(server);
        status = kt_cluster_put_json(server->cluster, resource, json, now_ms(server), NULL, err);
        unlock(server);
    }
    ki_buffer_free(&converted);
    return status;
}

ki_status ki_testing_server_get(ki_testing_server *server, const ki_resource *resource, const char *namespace_name,
                                const char *name, ki_testing_text *ret_json, ki_error *err) {
    ki_str json = { NULL, 0 };
    if (!server)
        return kt_no_server(err);
    ki_status status = kt_check_resource(resource, err);
    if (status)
        return status;
    if (!name || !name[0] || !ret_json)
        return ki_error_set(err, KI_ERR_INVALID, "an object needs a name and a place for its JSON");
    lock(server);
    status = kt_cluster_get(server->cluster, resource, namespace_name, name, &json);
    if (status) {
        status = ki_error_set(err, status, "the server has no %s %s%s%s", resource->plural,
                              namespace_name ? namespace_name : "", namespace_name ? "/" : "", name);
    } else if (kt_text_copy(&server->allocator, json, ret_json)) {
        status = ki_error_no_memory(err, "copying an object");
    }
    unlock(server);
    return status;
}

void ki_testing_server_each(ki_testing_server *server, const ki_resource *resource,
                            bool (*visit)(const char *key, size_t key_size, const char *json, size_t size, void *user),
                            void *user) {
    size_t cursor = 0;
    ki_str key;
    ki_str json;
    lock(server);
    while (kt_cluster_next(server->cluster, resource, &cursor, &key, &json)) {
        if (!visit(key.data, key.size, json.data, json.size, user))
            break;
    }
    unlock(server);
}

size_t ki_testing_server_count(ki_testing_server *server, const ki_resource *resource) {
    lock(server);
    size_t count = kt_cluster_count(server->cluster, resource);
    unlock(server);
    return count;
}

/* ---- the server as a whole ---- */

uint64_t ki_testing_server_revision(ki_testing_server *server) {
    lock(server);
    uint64_t revision = kt_cluster_revision(server->cluster);
    unlock(server);
    return revision;
}

ki_status ki_testing_server_keep_start(ki_testing_server *server, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    lock(server);
    ki_status status = kt_cluster_keep_start(server->cluster);
    unlock(server);
    return status ? ki_error_no_memory(err, "keeping the start") : KI_OK;
}

ki_status ki_testing_server_return_to_start(ki_testing_server *server, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    lock(server);
    ki_status status = kt_cluster_return_to_start(server->cluster, now_ms(server));
    unlock(server);
    return status ? ki_error_no_memory(err, "returning to the start") : KI_OK;
}

ki_status ki_testing_server_put_all(ki_testing_server *server, const char *text, size_t size, size_t *ret_count,
                                    ki_error *err) {
    size_t count = 0;
    if (!server)
        return kt_no_server(err);
    if (!text)
        return ki_error_set(err, KI_ERR_INVALID, "ki_testing_server_put_all: text is NULL");
    lock(server);
    ki_status status =
        kt_load_documents(server->cluster, (ki_str){ text, size ? size : strlen(text) }, now_ms(server), &count, err);
    unlock(server);
    if (ret_count)
        *ret_count = count;
    return status;
}

void ki_testing_server_compact(ki_testing_server *server) {
    lock(server);
    kt_cluster_compact(server->cluster, 0);
    unlock(server);
}

void ki_testing_server_close_watches(ki_testing_server *server) {
    lock(server);
    kt_cluster_close_watches(server->cluster);
    unlock(server);
}

void ki_testing_server_cut_watches(ki_testing_server *server) {
    lock(server);
    kt_front_cut_watches(server->front);
    unlock(server);
}

ki_status ki_testing_server_delete_all(ki_testing_server *server, const ki_resource *resource,
                                       const char *namespace_name, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    ki_status status = resource ? kt_check_resource(resource, err) : KI_OK;
    if (status)
        return status;
    lock(server);
    status = kt_cluster_delete_all(server->cluster, resource, namespace_name, now_ms(server), err);
    unlock(server);
    return status;
}
