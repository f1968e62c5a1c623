/* faults.c: /_faults: lists, adds and removes faults of a running server. */
#include "testing/cluster/cluster_state.h"
#include "testing/control/control.h"
#include "testing/request/status.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <inttypes.h>
#include <stdio.h>

static ki_status add_fault(kt_call *call) {
    ki_str line = call->request->body;
    ki_error err = KI_ERROR_INIT;
    uint64_t id = 0;
    while (line.size && (line.data[line.size - 1] == '\n' || line.data[line.size - 1] == '\r'))
        line.size--;
    if (line.size > KT_SPEC_MAX || (line.size && memchr(line.data, '\0', line.size)))
        return kt_fail_bad_request(call, "a fault is a line of at most %d bytes", (int)KT_SPEC_MAX);
    char *text = ki_strndup(call->allocator, line.data ? line.data : "", line.size);
    if (!text)
        return KI_ERR_NO_MEMORY;
    ki_status status = kt_faults_add(&call->cluster->faults, text, call->now_ms, &id, &err);
    ki_free(call->allocator, text);
    if (status == KI_ERR_NO_MEMORY)
        return status;
    if (status)
        return kt_fail_bad_request(call, "%s", ki_error_message(&err));
    ki_buffer_printf(&call->response->body, "{\"id\":%" PRIu64 "}", id);
    return kt_call_done(call, 201);
}

static ki_status remove_some(kt_call *call) {
    ki_error err = KI_ERROR_INIT;
    uint64_t id;
    if (call->segment_count == 1) {
        kt_faults_clear(&call->cluster->faults);
    } else if (!ki_str_to_uint64(call->segments[1], UINT64_MAX, &id) ||
               kt_faults_remove(&call->cluster->faults, id, &err)) {
        return kt_fail(call, 404, "NotFound", NULL, "there is no such fault");
    }
    ki_buffer_append_string(&call->response->body, "{}");
    return kt_call_done(call, 200);
}

ki_status kt_control_faults(kt_call *call) {
    const char *method = call->request->method;
    ki_status status = kt_control_no_params(call);
    if (status)
        return status;
    if (strcmp(method, "GET") == 0 && call->segment_count == 1) {
        status = kt_faults_append(&call->cluster->faults, &call->response->body);
        return status ? status : kt_call_done(call, 200);
    }
    if (strcmp(method, "POST") == 0 && call->segment_count == 1)
        return add_fault(call);
    if (strcmp(method, "DELETE") == 0)
        return remove_some(call);
    snprintf(call->response->allow, sizeof call->response->allow, "GET, POST, DELETE");
    return kt_fail_generic(call, 405);
}
