/* requests.c: the requests that the embedded server has recorded, and waits for what its clients do
 * (kinformer-testing/requests.h). A wait looks again after each unlock of the cluster by another thread. */
#include <kinformer-testing/requests.h>

#include "src/base/error.h"
#include "testing/control/condition.h"
#include "testing/request/request_log.h"
#include "testing/server/own_request.h"
#include "testing/server/state.h"

ki_status ki_testing_server_requests(ki_testing_server *server, const char *line, ki_testing_requests *ret_requests,
                                     ki_error *err) {
    kt_spec match;
    if (!server)
        return kt_no_server(err);
    if (!ret_requests)
        return ki_error_set(err, KI_ERR_INVALID, "ki_testing_server_requests: ret_requests is NULL");
    ki_status status = kt_match_parse(&server->allocator, line ? line : "", &match, err);
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

/* Waits until the condition holds, and frees it. */
static ki_status wait_until(ki_testing_server *server, kt_condition *condition, int64_t timeout_ms, ki_error *err) {
    const int64_t now_ns = ki_monotonic_now();
    const int64_t deadline_ns =
        timeout_ms < 0 || timeout_ms > (INT64_MAX - now_ns) / 1000000 ? INT64_MAX : now_ns + timeout_ms * 1000000;
    ki_status status = KI_OK;
    ki_error why = KI_ERROR_INIT;
    uint64_t count;
    kt_streams_lock(server->streams);
    while (!kt_condition_is_over(condition, &count, &status, &why) &&
           kt_streams_wait_until(server->streams, deadline_ns)) {}
    kt_streams_unlock(server->streams);
    kt_condition_free(condition);
    if (status && err)
        *err = why;
    return status;
}

ki_status ki_testing_server_wait_for_requests(ki_testing_server *server, const char *line, size_t count,
                                              int64_t timeout_ms, ki_error *err) {
    kt_condition condition;
    if (!server)
        return kt_no_server(err);
    ki_status status = kt_condition_requests(server->cluster, line ? line : "", 0, count, &condition, err);
    return status ? status : wait_until(server, &condition, timeout_ms, err);
}

ki_status ki_testing_server_wait_for_watches(ki_testing_server *server, const ki_resource *resource, size_t count,
                                             int64_t timeout_ms, ki_error *err) {
    kt_condition condition;
    if (!server)
        return kt_no_server(err);
    ki_status status = resource ? kt_check_resource(resource, err) : KI_OK;
    if (!status)
        status = kt_condition_watches(server->cluster, resource, count, &condition, err);
    return status ? status : wait_until(server, &condition, timeout_ms, err);
}

ki_status ki_testing_server_wait_for_fault(ki_testing_server *server, uint64_t id, uint64_t count, int64_t timeout_ms,
                                           ki_error *err) {
    if (!server)
        return kt_no_server(err);
    kt_condition condition = kt_condition_fault(server->cluster, id, count);
    return wait_until(server, &condition, timeout_ms, err);
}

static ki_status wait_for(ki_testing_server *server, const kt_wanted_objects *wanted, int64_t timeout_ms,
                          ki_error *err) {
    kt_condition condition;
    if (!server)
        return kt_no_server(err);
    if (!wanted->name || !wanted->name[0])
        return ki_error_set(err, KI_ERR_INVALID, "a wait for an object needs its name");
    ki_status status = kt_check_resource(wanted->resource, err);
    if (!status)
        status = kt_condition_objects(server->cluster, wanted, &condition, err);
    return status ? status : wait_until(server, &condition, timeout_ms, err);
}

ki_status ki_testing_server_wait_for_object(ki_testing_server *server, const ki_resource *resource,
                                            const char *namespace_name, const char *name, const char *field_selector,
                                            int64_t timeout_ms, ki_error *err) {
    return wait_for(server, &(const kt_wanted_objects){ resource, namespace_name, name, NULL, field_selector, 1, true },
                    timeout_ms, err);
}

ki_status ki_testing_server_wait_for_deletion(ki_testing_server *server, const ki_resource *resource,
                                              const char *namespace_name, const char *name, int64_t timeout_ms,
                                              ki_error *err) {
    return wait_for(server, &(const kt_wanted_objects){ resource, namespace_name, name, NULL, NULL, 0, false },
                    timeout_ms, err);
}
