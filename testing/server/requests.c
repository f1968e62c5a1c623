/* requests.c: the requests that the embedded server has recorded, and waits for what its clients do
 * (kinformer-testing/requests.h). A wait looks again after each unlock of the cluster by another thread. */
#include <kinformer-testing/requests.h>

#include "src/base/error.h"
#include "src/object/format.h"
#include "src/object/selector.h"
#include "testing/faults/fault.h"
#include "testing/request/call.h"
#include "testing/request/known_names.h"
#include "testing/request/request_log.h"
#include "testing/server/own_request.h"
#include "testing/server/state.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns true once the wait has ended, and sets `*ret_status`. Otherwise sets KI_ERR_TIMEOUT, and describes what there
 * is instead. Caller holds the lock. */
typedef bool (*condition)(ki_testing_server *server, void *wait, ki_status *ret_status, ki_error *err);

static ki_status wait_until(ki_testing_server *server, condition is_over, void *wait, int64_t timeout_ms,
                            ki_error *err) {
    const int64_t now_ns = ki_monotonic_now();
    const int64_t deadline_ns =
        timeout_ms < 0 || timeout_ms > (INT64_MAX - now_ns) / 1000000 ? INT64_MAX : now_ns + timeout_ms * 1000000;
    ki_status status = KI_OK;
    ki_error why = KI_ERROR_INIT;
    kt_streams_lock(server->streams);
    while (!is_over(server, wait, &status, &why) && kt_streams_wait_until(server->streams, deadline_ns)) {}
    kt_streams_unlock(server->streams);
    if (status && err)
        *err = why;
    return status;
}

/* ---- requests ---- */

static ki_status parse(const ki_testing_server *server, const char *line, kt_spec *ret_spec, ki_error *err) {
    static const char *const fields[] = { KT_MATCH_FIELDS, NULL };
    ki_status status =
        kt_spec_parse(&server->allocator, "a selection of requests", fields, line ? line : "", ret_spec, err);
    if (status)
        return status;
    if (ret_spec->kind.size)
        status = ki_error_set(err, KI_ERR_INVALID, "a selection of requests has parts such as verb=list, not \"%.*s\"",
                              (int)(ret_spec->kind.size < 64 ? ret_spec->kind.size : 64), ret_spec->kind.data);
    if (!status)
        status = kt_known_names_check(ret_spec, KT_NAMES_OF_FAULT, err);
    if (status)
        kt_spec_free(ret_spec);
    return status;
}

ki_status ki_testing_server_requests(ki_testing_server *server, const char *line, ki_testing_requests *ret_requests,
                                     ki_error *err) {
    kt_spec match;
    if (!server)
        return kt_no_server(err);
    if (!ret_requests)
        return ki_error_set(err, KI_ERR_INVALID, "ki_testing_server_requests: ret_requests is NULL");
    ki_status status = parse(server, line, &match, err);
    if (status)
        return status;
    kt_streams_lock(server->streams);
    status = kt_request_log_copy(kt_cluster_requests(server->cluster), &match, ret_requests);
    kt_streams_unlock(server->streams);
    kt_spec_free(&match);
    return status ? ki_error_no_memory(err, "recording requests") : KI_OK;
}

void ki_testing_server_forget_requests(ki_testing_server *server) {
    if (!server)
        return;
    kt_streams_lock(server->streams);
    kt_request_log_clear(kt_cluster_requests(server->cluster));
    kt_streams_unlock(server->streams);
}

typedef struct requests_wait {
    const kt_spec *match;
    const char *line;
    size_t count;
} requests_wait;

static bool has_requests(ki_testing_server *server, void *user, ki_status *ret_status, ki_error *err) {
    const requests_wait *wait = user;
    const kt_request_log *log = kt_cluster_requests(server->cluster);
    size_t count = kt_request_log_count(log, wait->match);
    *ret_status = KI_OK;
    if (count >= wait->count)
        return true;
    if (log->is_short)
        *ret_status = ki_error_no_memory(err, "recording requests");
    else
        *ret_status =
            ki_error_set(err, KI_ERR_TIMEOUT, "%zu requests match \"%s\", not %zu", count, wait->line, wait->count);
    return log->is_short;
}

ki_status ki_testing_server_wait_for_requests(ki_testing_server *server, const char *line, size_t count,
                                              int64_t timeout_ms, ki_error *err) {
    kt_spec match;
    if (!server)
        return kt_no_server(err);
    ki_status status = parse(server, line, &match, err);
    if (status)
        return status;
    requests_wait wait = { &match, line ? line : "", count };
    if (count > KI_TESTING_REQUESTS_MAX_COUNT)
        status = ki_error_set(err, KI_ERR_INVALID, "at most %d requests are recorded, not %zu",
                              (int)KI_TESTING_REQUESTS_MAX_COUNT, count);
    else
        status = wait_until(server, has_requests, &wait, timeout_ms, err);
    kt_spec_free(&match);
    return status;
}

/* ---- watches ---- */

typedef struct watches_wait {
    const ki_resource *resource; /* NULL: all */
    size_t count;
} watches_wait;

static bool has_watches(ki_testing_server *server, void *user, ki_status *ret_status, ki_error *err) {
    const watches_wait *wait = user;
    size_t count = kt_cluster_open_watches(server->cluster, wait->resource);
    *ret_status = KI_OK;
    if (count == wait->count)
        return true;
    *ret_status = ki_error_set(err, KI_ERR_TIMEOUT, "%zu watches%s%s are open, not %zu", count,
                               wait->resource ? " of " : "", wait->resource ? wait->resource->plural : "", wait->count);
    return false;
}

