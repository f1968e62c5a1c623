/* rest_server.c: the test server's REST layer in a test. */
#include "tests/support/rest_server.h"

#include "src/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    START_MS = 1780000000,
    FRAME_BYTES = 4096
};

static void check(ki_status status) {
    if (status) {
        fprintf(stderr, "the REST layer failed: %s\n", ki_status_name(status));
        abort();
    }
}

void rest_server_start(rest_server *server, const kt_cluster_options *options) {
    *server = (rest_server){ .now_ms = (int64_t)START_MS * 1000 };
    ki_buffer_init(&server->text, &ki_allocator_default, 0);
    check(kt_cluster_new(NULL, options, &server->cluster, NULL));
}

static void forget(rest_server *server) {
    if (server->responded)
        kt_response_free(&server->response);
    server->responded = false;
}

void rest_server_stop(rest_server *server) {
    forget(server);
    kt_cluster_free(server->cluster);
    ki_buffer_free(&server->text);
}

int rest_request(rest_server *server, const kt_request *request) {
    forget(server);
    check(kt_rest_handle(server->cluster, request, server->now_ms, &server->response));
    server->responded = true;
    ki_buffer_reset(&server->text, SIZE_MAX);
    ki_buffer_append(&server->text, server->response.body.data, server->response.body.size);
    ki_buffer_append(&server->text, "", 0);
    return server->response.status;
}

static int send_as(rest_server *server, const char *method, const char *target, const char *accept, const char *type,
                   ki_str body) {
    const kt_request request = {
        .method = method,
        .target = target,
        .accept = accept,
        .content_type = type,
        .user_agent = "tests/1.0",
        .body = body,
    };
    return rest_request(server, &request);
}

int rest_send(rest_server *server, const char *method, const char *target, const char *type, const char *body) {
    return send_as(server, method, target, NULL, type, ki_str_of(body));
}

int rest_send_bytes(rest_server *server, const char *method, const char *target, const char *type, ki_str body) {
    return send_as(server, method, target, NULL, type, body);
}

int rest_get(rest_server *server, const char *target) {
    return send_as(server, "GET", target, NULL, NULL, (ki_str){ NULL, 0 });
}

int rest_get_as(rest_server *server, const char *target, const char *accept) {
    return send_as(server, "GET", target, accept, NULL, (ki_str){ NULL, 0 });
}

int rest_post(rest_server *server, const char *target, const char *body) {
    return send_as(server, "POST", target, NULL, "application/json", ki_str_of(body));
}

bool rest_has(const rest_server *server, const char *part) {
    bool has = server->text.data && strstr(server->text.data, part) != NULL;
    if (!has)
        fprintf(stderr, "not there: %s\nin: %s\n", part, server->text.data ? server->text.data : "(nothing)");
    return has;
}

kt_watch *rest_watch_open(rest_server *server, const char *target, kt_response *ret_response) {
    const kt_request request = { .method = "GET", .target = target, .user_agent = "tests/1.0" };
    check(kt_rest_handle(server->cluster, &request, server->now_ms, ret_response));
    return ret_response->watch;
}

kt_watch_state rest_watch_read(rest_server *server, kt_watch *watch) {
    kt_watch_state state = KT_WATCH_MORE;
    ki_buffer_reset(&server->text, SIZE_MAX);
    while (state == KT_WATCH_MORE)
        check(kt_watch_read(watch, server->now_ms, &server->text, FRAME_BYTES, NULL, &state));
    ki_buffer_append(&server->text, "", 0);
    return state;
}
