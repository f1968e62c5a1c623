/* state.c: /_load, /_reset, /_restore: the state of the server as a whole. */
#include "testing/control/control.h"
#include "testing/control/documents.h"

#include "src/base/error.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"

ki_status kt_control_load(kt_call *call) {
    size_t count = 0;
    ki_error err = KI_ERROR_INIT;
    ki_status status = kt_control_method(call, "POST");
    if (!status)
        status = kt_control_no_params(call);
    if (status)
        return status;
    status = kt_load_documents(call->cluster, call->request->body, call->now_ms, &count, &err);
    if (status == KI_ERR_NO_MEMORY)
        return status;
    if (status)
        return kt_fail_bad_request(call, "%s", ki_error_message(&err));
    ki_buffer_printf(&call->response->body, "{\"objects\":%zu}", count);
    return kt_call_done(call, 200);
}

ki_status kt_control_reset(kt_call *call) {
    ki_status status = kt_control_method(call, "POST");
    if (!status)
        status = kt_control_no_params(call);
    if (!status)
        status = kt_cluster_return_to_start(call->cluster, call->now_ms);
    return status ? status : kt_control_done(call);
}

ki_status kt_control_restore(kt_call *call) {
    static const char *const known[] = { "events", NULL };
    uint64_t events = 0;
    ki_status status = kt_control_method(call, "POST");
    if (!status)
        status = kt_control_check_params(call, known);
    if (!status)
        status = kt_control_number(call, "events", &events);
    if (!status && kt_call_param(call, "events").data)
        status = kt_cluster_rewind(call->cluster, events, call->now_ms);
    else if (!status)
        status = kt_cluster_reset(call->cluster, call->now_ms, NULL);
    return status ? status : kt_control_done(call);
}
