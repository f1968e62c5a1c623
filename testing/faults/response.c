/* response.c: responses that faults make in place of the real one. */
#include "testing/faults/fault.h"

#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/faults/texts.h"
#include "testing/request/call.h"
#include "testing/request/form.h"
#include "testing/request/status.h"

#include <inttypes.h>
#include <stdio.h>

static int code_of(const kt_spec *spec, int otherwise) {
    int64_t code = otherwise;
    (void)kt_spec_number(spec, "code", 400, 599, &code, NULL);
    return (int)code;
}

/* Returns the real server's message and reason for a status code. */
static const char *message_of(int code, const char **ret_reason) {
    static const struct {
        int code;
        const char *reason, *message;
    } known[] = {
        { 400, "BadRequest", "the server rejected our request for an unknown reason" },
        { 401, "Unauthorized", "Unauthorized" },
        { 403, "Forbidden", "forbidden" },
        { 404, "NotFound", "the server could not find the requested resource" },
        { 409, "Conflict",
          "the object has been modified; please apply your changes to the latest version and try again" },
        { 410, "Expired", "too old resource version" },
        { 429, "TooManyRequests", "Too many requests, please try again later." },
        { 500, "InternalError", "Internal error occurred: etcdserver: request timed out" },
        { 503, "ServiceUnavailable", "apiserver is shutting down" },
        { 504, "Timeout", "Timeout: request did not complete within the allotted timeout" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].code == code) {
            *ret_reason = known[i].reason;
            return known[i].message;
        }
    }
    *ret_reason = "";
    return "injected fault";
}

typedef struct fault_status {
    int code;
    char reason[64];
    ki_str message;
} fault_status;

static fault_status status_of(const kt_spec *spec, int otherwise) {
    fault_status t = { .code = code_of(spec, otherwise) };
    const char *reason;
    ki_str given = kt_spec_get(spec, "reason"), message = kt_spec_get(spec, "message");
    t.message = message.data ? message : ki_str_of(message_of(t.code, &reason));
    (void)message_of(t.code, &reason);
    if (given.data)
        snprintf(t.reason, sizeof t.reason, "%.*s", (int)given.size, given.data);
    else
        snprintf(t.reason, sizeof t.reason, "%s", reason);
    return t;
}

ki_status kt_fault_respond_status(kt_call *call, const kt_spec *spec) {
    fault_status t = status_of(spec, 503);
    int64_t after = -1;
    (void)kt_spec_number(spec, "retry-after", 0, 86400, &after, NULL);
    kt_details details = { .retry_after_s = after > 0 ? (int)after : 0 };
    ki_status status =
        kt_fail(call, t.code, t.reason, after > 0 ? &details : NULL, "%.*s", (int)t.message.size, t.message.data);
    call->response->retry_after_s = (int)after;
    return status;
}

#define TOO_LARGE "Too large resource version: 5000000000, current: 1"

ki_status kt_fault_respond_too_large(kt_call *call, const kt_spec *spec) {
    static const char cause[] = "{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}";
    kt_details details = { .causes = { cause, sizeof cause - 1 }, .retry_after_s = 1 };
    if (ki_str_equals(kt_spec_get(spec, "shape"), "old"))
        return kt_fail(call, 504, "Timeout", NULL, "Timeout: " TOO_LARGE);
    return kt_fail(call, 504, "Timeout", &details, "Timeout: " TOO_LARGE);
}

ki_status kt_fault_respond_garbage(kt_call *call, const kt_spec *spec) {
    int64_t which = 0;
    (void)kt_spec_number(spec, "which", 0, 1000, &which, NULL);
    ki_buffer_append_string(&call->response->body, kt_fault_garbage((size_t)which));
    call->response->status = 200;
    call->response->content_type = "application/json";
    return call->response->body.failed ? KI_ERR_NO_MEMORY : KT_RESPONDED;
}

char *kt_fault_error_frame(kt_call *call, const kt_spec *spec) {
    ki_buffer out;
    ki_buffer_init(&out, call->allocator, 0);
    ki_buffer_append_string(&out, "{\"type\":\"ERROR\",\"object\":");
    if (ki_str_equals(spec->kind, "too-large")) {
        static const char cause[] =
            "{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}";
        kt_details details = { .causes = { cause, sizeof cause - 1 }, .retry_after_s = 1 };
        bool old = ki_str_equals(kt_spec_get(spec, "shape"), "old");
        kt_status_append(&out, 504, "Timeout", old ? NULL : &details, KI_STR("Timeout: " TOO_LARGE));
    } else {
        fault_status t = status_of(spec, 410);
        kt_status_append(&out, t.code, t.reason, NULL, t.message);
    }
    ki_buffer_append_string(&out, "}\n");
    return ki_buffer_take(&out, NULL);
}

ki_status kt_fault_empty_page(kt_call *call) {
    kt_shape shape;
    ki_buffer token;
    ki_status status = kt_call_negotiate(call, true);
    if (!status)
        status = kt_shape_of(call, &shape);
    if (status)
        return status;
    ki_buffer_init(&token, call->allocator, 0);
    ki_buffer_append_string(&token, "again.");
    status = ki_buffer_append_view(&token, kt_call_param(call, "continue"));
    if (!status)
        status = kt_shape_append_list(&shape, NULL, 0, call->cluster->revision, (ki_str){ token.data, token.size }, -1,
                                      call->now_ms, &call->response->body);
    ki_buffer_free(&token);
    return status ? status : kt_call_done(call, 200);
}
