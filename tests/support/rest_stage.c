/* rest_stage.c: see rest_stage.h. */
#include "tests/support/rest_stage.h"

#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

rest_server server;

int rest_set_up(void **state) {
    (void)state;
    rest_server_start(&server, NULL);
    return 0;
}

int rest_tear_down(void **state) {
    (void)state;
    rest_server_stop(&server);
    return 0;
}

static kt_request request_of(const char *method, const char *target, const char *type, const char *body) {
    return (kt_request){
        .method = method, .target = target, .content_type = type, .user_agent = "tests/1.0", .body = ki_str_of(body)
    };
}

void rest_check(const rest_row *rows, size_t count, const char *user) {
    const kt_user who = { .name = ki_str_of(user) };
    for (const rest_row *row = rows; row < rows + count; row++) {
        kt_request request = request_of(row->method, row->target, row->type, row->body);
        request.user = user ? &who : NULL;
        request.from_network = user != NULL;
        int status = rest_request(&server, &request);
        if (status != row->status)
            fail_msg("%s %s %s: %d, not %d\n%s", row->method, row->target, row->body ? row->body : "", status,
                     row->status, server.text.data);
        if (row->part && !rest_has(&server, row->part))
            fail_msg("%s %s %s: no %s", row->method, row->target, row->body ? row->body : "", row->part);
    }
}

void rest_run_short_of_memory(const rest_call *calls, size_t count) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        kt_cluster *cluster = NULL;
        if (kt_cluster_new(&memory.allocator, NULL, &cluster, NULL))
            continue;
        for (const rest_call *call = calls; call < calls + count; call++) {
            const kt_request request = request_of(call->method, call->target, call->type, call->body);
            kt_response response;
            ki_status status = kt_rest_handle(cluster, &request, 0, &response);
            assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
            if (!status)
                kt_response_free(&response);
        }
        kt_cluster_free(cluster);
    }
}