ki_status ki_testing_server_wait_for_watches(ki_testing_server *server, const ki_resource *resource, size_t count,
                                             int64_t timeout_ms, ki_error *err) {
    watches_wait wait = { resource, count };
    if (!server)
        return kt_no_server(err);
    ki_status status = resource ? kt_check_resource(resource, err) : KI_OK;
    return status ? status : wait_until(server, has_watches, &wait, timeout_ms, err);
}

/* ---- faults ---- */

typedef struct fault_wait {
    uint64_t id;
    uint64_t count;
} fault_wait;

static bool has_fault(ki_testing_server *server, void *user, ki_status *ret_status, ki_error *err) {
    const fault_wait *wait = user;
    uint64_t count = 0;
    *ret_status = kt_faults_injected(kt_cluster_faults(server->cluster), wait->id, &count, err);
    if (*ret_status || count >= wait->count)
        return true;
    *ret_status =
        ki_error_set(err, KI_ERR_TIMEOUT, "the fault %" PRIu64 " was injected %" PRIu64 " times, not %" PRIu64,
                     wait->id, count, wait->count);
    return false;
}

ki_status ki_testing_server_wait_for_fault(ki_testing_server *server, uint64_t id, uint64_t count, int64_t timeout_ms,
                                           ki_error *err) {
    fault_wait wait = { id, count };
    return server ? wait_until(server, has_fault, &wait, timeout_ms, err) : kt_no_server(err);
}

/* ---- objects ---- */

typedef struct object_wait {
    const ki_resource *resource;
    const char *namespace_name, *name;
    const char *text;         /* the field selector */
    ki_selector *selector;    /* NULL: none */
    ki_object_format *format; /* NULL: wait for the deletion */
} object_wait;

enum {
    SHOWN_MAX = 200 /* bytes of a key or a value in a message */
};

static int shown(ki_str text) {
    return (int)(text.size < SHOWN_MAX ? text.size : SHOWN_MAX);
}

/* Compares the object with the selector. Writes what the object has instead of the first field that does not match. */
static ki_status look(const object_wait *wait, ki_str json, bool *ret_matches, char why[2 * SHOWN_MAX + 64],
                      ki_error *err) {
    ki_object *obj = NULL;
    ki_status status = ki_object_from_json(wait->format, json, NULL, NULL, &obj, err);
    if (status)
        return status;
    ki_str value, key = ki_selector_difference(wait->selector, obj, &value);
    *ret_matches = !key.data;
    if (value.data)
        snprintf(why, 2 * SHOWN_MAX + 64, ": %.*s is %.*s%s", shown(key), key.data, shown(value), value.data,
                 value.size > SHOWN_MAX ? " ..." : "");
    else if (key.data)
        snprintf(why, 2 * SHOWN_MAX + 64, ": the object has no %.*s", shown(key), key.data);
    ki_object_unref(obj);
    return KI_OK;
}

static bool has_object(ki_testing_server *server, void *user, ki_status *ret_status, ki_error *err) {
    const object_wait *wait = user;
    ki_str json = { NULL, 0 };
    bool exists = kt_cluster_get(server->cluster, wait->resource, wait->namespace_name, wait->name, &json) == KI_OK;
    bool matches = exists != (wait->format == NULL);
    char why[2 * SHOWN_MAX + 64] = "";
    *ret_status = matches && exists && wait->selector ? look(wait, json, &matches, why, err) : KI_OK;
    if (*ret_status || matches)
        return true;
    const char *ns = wait->namespace_name ? wait->namespace_name : "";
    const char *what = !exists ? "does not exist" : wait->format ? "is not " : "still exists";
    *ret_status = ki_error_set(err, KI_ERR_TIMEOUT, "%s %s%s%s %s%s%s", wait->resource->plural, ns, *ns ? "/" : "",
                               wait->name, what, exists && wait->format ? wait->text : "", why);
    return false;
}

static ki_status check_object(const ki_testing_server *server, const ki_resource *resource, const char *name,
                              ki_error *err) {
    if (!server)
        return kt_no_server(err);
    if (!name || !name[0])
        return ki_error_set(err, KI_ERR_INVALID, "a wait for an object needs its name");
    return kt_check_resource(resource, err);
}

ki_status ki_testing_server_wait_for_object(ki_testing_server *server, const ki_resource *resource,
                                            const char *namespace_name, const char *name, const char *field_selector,
                                            int64_t timeout_ms, ki_error *err) {
    object_wait wait = { .resource = resource, .namespace_name = namespace_name, .name = name, .text = field_selector };
    ki_status status = check_object(server, resource, name, err);
    if (!status)
        status = ki_object_format_new(&server->allocator, NULL, &wait.format, err);
    if (!status && field_selector && field_selector[0])
        status = ki_selector_new_of(&server->allocator, NULL, field_selector, &wait.selector, err);
    if (!status)
        status = wait_until(server, has_object, &wait, timeout_ms, err);
    ki_selector_free(wait.selector);
    ki_object_format_unref(wait.format);
    return status;
}

ki_status ki_testing_server_wait_for_deletion(ki_testing_server *server, const ki_resource *resource,
                                              const char *namespace_name, const char *name, int64_t timeout_ms,
                                              ki_error *err) {
    object_wait wait = { .resource = resource, .namespace_name = namespace_name, .name = name };
    ki_status status = check_object(server, resource, name, err);
    return status ? status : wait_until(server, has_object, &wait, timeout_ms, err);
}
