/* faults.c: the embedded server's faults (kinformer-testing/faults.h). */
#include <kinformer-testing/faults.h>

#include "src/base/error.h"
#include "testing/faults/fault.h"
#include "testing/server/state.h"

ki_status ki_testing_server_add_fault(ki_testing_server *server, const char *fault, uint64_t *ret_id, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    if (!fault)
        return ki_error_set(err, KI_ERR_INVALID, "no fault");
    kt_streams_lock(server->streams);
    ki_status status =
        kt_faults_add(kt_cluster_faults(server->cluster), fault, kt_streams_now_ms(server->streams), ret_id, err);
    kt_streams_unlock(server->streams);
    return status;
}

ki_status ki_testing_server_remove_fault(ki_testing_server *server, uint64_t id, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    kt_streams_lock(server->streams);
    ki_status status = kt_faults_remove(kt_cluster_faults(server->cluster), id, err);
    kt_streams_unlock(server->streams);
    return status;
}

void ki_testing_server_clear_faults(ki_testing_server *server) {
    if (!server)
        return;
    kt_streams_lock(server->streams);
    kt_faults_clear(kt_cluster_faults(server->cluster));
    kt_streams_unlock(server->streams);
}

ki_status ki_testing_server_faults(ki_testing_server *server, ki_testing_text *ret_json, ki_error *err) {
    ki_buffer json;
    size_t size = 0;
    if (!server)
        return kt_no_server(err);
    if (!ret_json)
        return ki_error_set(err, KI_ERR_INVALID, "ret_json is NULL");
    ki_buffer_init(&json, &server->allocator, 0);
    kt_streams_lock(server->streams);
    ki_status status = kt_faults_append(kt_cluster_faults(server->cluster), &json);
    kt_streams_unlock(server->streams);
    char *data = status ? NULL : ki_buffer_take(&json, &size);
    ki_buffer_free(&json);
    if (!data)
        return ki_error_no_memory(err, "listing faults");
    *ret_json = (ki_testing_text){ data, size, &server->allocator };
    return KI_OK;
}

ki_status ki_testing_server_rewind(ki_testing_server *server, uint64_t events, ki_error *err) {
    if (!server)
        return kt_no_server(err);
    kt_streams_lock(server->streams);
    ki_status status = kt_cluster_rewind(server->cluster, events, kt_streams_now_ms(server->streams));
    kt_streams_unlock(server->streams);
    return status ? ki_error_no_memory(err, "going back") : KI_OK;
}
